package operation

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/core/workflow"
	"github.com/reflectory/reflectory/core/workflow/action"
	"github.com/reflectory/reflectory/core/workflow/state"
	"github.com/reflectory/reflectory/sdk"
)

// evaluations are the operations that judge or correct one output outside a run. They
// store nothing.
func evaluations() []Operation {
	return []Operation{
		define(Operation{
			Name: "evaluate", Method: "POST", Path: "/v1/evaluate", Scope: core.ScopeEvaluate, ReadOnly: true, Idempotent: true, Long: true, Job: job.Workflow,
			Doc: "Judge one output.",
		}, inNamespace(func(in *Evaluate) *string { return &in.Namespace }), evaluate),
		define(Operation{
			Name: "correct", Method: "POST", Path: "/v1/correct", Scope: core.ScopeEvaluate, ReadOnly: true, Idempotent: true, Long: true, Job: job.Workflow,
			Doc: "Repair one output.",
		}, inNamespace(func(in *Correct) *string { return &in.Namespace }), correct),
	}
}

// single loads a step that was sent as text.
func (f *SourceFiles) single(what, text string, load func(core.Source, workflow.Options) (*workflow.Single, error)) (*workflow.Single, error) {
	source, err := f.source(what, text)
	if err != nil {
		return nil, err
	}
	single, err := load(source, host.LoadOptions())
	return single, inField(what, err)
}

// Evaluate asks for a verdict.
type Evaluate struct {
	// Evaluator is YAML: the part of a workflow under evaluator:, with or without that
	// key.
	Evaluator string `json:"evaluator"`
	SourceFiles
	// Namespace is the namespace for policies; "" is the configured one.
	Namespace string `json:"namespace,omitempty"`
	// Output is what is judged. If it is missing, the state's reflection_output is
	// judged, else its output.
	Output json.RawMessage `json:"output,omitempty"`
	// State is a JSON object that the evaluator sees. It may have reflection_* keys, as a
	// recorded state does.
	State json.RawMessage `json:"state,omitempty"`
}

// load reads the evaluator, and checks what it gets.
func (in *Evaluate) load() (*workflow.Single, error) {
	single, err := in.single("evaluator", in.Evaluator, workflow.LoadEvaluator)
	return single, core.JoinErrors(err, checkNamespace(in.Namespace), checkInput("output", in.Output), checkInput("state", in.State))
}

// check implements checked.
func (in *Evaluate) check() error {
	_, err := in.load()
	return err
}

// loadFor implements loads.
func (in *Evaluate) loadFor(c *Call) error {
	_, err := loaded(c, in)
	return err
}

// asksModel implements modelled.
func (in *Evaluate) asksModel(c *Call) bool {
	single, err := loaded(c, in)
	return err == nil && c.asksModel(single)
}

func evaluate(ctx context.Context, c *Call, in *Evaluate) (*action.EvaluateResult, error) {
	single, err := loaded(c, in)
	if err != nil {
		return nil, err
	}
	spec := &action.EvaluateSpec{Evaluator: single.Step}
	if len(in.Output) > 0 {
		spec.Data = action.Constant(in.Output)
	}
	return act[action.EvaluateResult](ctx, c, in.Namespace, in.Folder, single, spec, in.State)
}

// Correct asks for a better output.
type Correct struct {
	// Corrector is YAML: the part of a workflow under corrector:, with or without that
	// key.
	Corrector string `json:"corrector"`
	SourceFiles
	// Namespace is the namespace for policies; "" is the configured one.
	Namespace string `json:"namespace,omitempty"`
	// Output is what is repaired.
	Output json.RawMessage `json:"output,omitempty"`
	// Errors are the errors of the output: a list of texts or of findings, or a verdict,
	// which contains one.
	Errors json.RawMessage `json:"errors,omitempty"`
}

// load reads the corrector, and checks what it gets.
func (in *Correct) load() (*workflow.Single, error) {
	single, err := in.single("corrector", in.Corrector, workflow.LoadCorrector)
	output := checkInput("output", in.Output)
	if len(in.Output) == 0 {
		output = sdk.Errorf(sdk.Invalid, "output_missing", "output is missing").WithDetail("field", "output")
	}
	return single, core.JoinErrors(err, output, checkNamespace(in.Namespace), checkInput("errors", in.Errors))
}

// check implements checked.
func (in *Correct) check() error {
	_, err := in.load()
	return err
}

// loadFor implements loads.
func (in *Correct) loadFor(c *Call) error {
	_, err := loaded(c, in)
	return err
}

// asksModel implements modelled.
func (in *Correct) asksModel(c *Call) bool {
	single, err := loaded(c, in)
	return err == nil && c.asksModel(single)
}

// asksModel reports whether a step may ask a model: through the shipped plugin for that, or
// through a plugin that asks for a network or for the host's model. A missing plugin causes an
// error later.
func (c *Call) asksModel(single *workflow.Single) (asks bool) {
	_ = c.withSet(func(set *install.Set) error { // the operation reports what can't be read
		for _, use := range single.Plugins {
			p := set.Find(use.Plugin)
			asks = asks || use.Plugin == workflow.LLMPlugin ||
				p != nil && p.Package != nil && (len(p.Package.Capabilities.Network) > 0 || slices.Contains(p.Package.Capabilities.Host, plugin.ServiceLLM))
		}
		return nil
	})
	return asks
}

func correct(ctx context.Context, c *Call, in *Correct) (*action.CorrectResult, error) {
	single, err := loaded(c, in)
	if err != nil {
		return nil, err
	}
	spec := &action.CorrectSpec{Corrector: single.Step, Data: action.Constant(in.Output)}
	if len(in.Errors) > 0 {
		spec.Errors = action.Constant(findings(in.Errors))
	}
	return act[action.CorrectResult](ctx, c, in.Namespace, in.Folder, single, spec, nil)
}

// findings is a list of errors, or the list in a verdict.
func findings(errors json.RawMessage) json.RawMessage {
	var verdict struct {
		Errors json.RawMessage `json:"errors"`
	}
	if json.Unmarshal(errors, &verdict) == nil && verdict.Errors != nil {
		return verdict.Errors
	}
	return errors
}

// checkInput refuses a value that is too large or isn't JSON.
func checkInput(field string, value json.RawMessage) error {
	if len(value) == 0 {
		return nil
	}
	err := state.CheckInput(field, value)
	if err == nil {
		_, err = jsontext.Decode(value)
		err = sdk.Wrap(field, err)
	}
	if err != nil {
		return sdk.AsError(err).WithDetail("field", field)
	}
	return nil
}

// act has plugins do one action outside a run.
func act[Out any](ctx context.Context, c *Call, namespace, folder string, single *workflow.Single, spec action.Spec, state json.RawMessage) (*Out, error) {
	result, err := c.Host.Runner.Act(ctx, host.Need{Uses: single.Plugins, Namespace: namespace, Folder: folder}, spec, state)
	if err != nil {
		return nil, err
	}
	return result.(*Out), nil
}
