package cli

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/sdktest"
)

// subject is an installed plugin in the conformance kit: it is started, called and
// stopped as in a run.
type subject struct {
	name string
	open func() *plugin.Supervisor

	mu      sync.RWMutex
	plugins *plugin.Supervisor
}

var _ sdktest.SubjectWithRestart = (*subject)(nil)

// newSubject makes a subject of one plugin. open makes the supervisor that runs it.
func newSubject(name string, open func() *plugin.Supervisor) *subject {
	return &subject{name: name, open: open, plugins: open()}
}

// Describe starts the plugin and returns its manifest.
func (s *subject) Describe(ctx context.Context) (*sdk.Manifest, error) {
	return s.running().Describe(ctx, s.name)
}

// Prepare has the plugin check a config.
func (s *subject) Prepare(ctx context.Context, kind sdk.Kind, config json.RawMessage) (sdktest.Prepared, error) {
	target := core.Target{Plugin: s.name, Config: config}.WithDigest()
	if err := s.running().Prepare(ctx, kind, target); err != nil {
		return nil, err
	}
	return preparedSubject{s, target}, nil
}

// Restart ends every instance. The next call starts one.
func (s *subject) Restart(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.plugins.Close()
	s.plugins = s.open()
	return err
}

// Close ends the plugin.
func (s *subject) Close() error { return s.running().Close() }

func (s *subject) running() *plugin.Supervisor {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.plugins
}

// preparedSubject is the plugin with one config.
type preparedSubject struct {
	*subject
	target core.Target
}

func (p preparedSubject) Evaluate(ctx context.Context, reqs []*sdk.EvaluateRequest) ([]sdk.EvaluateResult, error) {
	return p.running().Evaluate(ctx, p.target, reqs)
}

func (p preparedSubject) Generate(ctx context.Context, reqs []*sdk.GenerateRequest) ([]sdk.GenerateResult, error) {
	return p.running().Generate(ctx, p.target, reqs)
}

func (p preparedSubject) Correct(ctx context.Context, reqs []*sdk.CorrectRequest) ([]sdk.CorrectResult, error) {
	return p.running().Correct(ctx, p.target, reqs)
}
