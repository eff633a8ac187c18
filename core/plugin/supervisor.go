package plugin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/work"
	"github.com/reflectory/reflectory/sdk"
)

// Options are what a [Supervisor] needs.
type Options struct {
	// Installed are the plugins. If two have the same name, the later one is used.
	Installed []Installed
	// Driver starts their instances.
	Driver Driver
	// Admit is asked before the first call from a scope to a plugin, even if the plugin
	// already runs, and before the next call after an instance of the plugin ended. So a
	// plugin that crashed isn't restarted because of an old answer, but an additional
	// instance for concurrent calls is started without asking. An error refuses the call,
	// doesn't count as a failure of the plugin, and starts nothing. The context has the
	// call's [Scope], and the plugin's Env includes the scope's variables. Nil admits every
	// plugin. It must be safe for concurrent use.
	Admit func(ctx context.Context, p Installed) error
	// Before is called before each call of a plugin, once an instance is free for the call.
	// It may wait; an error refuses the call. Its context has the values of the call's
	// context, and ends with the plugin's instances. Without it (nil), calls are made at
	// once. It must be safe for concurrent use.
	Before func(ctx context.Context) error
	// Place is called before each call of Evaluate, Generate and Correct, and may wait. An error refuses
	// the call, and done is called after it. It must be safe for concurrent use, and may be nil.
	Place func(ctx context.Context, target core.Target) (done func(), err error)
	// Environments is how many environments of one plugin may have instances at a time,
	// in addition to calls without an environment. One more replaces the least recently
	// used idle environment; if all are busy, the call fails with sdk.Exhausted, reason
	// "plugin_environments_full". Default [DefaultEnvironments].
	Environments int
	// EnvironmentIdle is how long an environment's instances stay alive after its last
	// call. Default [DefaultEnvironmentIdle].
	EnvironmentIdle time.Duration
	// Observer follows the calls of Evaluate, Generate and Correct. Nil follows nothing.
	Observer work.Observer
	// Instances is called when instances start and end. It must be safe for concurrent use,
	// and return soon, since a pool waits for it. It may be nil.
	Instances func(plugin string, e InstanceEvent)
	// Log receives the supervisor's own lines about instances. It is called like Instances,
	// and may be nil.
	Log func(LogLine)
	// ConfigEvaluator names the schema evaluator that checks each plugin's config against
	// the schema in its manifest. If it is "" or isn't installed, each plugin checks its
	// own config.
	ConfigEvaluator string
	// Random returns numbers in [0,1), which spread restarts over time. Nil means
	// math/rand/v2. It must be safe for concurrent use.
	Random func() float64
}

// Supervisor runs plugins: it implements [core.Plugins] with pools of instances, which it
// starts on first use and restarts when they end. It is safe for concurrent use, and must
// be closed.
//
// A program has one, for all namespaces, models and keys: a call has its [Scope] in its
// context. Calls whose scopes have the same environment for a plugin share the plugin's
// instances, limits and restarts; calls with another environment have other instances.
//
// A call waits for a free instance, first come, first served; its deadline counts from
// the moment when it gets an instance. After the deadline the instance is killed, unless
// the plugin responds to the cancellation in time (50 ms after a deadline, 1 s if the
// caller gave up). A call that loses its instance through no fault of its own is made
// once more, on another instance. A plugin that exits unexpectedly is started again
// after 0.25 s, doubling to 30 s; after three times in ten minutes it isn't started for
// 60 s.
type Supervisor struct {
	options Options
	configs checkedConfigs
	close   func() error

	// mu guards the fields below. It is held while a call enters a pool, so that a pool
	// that is being removed gets no new calls.
	mu    sync.RWMutex
	pools map[string]*pools
	// draining are the pools that take no new calls, and end with the last one that they have.
	draining map[*pool]bool
	// drains are their ends; none begins once closed is set.
	drains sync.WaitGroup
	closed bool
	errs   []error // the first errors of the pools that were drained
}

var _ core.Plugins = (*Supervisor)(nil)

