package plugin

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// Options are what a [Supervisor] needs.
type Options struct {
	// Installed are the plugins. Of two with one name the later counts.
	Installed []Installed
	// Driver starts their instances.
	Driver Driver
	// Admit is asked before each start of an instance, and an error refuses it: the
	// call that waits longest ends with that error, which counts as no failure of
	// the plugin. Nil admits all. It must be safe for concurrent use.
	Admit func(ctx context.Context, p Installed) error
	// ConfigEvaluator names the plugin that judges configs by the schema which
	// their own plugin has for them: a schema evaluator. "", or one that isn't
	// installed, leaves that to each plugin.
	ConfigEvaluator string
	// Random returns numbers in [0,1), to spread restarts. Nil means
	// math/rand/v2. It must be safe for concurrent use.
	Random func() float64
}

// Supervisor runs plugins: it implements [core.Plugins] over pools of
// instances, which it starts on first use, and restarts when they go away. It
// is safe for concurrent use, and must be closed.
//
// A call waits for a free instance, first come, first served; from then on its
// deadline counts. Past that deadline its instance is killed, unless the plugin
// has at least answered the cancellation (50 ms for a deadline, 1 s where the
// caller gave up). Calls that lose their instance through no fault of their own
// are made once more, on another. A plugin that goes away by itself is started
// again after 0.25 s, doubling to 30 s; after three times in ten minutes it
// isn't started for 60 s.
type Supervisor struct {
	options Options
	configs checkedConfigs
	close   func() error

	// mu guards what follows. It is held while a call enters a pool, so that a
	// pool which is taken out gets no new ones.
	mu    sync.RWMutex
	pools map[string]*pool
	// beside are the pools that take no new calls: those that drain, and, with
	// false, those that are warming up.
	beside map[*pool]bool
	// swaps are the changes under way; none begins once closed is set.
	swaps  sync.WaitGroup
	closed bool
	errs   []error // of the pools that were drained
}

var _ core.Plugins = (*Supervisor)(nil)

// NewSupervisor returns a supervisor that has started nothing yet.
func NewSupervisor(o Options) *Supervisor {
	if o.Random == nil {
		o.Random = rand.Float64
	}
	s := &Supervisor{options: o, pools: make(map[string]*pool, len(o.Installed)), beside: map[*pool]bool{}}
	for _, p := range o.Installed {
		s.pools[p.Name] = newPool(p, &s.options)
	}
	s.close = sync.OnceValue(s.shut)
	return s
}

// Start makes sure that an instance of a plugin runs, so that the first call
// needn't wait for it.
func (s *Supervisor) Start(ctx context.Context, plugin string) error {
	return s.do(ctx, core.Target{Plugin: plugin}, call{op: "start " + plugin, run: func(context.Context, Instance) error { return nil }})
}

// Describe implements [core.Plugins]. The plugin is started unless it has been
// before. The manifest must not be changed.
func (s *Supervisor) Describe(ctx context.Context, plugin string) (manifest *sdk.Manifest, err error) {
	if p, err := s.enter(plugin); err == nil {
		manifest = p.described()
		p.calls.Done()
		if manifest != nil {
			return manifest, nil
		}
	}
	err = s.do(ctx, core.Target{Plugin: plugin}, call{op: "describe " + plugin, run: func(_ context.Context, i Instance) error {
		manifest = i.Manifest()
		return nil
	}})
	return manifest, err
}

// Prepare implements [core.Plugins]. A config that doesn't match the schema that
// the plugin has for it is refused before the plugin sees it.
func (s *Supervisor) Prepare(ctx context.Context, kind sdk.Kind, target core.Target) error {
	if err := s.checkConfig(ctx, target.WithDigest()); err != nil {
		return err
	}
	config := configOf(target)
	return s.do(ctx, target, call{op: "prepare with " + target.Plugin, kind: kind, run: func(ctx context.Context, i Instance) error {
		return i.Prepare(ctx, kind, config)
	}})
}

