package host

import (
	"context"
	"sync"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/governance"
	"github.com/reflectory/reflectory/core/journal"
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

// Copies are what every database of a process has a copy of: policies, and the settings of *.
type Copies struct {
	own       *Host      // whose database these are in
	comparing sync.Mutex // held while a call compares the databases
	mu        sync.Mutex
	// differ describes how they differ, on the main database's host; nil if they don't. A difference
	// counts only if it was seen twice in a row, since a push takes a while.
	differ error
	twice  bool
	// warned is whether the difference was reported to the operator.
	warned bool
}

// apart describes how the databases' policies or settings differ; nil if they don't.
func (c *Copies) apart() error {
	seen := c.own.Databases.hosts[0].Copies
	seen.mu.Lock()
	defer seen.mu.Unlock()
	if !seen.twice {
		return nil
	}
	return seen.differ
}

// every calls a function again and again, with a pause before each call, until stop is called.
func every(pause time.Duration, do func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(pause)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			do(ctx)
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// copied has the digests of what every database has.
type copied struct{ policies, settings string }

// Compare compares the policies and settings of the databases that are open. A host does this
// by itself every 2 s. If a database can't be read, that is reported elsewhere, and changes
// nothing here.
func (c *Copies) Compare(ctx context.Context) {
	if !isClosed(c.own.Policies.opened) {
		return
	}
	c.comparing.Lock() // so that the result of an older comparison can't replace a newer result
	defer c.comparing.Unlock()
	main, err := c.copied(ctx)
	if err != nil {
		return
	}
	var differ error
	for _, own := range c.own.Databases.All()[1:] {
		if !isClosed(own.Policies.opened) {
			continue
		}
		has, err := own.Copies.copied(ctx)
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
	if c.twice && !c.warned {
		c.own.Config.warn(differ)
	}
	c.warned = c.twice
}

// copiesDiffer is the error if a tenants' database differs from the main database.
func copiesDiffer(what string, own *Host, hint string) error {
	return sdk.Errorf(sdk.Unavailable, "databases_differ", "%s has other %s than the database of all other tenants", own.Databases.Name(), what).WithHint("%s", hint)
}

// copied reads the digests of what every database has.
func (c *Copies) copied(ctx context.Context) (has copied, err error) {
	settings, err := c.own.Governance.Get(ctx, core.EveryNamespace)
	if err != nil {
		return has, err
	}
	active, err := core.View(ctx, c.own.Store, policyset.ReadActive)
	return copied{policies: active.Digest, settings: settings.Version()}, err
}

// copyFromMain copies the settings, policies and lock of plugins of the main database to a
// database of tenants, each only if the database has none. Otherwise an operator has to push them,
// and sees how they differ.
func (c *Copies) copyFromMain(ctx context.Context) error {
	main := c.own.Databases.hosts[0]
	own, err := c.copied(ctx)
	if err != nil {
		return err
	}
	settings, err := main.Governance.Get(ctx, core.EveryNamespace)
	if err != nil {
		return err
	}
	if settings != nil && own.settings == (*governance.Record)(nil).Version() {
		if err := c.own.Governance.Replace(ctx, core.EveryNamespace, settings); err != nil {
			return err
		}
	}
	lock, err := main.Plugins.lock(ctx)
	if err != nil {
		return err
	}
	if there, err := c.own.Plugins.lock(ctx); err != nil {
		return err
	} else if lock.Epoch > 0 && there.Epoch == 0 {
		if _, _, err := c.own.Plugins.putLock(ctx, lock.Plugins); err != nil {
			return err
		}
	}
	if c.own.Policies.shared == nil || own.policies != "" {
		return nil
	}
	return c.copyPolicies(ctx, main)
}

// copyPolicies puts the set that was pushed to the main database in force in this one.
func (c *Copies) copyPolicies(ctx context.Context, main *Host) error {
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
	set, err := c.own.Policies.Points.LoadFiles(next.Files)
	if err != nil {
		return err
	}
	next.Policies = len(set.Files())
	err = c.own.Journal.Update(ctx, func(tx *journal.Tx) error {
		_, _, err := policyset.Put(tx, next)
		return err
	})
	if err != nil {
		return err
	}
	return c.own.Policies.shared.refresh(ctx)
}

// PushPolicies puts a set of policies in force in every database, and copies the settings of *
// to each: see [Policies.Push]. The main database is first, and the result is from there. If the
// push fails half-way, it must be repeated.
func (c *Copies) PushPolicies(ctx context.Context, files map[string]string) (*Pushed, error) {
	pushed, err := c.own.Policies.Push(ctx, files)
	if err != nil {
		return nil, err
	}
	err = c.own.Databases.eachCopy(func(own *Host) error {
		_, err := own.Policies.Push(ctx, files)
		return err
	})
	return pushed, core.JoinErrors(err, c.CopySettings(ctx, core.EveryNamespace))
}

// CopySettings copies what a level sets to the databases of tenants, if the level is *: no other
// level has copies in several databases.
func (c *Copies) CopySettings(ctx context.Context, level string) error {
	if level != core.EveryNamespace || len(c.own.Databases.All()) == 1 {
		return nil
	}
	settings, err := c.own.Governance.Get(ctx, level)
	if err != nil {
		return err
	}
	return c.own.Databases.eachCopy(func(own *Host) error { return own.Governance.Replace(ctx, level, settings) })
}

// eachCopy calls fn for every database of tenants, even if it fails for some.
func (d *Databases) eachCopy(fn func(*Host) error) error {
	var failed []error
	for _, own := range d.All()[1:] {
		failed = append(failed, sdk.Wrap(own.Databases.Name(), fn(own)))
	}
	return core.JoinErrors(failed...)
}
