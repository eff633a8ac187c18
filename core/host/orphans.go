package host

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/core/workflow"
	"github.com/reflectory/reflectory/sdk"
)

const (
	// maxTakenOver is how many runs of other hosts a host continues at once.
	maxTakenOver = 32
	// takeOverAgain is how long a host that couldn't continue a run leaves it to others.
	takeOverAgain = 10 * time.Second
)

// orphans are the runs whose hosts are gone.
type orphans struct {
	of       *Membership
	takeOver func(context.Context, run.Held) error
	work     sync.WaitGroup

	// ctx is the context of the work, and cancel ends it.
	ctx    context.Context
	cancel context.CancelCauseFunc

	mu sync.Mutex
	// running are the ids of the runs that this host took over. waits are the runs that it
	// couldn't continue, with the times at which it tries again.
	running map[string]bool
	waits   map[string]time.Time
}

func newOrphans(ctx context.Context, of *Membership, takeOver func(context.Context, run.Held) error) *orphans {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	return &orphans{of: of, takeOver: takeOver, ctx: ctx, cancel: cancel, running: map[string]bool{}, waits: map[string]time.Time{}}
}

// takeOverAll takes over runs of hosts that are gone, and removes the records of hosts that have
// no runs left.
func (o *orphans) takeOverAll(ctx context.Context) {
	m := o.of
	member := m.member.Load()
	if member == nil || member.Draining() {
		return
	}
	if err := m.plugins.warnOfLacking(ctx); err != nil && ctx.Err() == nil {
		m.config.warn(sdk.Wrap("read which packages hosts should have", err))
	}
	held, err := m.runs.Held(ctx)
	if err != nil {
		if ctx.Err() == nil {
			m.config.warn(sdk.Wrap("look for runs of hosts that are gone", err))
		}
		return
	}
	o.forget(held)
	left := o.beginAll(held, member.Lives)
	for _, id := range member.Gone() {
		if left[id] {
			continue
		}
		if err := member.Forget(ctx, id); err != nil && ctx.Err() == nil {
			m.config.warn(err)
		}
	}
}

// forget drops what is known about runs that no host has any more.
func (o *orphans) forget(held []run.Held) {
	o.mu.Lock()
	defer o.mu.Unlock()
	maps.DeleteFunc(o.waits, func(id string, _ time.Time) bool {
		return !slices.ContainsFunc(held, func(h run.Held) bool { return h.RunID == id })
	})
}

// beginAll continues the runs whose hosts aren't alive, and returns those hosts.
func (o *orphans) beginAll(held []run.Held, lives func(id string) bool) (left map[string]bool) {
	left = map[string]bool{}
	for _, run := range held {
		if run.Job { // its job continues it, or a caller resumes it
			continue
		}
		lost := run.Host == o.of.id && !o.of.runs.Runs(run.RunID) // its end couldn't be written
		if lives(run.Host) && !lost {
			continue
		}
		left[run.Host] = true
		if o.takeOver != nil {
			o.begin(run)
		}
	}
	return left
}

// adoptPause is how long a server waits until it checks again which runs of earlier servers
// are left.
const adoptPause = time.Second

// adopt continues the runs of servers that had the host's store before it, until none is
// left. Jobs need no adoption: the pool continues them.
func (m *Membership) adopt(ctx context.Context, takeOver func(context.Context, run.Held) error) {
	if takeOver == nil {
		return
	}
	o := newOrphans(ctx, m, takeOver)
	m.closers.add(func() error {
		o.stop()
		return nil
	})
	o.work.Go(func() {
		for o.ctx.Err() == nil {
			held, err := m.runs.Held(o.ctx)
			held = slices.DeleteFunc(held, func(run run.Held) bool { return run.Job || run.Host == m.id })
			switch {
			case err == nil && len(held) == 0:
				return
			case err == nil:
				o.beginAll(held, func(id string) bool { return id == m.id })
			case o.ctx.Err() == nil:
				m.config.warn(sdk.Wrap("look for runs of the servers before this one", err))
			}
			select {
			case <-o.ctx.Done():
			case <-time.After(adoptPause):
			}
		}
	})
}

// begin continues a run, unless this host can't.
func (o *orphans) begin(held run.Held) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ctx.Err() != nil || o.running[held.RunID] || len(o.running) >= maxTakenOver || time.Until(o.waits[held.RunID]) > 0 {
		return
	}
	_, again := o.waits[held.RunID]
	o.running[held.RunID] = true
	o.work.Go(func() {
		err := o.of.plugins.checkRun(held)
		switch {
		case held.Ends:
			err = o.of.runs.Interrupt(o.ctx, &held)
		case err == nil:
			err = o.takeOver(o.ctx, held)
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.running, held.RunID)
		if err == nil || o.ctx.Err() != nil || sdk.ReasonOf(err) == run.Taken {
			delete(o.waits, held.RunID)
			return
		}
		o.waits[held.RunID] = time.Now().Add(takeOverAgain)
		if !again {
			o.of.config.warn(sdk.Wrap("go on with run "+held.RunID+" of host "+held.Host+", which is gone", err))
		}
	})
}

// stop leaves to other hosts the runs that this host took over, and waits until this host
// has stopped working on them.
func (o *orphans) stop() {
	o.mu.Lock()
	o.cancel(errLeft) // no run begins from here on
	o.mu.Unlock()
	o.work.Wait()
}

// checkRun refuses a run whose plugins differ from this host's.
func (p *Plugins) checkRun(held run.Held) error {
	plugins, err := p.Callable()
	if err != nil {
		return err
	}
	have := PinsOf(plugins.Set)
	for name, pin := range held.Plugins {
		if have[name] != pin {
			return sdk.Errorf(sdk.Conflict, LockDiffers, "plugin %s of this host isn't the one that the run began with", name).
				WithHint("install the package on this host, or start a host that has it").WithDetail("plugin", name)
		}
	}
	return nil
}

// needs are what another host needs to continue a run of a plan.
func (p *Plugins) needs(plan *workflow.Plan, ofJob bool) (run.Needs, error) {
	n := run.Needs{Job: ofJob, Plugins: map[string]string{}}
	plugins, err := p.Callable()
	if err != nil || p.membership.holder() == "" {
		return n, err
	}
	for _, use := range plan.Plugins() {
		if found := plugins.Set.Find(use.Plugin); found != nil {
			n.Plugins[found.Name] = pinOf(found)
		}
	}
	return n, nil
}