// Evaluate implements [core.Plugins].
func (s *Supervisor) Evaluate(ctx context.Context, target core.Target, reqs []*sdk.EvaluateRequest) ([]sdk.EvaluateResult, error) {
	return batch(ctx, s, target, sdk.KindEvaluator, "evaluate",
		func(ctx context.Context, i Instance, c Config) ([]sdk.EvaluateResult, error) {
			return i.Evaluate(ctx, c, reqs)
		},
		func(r *sdk.EvaluateResponse) *sdk.Usage { return &r.Usage })
}

// Generate implements [core.Plugins]. A call that is made once more emits its
// output's pieces from the start again.
func (s *Supervisor) Generate(ctx context.Context, target core.Target, reqs []*sdk.GenerateRequest) ([]sdk.GenerateResult, error) {
	return batch(ctx, s, target, sdk.KindGenerator, "generate",
		func(ctx context.Context, i Instance, c Config) ([]sdk.GenerateResult, error) {
			return i.Generate(ctx, c, reqs)
		},
		func(r *sdk.GenerateResponse) *sdk.Usage { return &r.Usage })
}

// Correct implements [core.Plugins].
func (s *Supervisor) Correct(ctx context.Context, target core.Target, reqs []*sdk.CorrectRequest) ([]sdk.CorrectResult, error) {
	return batch(ctx, s, target, sdk.KindCorrector, "correct",
		func(ctx context.Context, i Instance, c Config) ([]sdk.CorrectResult, error) {
			return i.Correct(ctx, c, reqs)
		},
		func(r *sdk.CorrectResponse) *sdk.Usage { return &r.Usage })
}

// batch makes one round trip for all requests, and adds what the host spent for it
// to the results.
func batch[R any](
	ctx context.Context, s *Supervisor, target core.Target, kind sdk.Kind, verb string,
	run func(context.Context, Instance, Config) ([]sdk.Result[R], error), usage func(*R) *sdk.Usage,
) (results []sdk.Result[R], err error) {
	config, op := configOf(target), verb+" with "+target.Plugin
	ctx, meter := metered(ctx)
	err = s.do(ctx, target, call{op: op, kind: kind, run: func(ctx context.Context, i Instance) (err error) {
		results, err = run(ctx, i, config)
		for n := range results {
			err = stopped(ctx, err, results[n].Err)
		}
		return err
	}})
	for i := range results {
		results[i].Err = sdk.Wrap(op, results[i].Err)
	}
	return results, bill(meter, results, err, usage)
}

func configOf(target core.Target) Config {
	target = target.WithDigest()
	return Config{JSON: target.Config, Digest: target.Digest}
}

// do makes a call on the target's plugin.
func (s *Supervisor) do(ctx context.Context, target core.Target, c call) error {
	p, err := s.enter(target.Plugin)
	if err != nil {
		return err
	}
	defer p.calls.Done()
	if c.timeout = target.Timeout; c.timeout <= 0 {
		c.timeout = p.plugin.Limits.Timeout
	}
	return p.do(ctx, c)
}

// enter returns the plugin's pool with one more call on it, which the caller
// takes off.
func (s *Supervisor) enter(name string) (*pool, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	p := s.pools[name]
	if p == nil {
		return nil, s.notFound(name)
	}
	p.calls.Add(1)
	return p, nil
}

// Close stops every instance and waits for it: idle ones are asked to end, and
// busy ones killed. Calls under way, and later ones, end with sdk.Unavailable,
// reason "plugins_closed". It is idempotent.
func (s *Supervisor) Close() error { return s.close() }

func (s *Supervisor) shut() error {
	s.mu.Lock()
	s.closed = true
	var pools []*pool
	for _, name := range s.names() {
		pools = append(pools, s.pools[name])
	}
	pools = slices.AppendSeq(pools, maps.Keys(s.beside))
	s.mu.Unlock()
	var wg sync.WaitGroup
	errs := make([]error, len(pools))
	for i, p := range pools {
		wg.Go(func() { errs[i] = p.shut() })
	}
	wg.Wait()
	s.swaps.Wait()
	return errors.Join(append(errs, s.errs...)...)
}

// names lists the plugins. The lock must be held.
func (s *Supervisor) names() []string { return slices.Sorted(maps.Keys(s.pools)) }
