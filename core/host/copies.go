package host

import (
	"context"
	"sync"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/governance"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/pluginlock"
	"github.com/reflectory/reflectory/core/policyset"
	"github.com/reflectory/reflectory/sdk"
)

// Policies and the settings of * hold for all tenants, so each database has a copy of both: a
// transaction reads the copy in its own database. A push, or a change of the settings, writes them
// to one database after the other. If that fails half-way, the databases differ until it is
// repeated; meanwhile no host is ready.

// copiesEvery is how often a host checks that the databases have the same policies and settings:
// as often as hosts show that they are alive.
const copiesEvery = 2 * time.Second

// copies has what this host saw of the databases' policies and settings.
type copies struct {
	look sync.Mutex // held while a call compares the databases
	mu   sync.Mutex
	// differ describes how they differ; nil if they don't. A difference counts only if it was seen
	// twice in a row, since a push takes a while.
	differ error
	twice  bool
	// told is whether the difference was reported to the operator.
	told bool
}

// apart describes how the databases' policies or settings differ; nil if they don't.
func (h *Host) apart() error {
	if h.databases == nil {
		return nil
	}
	c := &h.databases.copies
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.twice {
		return nil
	}
	return c.differ
}

// watchCopies compares the databases every 2 s until stop is called.
func (h *Host) watchCopies() (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(copiesEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			h.LookAtCopies(ctx)
		}
	}()
	return func() error {
		cancel()
		<-done
		return nil
	}
}

// copied has the digests of what every database has.
type copied struct{ policies, settings string }

// LookAtCopies compares the policies and settings of the databases that are open. A host does this
// by itself every 2 s. If a database can't be read, that is reported elsewhere, and changes
// nothing here.
func (h *Host) LookAtCopies(ctx context.Context) {
	if !isClosed(h.Policies.opened) {
		return
	}
	c := &h.databases.copies
	c.look.Lock() // so that the result of an older comparison can't replace a newer result
	defer c.look.Unlock()
	main, err := h.copied(ctx)
	if err != nil {
		return
	}
	var differ error
	for _, own := range h.Databases()[1:] {
		if !isClosed(own.Policies.opened) {
			continue
		}
		has, err := own.copied(ctx)
		switch {
		case err != nil:
			return
		case has.policies != main.policies:
			differ = copiesDiffer("policies", own, "push the policies again")
		case has.settings != main.settings:
			differ = copiesDiffer("settings of *", own, "set one of them again, or push the policies, which copies all of them")
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.twice = differ != nil && c.differ != nil
	c.differ = differ
	if c.twice && !c.told {
		h.warn(differ)
	}
	c.told = c.twice
}

// copiesDiffer is the error if a tenants' database differs from the main database.
func copiesDiffer(what string, own *Host, hint string) error {
	return sdk.Errorf(sdk.Unavailable, "databases_differ", "%s has other %s than the database of all other tenants", own.DatabaseName(), what).WithHint("%s", hint)
}

// copied reads the digests of what every database has.
func (h *Host) copied(ctx context.Context) (has copied, err error) {
	settings, err := h.Governance.Get(ctx, core.EveryNamespace)
	if err != nil {
		return has, err
	}
	has.settings = settings.Version()
	err = h.Store.View(ctx, func(r core.Reader) error {
		active, err := policyset.ReadActive(r)
		has.policies = active.Digest
		return err
	})
	return has, err
}

// copyFromMain copies the settings, policies and lock of plugins of the main database to a
// database of tenants, each only if the database has none. Otherwise an operator has to push them,
// and sees how they differ.
func (h *Host) copyFromMain(ctx context.Context) error {
	main := h.databases.hosts[0]
	own, err := h.copied(ctx)
	if err != nil {
		return err
	}
	settings, err := main.Governance.Get(ctx, core.EveryNamespace)
	if err != nil {
		return err
	}
	if settings != nil && own.settings == (*governance.Record)(nil).Version() {
		if err := h.Governance.Replace(ctx, core.EveryNamespace, settings); err != nil {
			return err
		}
	}
	lock, err := main.pluginLock(ctx)
	if err != nil {
		return err
	}
	if there, err := h.pluginLock(ctx); err != nil {
		return err
	} else if lock.Epoch > 0 && there.Epoch == 0 {
		if err := h.putLock(ctx, lock.Plugins); err != nil {
			return err
		}
	}
	if h.Policies.shared == nil || own.policies != "" {
		return nil
	}
	return h.copyPolicies(ctx, main)
}

func (h *Host) putLock(ctx context.Context, plugins map[string]string) error {
	return h.Journal.Update(ctx, func(tx *journal.Tx) error {
		_, _, err := pluginlock.Put(tx, plugins)
		return err
	})
}

// copyPolicies puts the set that was pushed to the main database in force in this one.
func (h *Host) copyPolicies(ctx context.Context, main *Host) error {
	next := policyset.Set{}
	err := main.Store.View(ctx, func(r core.Reader) error {
		active, err := policyset.ReadActive(r)
		if next.Digest = active.Digest; err == nil && active.Epoch > 0 {
			next.Files, err = policyset.ReadFiles(r, active.Digest)
		}
		return err
	})
	if err != nil || next.Digest == "" {
		return err
	}
	set, err := h.Policies.Points.LoadFiles(next.Files)
	if err != nil {
		return err
	}
	next.Policies = len(set.Files())
	err = h.Journal.Update(ctx, func(tx *journal.Tx) error {
		_, _, err := policyset.Put(tx, next)
		return err
	})
	if err != nil {
		return err
	}
	return h.Policies.shared.refresh(ctx)
}

// PushPolicies puts a set of policies in force in every database, and copies the settings of *
// to each: see [Policies.Push]. The main database is first, and the result is from there. If the
// push fails half-way, it must be repeated.
func (h *Host) PushPolicies(ctx context.Context, files map[string]string) (*Pushed, error) {
	pushed, err := h.Policies.Push(ctx, files)
	if err != nil {
		return nil, err
	}
	err = h.eachCopy(func(own *Host) error {
		_, err := own.Policies.Push(ctx, files)
		return err
	})
	return pushed, core.JoinErrors(err, h.CopySettings(ctx, core.EveryNamespace))
}

// CopySettings copies what a level sets to the databases of tenants, if the level is *: no other
// level has copies in several databases.
func (h *Host) CopySettings(ctx context.Context, level string) error {
	if level != core.EveryNamespace || len(h.Databases()) == 1 {
		return nil
	}
	settings, err := h.Governance.Get(ctx, level)
	if err != nil {
		return err
	}
	return h.eachCopy(func(own *Host) error { return own.Governance.Replace(ctx, level, settings) })
}

// eachCopy calls fn for every database of tenants, even if it fails for some.
func (h *Host) eachCopy(fn func(*Host) error) error {
	var failed []error
	for _, own := range h.Databases()[1:] {
		failed = append(failed, sdk.Wrap(own.DatabaseName(), fn(own)))
	}
	return core.JoinErrors(failed...)
}
