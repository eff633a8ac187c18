package plugin_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// driver is a fake [plugin.Driver]. Its zero value starts instances that are of
// every kind and answer every call at once.
type driver struct {
	manifest sdk.Manifest
	// startFn, if set, gives the result of the n-th start (from 1).
	startFn func(ctx context.Context, n int) error
	// startPluginFn, if set, gives the result of starting a plugin.
	startPluginFn func(p plugin.Installed) error
	// healthFn, if set, gives the result of a health check.
	healthFn func(ctx context.Context, i *instance) error
	// processorFn, if set, gives the processor time that an instance has used.
	processorFn func(i *instance) (time.Duration, error)
	// callFn, if set, gives the result of a call.
	callFn func(ctx context.Context, i *instance) error
	itemFn func(ctx context.Context, i *instance) error // the error of each item
	// evaluateFn, if set, gives the result of an evaluation, after callFn.
	evaluateFn func(ctx context.Context, i *instance, c plugin.Config, reqs []*sdk.EvaluateRequest) []sdk.EvaluateResult
	// killTakes is how long a kill takes.
	killTakes time.Duration
	// closeErr is what Close returns.
	closeErr error

	mu        sync.Mutex
	starts    []time.Time
	instances []*instance
}

func (d *driver) Start(ctx context.Context, p plugin.Installed) (plugin.Instance, error) {
	d.mu.Lock()
	d.starts = append(d.starts, time.Now())
	n := len(d.starts)
	d.mu.Unlock()
	if d.startFn != nil {
		if err := d.startFn(ctx, n); err != nil {
			return nil, err
		}
	}
	if d.startPluginFn != nil {
		if err := d.startPluginFn(p); err != nil {
			return nil, err
		}
	}
	manifest := d.manifest
	if manifest.Name == "" {
		manifest.Name, manifest.Version, manifest.Contract = p.Name, "1.0.0", sdk.ContractVersion
	}
	if manifest.Kinds == nil {
		manifest.Kinds = []sdk.Kind{sdk.KindCorrector, sdk.KindEvaluator, sdk.KindGenerator}
	}
	i := &instance{driver: d, n: n, plugin: p, manifest: manifest, done: make(chan struct{})}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.instances = append(d.instances, i)
	if d.processorFn != nil {
		return withProcessor{i}, nil
	}
	if d.healthFn != nil {
		return withHealth{i}, nil
	}
	return i, nil
}

// withHealth is an instance that can be asked for its health.
type withHealth struct{ *instance }

func (i withHealth) Healthy(ctx context.Context) error { return i.driver.healthFn(ctx, i.instance) }

// withProcessor is an instance whose processor time is known.
type withProcessor struct{ *instance }

func (i withProcessor) ProcessorTime() (time.Duration, error) {
	return i.driver.processorFn(i.instance)
}

// startedAt lists the starts so far, counted from the given time.
func (d *driver) startedAt(begin time.Time) []time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	var at []time.Duration
	for _, t := range d.starts {
		at = append(at, t.Sub(begin))
	}
	return at
}

// instance is a fake [plugin.Instance].
type instance struct {
	driver   *driver
	n        int // counts the driver's starts, from 1
	plugin   plugin.Installed
	manifest sdk.Manifest
	done     chan struct{}

	mu     sync.Mutex
	cause  error
	killed bool
	closed bool
	config plugin.Config
	kinds  []sdk.Kind
}

func (i *instance) end(cause error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	select {
	case <-i.done:
	default:
		i.cause = cause
		close(i.done)
	}
}

// crash is the plugin going away by itself.
func (i *instance) crash(why string) error {
	i.end(sdk.Errorf(sdk.Unavailable, "plugin_exited", "%s", why))
	return i.exited()
}

// exited is what a driver says to a call whose instance is gone.
func (i *instance) exited() error {
	return sdk.Errorf(sdk.Unavailable, "plugin_exited", "the plugin is gone: %v", i.Cause())
}

// hang is a plugin that hears nothing, until it is killed.
func (i *instance) hang() error {
	<-i.done
	return i.exited()
}

// work is a plugin that is busy for a time and gives up when its context ends.
func (i *instance) work(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return sdk.Errorf(sdk.Cancelled, "", "the plugin gave up")
	case <-i.done:
		return i.exited()
	}
}