// NewSupervisor returns a supervisor that has started nothing yet.
func NewSupervisor(o Options) *Supervisor {
	if o.Random == nil {
		o.Random = rand.Float64
	}
	o.Environments = cmp.Or(o.Environments, DefaultEnvironments)
	o.EnvironmentIdle = cmp.Or(o.EnvironmentIdle, DefaultEnvironmentIdle)
	s := &Supervisor{options: o, pools: make(map[string]*pools, len(o.Installed)), draining: map[*pool]bool{}}
	for _, p := range o.Installed {
		s.pools[p.Name] = newPools(newPool(p, &s.options))
	}
	s.close = sync.OnceValue(s.shut)
	return s
}

// Start makes sure that an instance of a plugin runs, so that the first call
// needn't wait for it.
func (s *Supervisor) Start(ctx context.Context, plugin string) error {
	return s.do(ctx, core.Target{Plugin: plugin}, call{op: "start " + plugin, run: func(context.Context, Instance) error { return nil }})
}

// Describe implements [core.Plugins]. It starts the plugin, unless it was started before
// in the scope's environment. The manifest must not be changed.
func (s *Supervisor) Describe(ctx context.Context, plugin string) (manifest *sdk.Manifest, err error) {
	if p, err := s.enter(ctx, plugin); err == nil {
		defer p.leave()
		if manifest = p.described(); manifest != nil {
			if err := p.admit(ctx); err != nil {
				return nil, err
			}
			return manifest, nil
		}
	}
	err = s.do(ctx, core.Target{Plugin: plugin}, call{op: "describe " + plugin, run: func(_ context.Context, i Instance) error {
		manifest = i.Manifest()
		return nil
	}})
	return manifest, err
}

// Prepare implements [core.Plugins]. A config that doesn't match the plugin's schema is
// refused before the plugin sees it.
func (s *Supervisor) Prepare(ctx context.Context, kind sdk.Kind, target core.Target) error {
	if err := s.checkConfig(ctx, target.WithDigest()); err != nil {
		return err
	}
	config := configOf(target)
	ctx, _ = s.serving(ctx) // usage before a run isn't charged
	return s.do(ctx, target, call{op: "prepare with " + target.Plugin, kind: kind, config: config.Digest, bytes: len(config.JSON), request: func() requestDigest { return preparing(config.Digest) }, run: func(ctx context.Context, i Instance) error {
		return i.Prepare(ctx, kind, config)
	}})
}

// Evaluate implements [core.Plugins].
func (s *Supervisor) Evaluate(ctx context.Context, target core.Target, reqs []*sdk.EvaluateRequest) ([]sdk.EvaluateResult, error) {
	return batch(ctx, s, target, sdk.KindEvaluator, sdk.RoleEvaluate, reqs,
		func(ctx context.Context, i Instance, c Config) ([]sdk.EvaluateResult, error) {
			return i.Evaluate(ctx, c, reqs)
		},
		func(r *sdk.EvaluateResponse) callReport {
			return callReport{usage: &r.Usage, metadata: r.Metadata, verdict: &r.Verdict}
		})
}

// Generate implements [core.Plugins]. A call that is made a second time emits the pieces
// of its output from the start.
func (s *Supervisor) Generate(ctx context.Context, target core.Target, reqs []*sdk.GenerateRequest) ([]sdk.GenerateResult, error) {
	return batch(ctx, s, target, sdk.KindGenerator, sdk.RoleGenerate, reqs,
		func(ctx context.Context, i Instance, c Config) ([]sdk.GenerateResult, error) {
			return i.Generate(ctx, c, reqs)
		},
		func(r *sdk.GenerateResponse) callReport {
			return callReport{usage: &r.Usage, metadata: r.Metadata, output: r.Output}
		})
}

// Correct implements [core.Plugins].
func (s *Supervisor) Correct(ctx context.Context, target core.Target, reqs []*sdk.CorrectRequest) ([]sdk.CorrectResult, error) {
	return batch(ctx, s, target, sdk.KindCorrector, sdk.RoleCorrect, reqs,
		func(ctx context.Context, i Instance, c Config) ([]sdk.CorrectResult, error) {
			return i.Correct(ctx, c, reqs)
		},
		func(r *sdk.CorrectResponse) callReport {
			return callReport{usage: &r.Usage, metadata: r.Metadata, output: r.Output}
		})
}

