package sdktest

import (
	"context"
	"encoding/json"
	"runtime/debug"

	"github.com/reflectory/reflectory/sdk"
)

// InProcess turns a plugin in Go into a [Subject] that runs in this process. A panic in
// the plugin is an error of reason "plugin_panic", as it is under a host.
func InProcess(p sdk.Plugin) Subject { return inProcess{p} }

type inProcess struct{ plugin sdk.Plugin }

func (s inProcess) Describe(context.Context) (*sdk.Manifest, error) {
	m := s.plugin.Describe()
	return &m, nil
}

func (s inProcess) Prepare(ctx context.Context, kind sdk.Kind, config json.RawMessage) (Prepared, error) {
	p := inProcessPrepared{}
	err := guarded(func() (err error) {
		switch {
		case kind == sdk.KindEvaluator && s.plugin.Evaluator != nil:
			p.evaluator, err = s.plugin.Evaluator(ctx, config)
		case kind == sdk.KindGenerator && s.plugin.Generator != nil:
			p.generator, err = s.plugin.Generator(ctx, config)
		case kind == sdk.KindCorrector && s.plugin.Corrector != nil:
			p.corrector, err = s.plugin.Corrector(ctx, config)
		default:
			err = sdk.Errorf(sdk.Invalid, "kind_unsupported", "plugin %q doesn't have the kind %s", s.plugin.Manifest.Name, kind)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

type inProcessPrepared struct {
	evaluator sdk.Evaluator
	generator sdk.Generator
	corrector sdk.Corrector
}

func (p inProcessPrepared) Evaluate(ctx context.Context, reqs []*sdk.EvaluateRequest) ([]sdk.EvaluateResult, error) {
	results := make([]sdk.EvaluateResult, len(reqs))
	if batch, ok := p.evaluator.(sdk.EvaluatorWithBatch); ok {
		err := guarded(func() error { results = batch.EvaluateBatch(ctx, reqs); return nil })
		return results, err
	}
	for i, req := range reqs {
		results[i].Err = guarded(func() (err error) {
			results[i].Response, err = p.evaluator.Evaluate(ctx, req)
			return err
		})
	}
	return results, nil
}

func (p inProcessPrepared) Generate(ctx context.Context, reqs []*sdk.GenerateRequest) ([]sdk.GenerateResult, error) {
	results := make([]sdk.GenerateResult, len(reqs))
	for i, req := range reqs {
		results[i].Err = guarded(func() (err error) {
			results[i].Response, err = p.generator.Generate(ctx, req)
			return err
		})
	}
	return results, nil
}

func (p inProcessPrepared) Correct(ctx context.Context, reqs []*sdk.CorrectRequest) ([]sdk.CorrectResult, error) {
	results := make([]sdk.CorrectResult, len(reqs))
	for i, req := range reqs {
		results[i].Err = guarded(func() (err error) {
			results[i].Response, err = p.corrector.Correct(ctx, req)
			return err
		})
	}
	return results, nil
}

// guarded runs the author's code and turns its panic into an error.
func guarded(f func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = sdk.Errorf(sdk.Internal, "plugin_panic", "the plugin panicked: %v\n%s", value, debug.Stack())
		}
	}()
	return f()
}
