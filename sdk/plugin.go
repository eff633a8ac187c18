package sdk

import (
	"context"
	"encoding/json"
)

// Evaluator judges outputs. It is safe for concurrent use up to the manifest's
// Parallel. An error means that the evaluator couldn't judge, never that the output is
// bad.
type Evaluator interface {
	Evaluate(ctx context.Context, req *EvaluateRequest) (*EvaluateResponse, error)
}

// Generator makes outputs. Concurrency is as for [Evaluator].
type Generator interface {
	Generate(ctx context.Context, req *GenerateRequest) (*GenerateResponse, error)
}

// Corrector repairs outputs. Concurrency is as for [Evaluator].
type Corrector interface {
	Correct(ctx context.Context, req *CorrectRequest) (*CorrectResponse, error)
}

// EvaluatorWithBatch is an [Evaluator] that can judge several outputs together faster
// than one by one. The results are in the order of the requests. For other evaluators,
// the items of a batch are evaluated in turn.
type EvaluatorWithBatch interface {
	Evaluator
	EvaluateBatch(ctx context.Context, reqs []*EvaluateRequest) []EvaluateResult
}

// Result is one item's outcome in a batch: a response or an error.
type Result[R any] struct {
	Response *R
	Err      error
}

type (
	// EvaluateResult is an evaluation's outcome in a batch.
	EvaluateResult = Result[EvaluateResponse]
	// GenerateResult is a generation's outcome in a batch.
	GenerateResult = Result[GenerateResponse]
	// CorrectResult is a correction's outcome in a batch.
	CorrectResult = Result[CorrectResponse]
)

// EvaluatorFunc turns a function into an [Evaluator].
type EvaluatorFunc func(ctx context.Context, req *EvaluateRequest) (*EvaluateResponse, error)

// Evaluate calls f.
func (f EvaluatorFunc) Evaluate(ctx context.Context, req *EvaluateRequest) (*EvaluateResponse, error) {
	return f(ctx, req)
}

// GeneratorFunc turns a function into a [Generator].
type GeneratorFunc func(ctx context.Context, req *GenerateRequest) (*GenerateResponse, error)

// Generate calls f.
func (f GeneratorFunc) Generate(ctx context.Context, req *GenerateRequest) (*GenerateResponse, error) {
	return f(ctx, req)
}

// CorrectorFunc turns a function into a [Corrector].
type CorrectorFunc func(ctx context.Context, req *CorrectRequest) (*CorrectResponse, error)

// Correct calls f.
func (f CorrectorFunc) Correct(ctx context.Context, req *CorrectRequest) (*CorrectResponse, error) {
	return f(ctx, req)
}

// Plugin is a plugin as data: its description, and functions that prepare it from a
// config. A nil function means that the plugin isn't of that kind.
//
// A config is prepared once (a schema compiled, a script parsed), and the result serves
// every later call with that config, named by its digest. An error from a prepare
// function means that the config is wrong, and should be [Invalid].
type Plugin struct {
	// Manifest's Kinds may be left empty: [Plugin.Describe] fills them in.
	Manifest  Manifest
	Evaluator func(ctx context.Context, config json.RawMessage) (Evaluator, error)
	Generator func(ctx context.Context, config json.RawMessage) (Generator, error)
	Corrector func(ctx context.Context, config json.RawMessage) (Corrector, error)
	// Health finds out whether the plugin can really work: it prepares and runs something small
	// whose result is known, without network and host (see [EvaluatorHealth]). The host asks
	// every 30 s while an instance is idle, waits 5 s, and replaces an instance that returns an
	// error. Nil means that a plugin that answers is healthy. Only processes are asked.
	Health func(ctx context.Context) error
}

// EvaluatorHealth returns a [Plugin.Health] that prepares an evaluator from config, has it judge
// two outputs, and fails if it accepts the wrong one or refuses the right one.
func EvaluatorHealth(prepare func(context.Context, json.RawMessage) (Evaluator, error), config, right, wrong string) func(context.Context) error {
	return func(ctx context.Context) error {
		e, err := prepare(ctx, json.RawMessage(config))
		if err != nil {
			return Wrap("prepare", err)
		}
		for output, want := range map[string]bool{right: true, wrong: false} {
			res, err := e.Evaluate(ctx, &EvaluateRequest{Call: Call{Iteration: 1}, Output: json.RawMessage(output)})
			if err != nil {
				return Wrap("judge", err)
			}
			if res.Verdict.Valid != want {
				return Errorf(Internal, "verdict_wrong", "the verdict of %s is %t", output, res.Verdict.Valid)
			}
		}
		return nil
	}
}

// Describe returns the manifest with its contract version and its kinds, which
// follow from the functions that are set.
func (p *Plugin) Describe() Manifest {
	m := p.Manifest
	m.Contract = ContractVersion
	m.Kinds = nil
	if p.Corrector != nil {
		m.Kinds = append(m.Kinds, KindCorrector)
	}
	if p.Evaluator != nil {
		m.Kinds = append(m.Kinds, KindEvaluator)
	}
	if p.Generator != nil {
		m.Kinds = append(m.Kinds, KindGenerator)
	}
	return m
}

// Validate reports everything that is wrong with the plugin's description. Authors use
// it in tests.
func (p *Plugin) Validate() error {
	m := p.Describe()
	return m.Validate()
}