// batch makes one round trip for all requests, and adds the host's own usage to the
// results.
func batch[Q, R any](
	ctx context.Context, s *Supervisor, target core.Target, kind sdk.Kind, role sdk.Role, reqs []*Q,
	run func(context.Context, Instance, Config) ([]sdk.Result[R], error), says func(*R) callReport,
) (results []sdk.Result[R], err error) {
	config, op := configOf(target), string(role)+" with "+target.Plugin
	if s.options.Observer != nil {
		var end func(work.Outcome)
		ctx, end = s.options.Observer(ctx, work.Work{Kind: work.Call, Name: target.Plugin, Role: role, Config: config.JSON})
		defer func() { end(outcomeOf(results, err, says)) }()
	}
	if s.options.Place != nil {
		done, err := s.options.Place(ctx, target)
		if err != nil {
			return nil, sdk.Wrap(op, err)
		}
		defer done()
	}
	ctx, meter := s.serving(ctx)
	request := func() requestDigest { return digestRequests(role, config.Digest, reqs) }
	item := func() (err error) {
		for _, r := range results {
			if err = r.Err; err == nil {
				return nil
			}
		}
		return err
	}
	err = s.do(ctx, target, call{op: op, kind: kind, config: config.Digest, bytes: sizeOf(config, reqs), request: request, item: item, run: func(ctx context.Context, i Instance) (err error) {
		results, err = run(ctx, i, config)
		for n := range results {
			err = stopped(ctx, err, results[n].Err)
		}
		return err
	}})
	for i := range results {
		results[i].Err = meter.failed(sdk.Wrap(op, results[i].Err))
		if results[i].Response != nil {
			meter.prompt(says(results[i].Response).metadata)
		}
	}
	return results, bill(meter, results, meter.failed(err), says)
}

func configOf(target core.Target) Config {
	target = target.WithDigest()
	return Config{JSON: target.Config, Digest: target.Digest}
}

// digestRequests identifies what a plugin is asked, whatever the run, the iteration and the
// caller.
func digestRequests[Q any](role sdk.Role, config string, reqs []*Q) requestDigest {
	texts := []string{string(role), config}
	for _, req := range reqs {
		for _, value := range valuesOf(req) {
			texts = append(texts, string(value))
		}
	}
	return requestDigest(digestOf(texts))
}

// sizeOf is how many bytes a call has.
func sizeOf[Q any](config Config, reqs []*Q) int {
	size := len(config.JSON)
	for _, req := range reqs {
		for _, value := range valuesOf(req) {
			size += len(value)
		}
	}
	return size
}

// valuesOf are the JSON values of a request.
func valuesOf(req any) [2]json.RawMessage {
	switch r := req.(type) {
	case *sdk.EvaluateRequest:
		return [2]json.RawMessage{r.State, r.Output}
	case *sdk.CorrectRequest:
		return [2]json.RawMessage{r.State, r.Output}
	case *sdk.GenerateRequest:
		return [2]json.RawMessage{r.State}
	}
	return [2]json.RawMessage{}
}

// do makes a call to the target's plugin.
func (s *Supervisor) do(ctx context.Context, target core.Target, c call) error {
	p, err := s.enter(ctx, target.Plugin)
	if err != nil {
		return err
	}
	defer p.leave()
	if m, ok := ctx.Value(meterKey{}).(*meter); ok {
		m.calls(ctx, &p.plugin)
	}
	if c.timeout = target.Timeout; c.timeout <= 0 {
		c.timeout = p.plugin.Limits.Timeout
	}
	return p.do(ctx, c)
}

// Close stops every instance and waits for it: idle ones are asked to end, and busy ones
// are killed. Calls in progress, and later ones, fail with sdk.Unavailable, reason
// "plugins_closed". It is idempotent.
func (s *Supervisor) Close() error { return s.close() }

func (s *Supervisor) shut() error {
	s.mu.Lock()
	s.closed = true
	var pools []*pool
	for _, name := range s.names() {
		pools = append(pools, s.pools[name].all()...)
	}
	pools = slices.AppendSeq(pools, maps.Keys(s.draining))
	s.mu.Unlock()
	var wg sync.WaitGroup
	errs := make([]error, len(pools))
	for i, p := range pools {
		wg.Go(func() { errs[i] = p.shut() })
	}
	wg.Wait()
	s.drains.Wait()
	return errors.Join(append(errs, s.errs...)...)
}

// names lists the plugins. The lock must be held.
func (s *Supervisor) names() []string { return slices.Sorted(maps.Keys(s.pools)) }