func (i *instance) Manifest() *sdk.Manifest { return &i.manifest }
func (i *instance) Done() <-chan struct{}   { return i.done }

func (i *instance) Cause() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.cause
}

func (i *instance) Kill(reason error) {
	time.Sleep(i.driver.killTakes)
	i.end(reason)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.killed = true
}

func (i *instance) Close() error {
	i.end(nil)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.closed = true
	return i.driver.closeErr
}

// wasKilled reports whether the host killed it.
func (i *instance) wasKilled() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.killed
}

func (i *instance) call(ctx context.Context, kind sdk.Kind, c plugin.Config) error {
	i.mu.Lock()
	i.config, i.kinds = c, append(i.kinds, kind)
	i.mu.Unlock()
	if i.driver.callFn == nil {
		return nil
	}
	return i.driver.callFn(ctx, i)
}

func (i *instance) Prepare(ctx context.Context, kind sdk.Kind, c plugin.Config) error {
	return i.call(ctx, kind, c)
}

func (i *instance) Evaluate(ctx context.Context, c plugin.Config, reqs []*sdk.EvaluateRequest) ([]sdk.EvaluateResult, error) {
	if err := i.call(ctx, sdk.KindEvaluator, c); err != nil {
		return make([]sdk.EvaluateResult, len(reqs)), err
	}
	if i.driver.evaluateFn != nil {
		return i.driver.evaluateFn(ctx, i, c, reqs), nil
	}
	results := make([]sdk.EvaluateResult, len(reqs))
	for n := range results {
		if i.driver.itemFn != nil {
			results[n].Err = i.driver.itemFn(ctx, i)
		}
	}
	return results, nil
}

func (i *instance) Generate(ctx context.Context, c plugin.Config, reqs []*sdk.GenerateRequest) ([]sdk.GenerateResult, error) {
	return make([]sdk.GenerateResult, len(reqs)), i.call(ctx, sdk.KindGenerator, c)
}

func (i *instance) Correct(ctx context.Context, c plugin.Config, reqs []*sdk.CorrectRequest) ([]sdk.CorrectResult, error) {
	return make([]sdk.CorrectResult, len(reqs)), i.call(ctx, sdk.KindCorrector, c)
}

// supervise runs a test in a bubble of fake time, with a supervisor of one
// plugin named "p" that is closed at its end.
func supervise(t *testing.T, d *driver, limits plugin.Limits, test func(t *testing.T, s *plugin.Supervisor)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := plugin.NewSupervisor(plugin.Options{
			Installed: []plugin.Installed{{Name: "p", Limits: limits}},
			Driver:    d,
			Random:    func() float64 { return 0.5 }, // no jitter
		})
		defer s.Close()
		test(t, s)
	})
}

// evaluate makes a call of plugin p.
func evaluate(ctx context.Context, s *plugin.Supervisor) error {
	_, err := s.Evaluate(ctx, core.Target{Plugin: "p"}, []*sdk.EvaluateRequest{{}})
	return err
}

// requests are requests without content.
func requests[R any](n int) []*R {
	list := make([]*R, n)
	for i := range list {
		list[i] = new(R)
	}
	return list
}

// evaluateText makes a call of plugin p with an output of its own.
func evaluateText(ctx context.Context, s *plugin.Supervisor, text string) error {
	output, _ := json.Marshal(text)
	_, err := s.Evaluate(ctx, core.Target{Plugin: "p"}, []*sdk.EvaluateRequest{{Output: output}})
	return err
}

// background makes a call and sends its result.
func background(ctx context.Context, s *plugin.Supervisor) <-chan error {
	result := make(chan error, 1)
	go func() { result <- evaluate(ctx, s) }()
	return result
}

func wantReason(t *testing.T, err error, code sdk.Code, reason string) {
	t.Helper()
	if sdk.CodeOf(err) != code || sdk.ReasonOf(err) != reason {
		t.Errorf("got %v (%s, %s), want %s, %s", err, sdk.CodeOf(err), sdk.ReasonOf(err), code, reason)
	}
}

func statusOf(t *testing.T, s *plugin.Supervisor) plugin.Status {
	t.Helper()
	statuses := s.Status()
	if len(statuses) != 1 {
		t.Fatalf("%d statuses, want 1", len(statuses))
	}
	return statuses[0]
}
