package host

import (
	"context"
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
	host     *Host
	takeOver func(context.Context, run.Held) error
	work     sync.WaitGroup

	// ctx is the context of the work, and cancel ends it.
	ctx    context.Context
	cancel context.CancelFunc

	mu sync.Mutex
	// running are the ids of the runs that this host took over. waits are the runs that it
	// couldn't continue, with the times at which it tries again.
	running map[string]bool
	waits   map[string]time.Time
}

func newOrphans(ctx context.Context, h *Host, takeOver func(context.Context, run.Held) error) *orphans {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	return &orphans{host: h, takeOver: takeOver, ctx: ctx, cancel: cancel, running: map[string]bool{}, waits: map[string]time.Time{}}
}

// look takes over runs of hosts that are gone, and forgets hosts that have none.
func (o *orphans) look(ctx context.Context) {
	h := o.host
	m := h.member.Load()
	if m == nil || m.Draining() {
		return
	}
	held, err := h.Runs.Held(ctx)
	if err != nil {
		if ctx.Err() == nil {
			h.warn(sdk.Wrap("look for runs of hosts that are gone", err))
		}
		return
	}
	left := map[string]bool{}
	for _, run := range held {
		lost := run.Host == h.id && !h.Runs.Runs(run.RunID) // its end couldn't be written
		if m.Lives(run.Host) && !lost {
			continue
		}
		left[run.Host] = true
		if o.takeOver != nil && !run.Job { // a job's run continues with its job
			o.begin(run)
		}
	}
	for _, id := range m.Gone() {
		if left[id] {
			continue
		}
		if err := m.Forget(ctx, id); err != nil && ctx.Err() == nil {
			h.warn(err)
		}
	}
}

// begin continues a run, if this host can.
func (o *orphans) begin(held run.Held) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ctx.Err() != nil || o.running[held.RunID] || len(o.running) >= maxTakenOver || time.Until(o.waits[held.RunID]) > 0 {
		return
	}
	_, again := o.waits[held.RunID]
	o.running[held.RunID] = true
	o.work.Go(func() {
		err := o.host.hasPlugins(held)
		if err == nil {
			err = o.takeOver(o.ctx, held)
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.running, held.RunID)
		if err == nil || o.ctx.Err() != nil || sdk.ReasonOf(err) == run.Taken {
			return
		}
		o.waits[held.RunID] = time.Now().Add(takeOverAgain)
		if !again {
			o.host.warn(sdk.Wrap("go on with run "+held.RunID+" of host "+held.Host+", which is gone", err))
		}
	})
}

// stop ends the runs that this host took over, and waits for them.
func (o *orphans) stop() {
	o.mu.Lock()
	o.cancel() // no more runs are continued from here on
	o.mu.Unlock()
	o.work.Wait()
}

// hasPlugins refuses a run whose plugins differ from this host's.
func (h *Host) hasPlugins(held run.Held) error {
	plugins, err := h.Plugins()
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
func (h *Host) needs(plan *workflow.Plan, ofJob bool) (run.Needs, error) {
	n := run.Needs{Job: ofJob, Plugins: map[string]string{}}
	plugins, err := h.Plugins()
	if err != nil || h.holder() == "" {
		return n, err
	}
	for _, use := range plan.Plugins() {
		if p := plugins.Set.Find(use.Plugin); p != nil {
			n.Plugins[p.Name] = pinOf(p)
		}
	}
	return n, nil
}
