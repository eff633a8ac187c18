package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/workflow"
)

func (a *App) evaluateCommand() *cobra.Command {
	var evaluator, stateFile string
	c := &cobra.Command{
		Use: "evaluate --evaluator FILE [OUTPUT]", Short: "Judge one output",
		Long: `Judge one output with an evaluator. The evaluator's file holds what stands under
evaluator: in a workflow. OUTPUT is a file, or - for standard input: JSON if it
parses, else text. Without OUTPUT the state's reflection_output is judged, else its
output. Exit codes: 0 valid, 3 not valid.`,
		Example: `  reflectory evaluate --evaluator examples/extract-contact/evaluator.yaml examples/extract-contact/contact.json`,
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.evaluate(c.Context(), evaluator, stateFile, args)
		},
	}
	a.namespaceFlag(c)
	c.Flags().StringVar(&evaluator, "evaluator", "", "YAML `file` of the evaluator (required)")
	c.Flags().StringVar(&stateFile, "state-file", "", "JSON object `file` that the evaluator sees as the state; it may hold reflection_* keys, as a recorded state does")
	required(c, "evaluator")
	return c
}

func (a *App) evaluate(ctx context.Context, file, stateFile string, output []string) error {
	single, err := a.loadSingle(file, workflow.LoadEvaluator)
	if err != nil {
		return err
	}
	spec := &core.EvaluateSpec{Evaluator: single.Step}
	if len(output) > 0 {
		data, err := a.input.value(output[0], true)
		if err != nil {
			return err
		}
		spec.Data = core.Constant(data)
	}
	var state json.RawMessage
	if stateFile != "" {
		if state, err = a.input.read(stateFile, maxInputBytes); err != nil {
			return err
		}
	}
	result, err := a.act(ctx, single.Plugins, state, spec)
	if err != nil {
		return err
	}
	return a.printVerdict(result.(*core.EvaluateResult))
}

func (a *App) printVerdict(v *core.EvaluateResult) error {
	if a.flags.json {
		return exitNotValidUnless(v.Valid, a.printJSON(v))
	}
	word := map[bool]string{true: "valid", false: "not valid"}[v.Valid]
	fmt.Fprintf(a.Stdout, "%s %.2f  %s\n", term.Bar(v.Score), v.Score, word)
	for i := range v.Errors {
		fmt.Fprintf(a.Stdout, "- %s\n", firstError(v.Errors[i:i+1]))
	}
	if v.Feedback != "" {
		fmt.Fprintf(a.Stdout, "feedback: %s\n", term.Clean(v.Feedback))
	}
	return exitNotValidUnless(v.Valid, nil)
}

func (a *App) correctCommand() *cobra.Command {
	var corrector, errorsFile string
	c := &cobra.Command{
		Use: "correct --corrector FILE OUTPUT", Short: "Repair one output",
		Long: `Repair one output with a corrector. The corrector's file holds what stands under
corrector: in a workflow. OUTPUT is a file, or - for standard input: JSON if it
parses, else text. The errors are a JSON list of texts or of findings, or a
verdict that holds one, as evaluate --json prints it.`,
		Example: `  reflectory evaluate --json --evaluator examples/extract-contact/evaluator.yaml draft.json > verdict.json
  reflectory correct --corrector examples/extract-contact/corrector.yaml --errors verdict.json draft.json`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.correct(c.Context(), corrector, errorsFile, args[0])
		},
	}
	a.namespaceFlag(c)
	c.Flags().StringVar(&corrector, "corrector", "", "YAML `file` of the corrector (required)")
	c.Flags().StringVar(&errorsFile, "errors", "", "JSON `file` of what is wrong")
	required(c, "corrector")
	return c
}

func (a *App) correct(ctx context.Context, file, errorsFile, output string) error {
	single, err := a.loadSingle(file, workflow.LoadCorrector)
	if err != nil {
		return err
	}
	data, err := a.input.value(output, true)
	if err != nil {
		return err
	}
	spec := &core.CorrectSpec{Corrector: single.Step, Data: core.Constant(data)}
	if errorsFile != "" {
		findings, err := a.readErrors(errorsFile)
		if err != nil {
			return err
		}
		spec.Errors = core.Constant(findings)
	}
	result, err := a.act(ctx, single.Plugins, nil, spec)
	if err != nil {
		return err
	}
	if a.flags.json {
		return a.printJSON(result)
	}
	return a.printOutput(core.MustJSON(result))
}

// readErrors reads a list of errors, or a verdict's.
func (a *App) readErrors(file string) (json.RawMessage, error) {
	raw, err := a.input.value(file, true)
	if err != nil {
		return nil, err
	}
	var verdict struct {
		Errors json.RawMessage `json:"errors"`
	}
	if json.Unmarshal(raw, &verdict) == nil && verdict.Errors != nil {
		raw = verdict.Errors
	}
	return raw, nil
}

// loadSingle reads and loads a file of one step.
func (a *App) loadSingle(file string, load func(core.Source, workflow.Options) (*workflow.Single, error)) (*workflow.Single, error) {
	source, err := workflow.Read(file)
	if err != nil {
		return nil, err
	}
	return load(source, host.LoadOptions())
}

// act has plugins do one action outside a run.
func (a *App) act(ctx context.Context, uses []workflow.PluginUse, state json.RawMessage, action core.Action) (any, error) {
	h, err := a.openHost(ctx)
	if err != nil {
		return nil, err
	}
	defer a.term.Clear()
	return h.Act(ctx, host.Need{Uses: uses, Namespace: a.config.Namespace.Value}, action, state)
}
