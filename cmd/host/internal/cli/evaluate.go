package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/workflow"
	"github.com/reflectory/reflectory/core/workflow/action"
)

func evaluateCommand(a *App) *cobra.Command {
	in := &operation.Evaluate{}
	var evaluator, stateFile string
	c := &cobra.Command{
		Use: "evaluate --evaluator FILE [OUTPUT]", Short: "Judge one output",
		Long: `Judge one output with an evaluator. --evaluator names a file with what a workflow has
under evaluator:. OUTPUT is a file, or - for standard input: JSON if it can be parsed,
else text. Without OUTPUT, the state's reflection_output is judged, else the state's
output. Exit codes: 0 valid, 3 not valid.`,
		Example: `  reflectory evaluate --evaluator examples/extract-contact/evaluator.yaml examples/extract-contact/contact.json`,
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			in.Namespace = a.orConfigured(c, in.Namespace)
			return evaluateOutput(c.Context(), a, in, evaluator, stateFile, args)
		},
	}
	namespaceFlag(c, &in.Namespace)
	c.Flags().StringVar(&evaluator, "evaluator", "", "YAML `file` of the evaluator (required)")
	c.Flags().StringVar(&stateFile, "state-file", "", "JSON object `file` that the evaluator sees as the state; it may hold reflection_* keys, as a recorded state does")
	required(c, "evaluator")
	return c
}

func evaluateOutput(ctx context.Context, a *App, in *operation.Evaluate, file, stateFile string, output []string) error {
	source, err := workflow.Read(file)
	if err != nil {
		return err
	}
	in.Evaluator, in.SourceFiles = source.Text, filesOf(source)
	if len(output) > 0 {
		if in.Output, err = a.input.value(output[0], true); err != nil {
			return err
		}
	}
	if stateFile != "" {
		if in.State, err = a.input.read(stateFile, maxInputBytes); err != nil {
			return err
		}
	}
	verdict, err := do[action.EvaluateResult](ctx, a, "evaluate", in)
	if err != nil {
		return err
	}
	return printVerdict(a.out, verdict)
}

func printVerdict(out *output, v *action.EvaluateResult) error {
	if out.json {
		return exitNotValidUnless(v.Valid, out.printJSON(v))
	}
	word := map[bool]string{true: "valid", false: "not valid"}[v.Valid]
	fmt.Fprintf(out.Stdout, "%s %.2f  %s\n", term.Bar(v.Score), v.Score, word)
	for i := range v.Errors {
		fmt.Fprintf(out.Stdout, "- %s\n", firstError(v.Errors[i:i+1]))
	}
	if v.Feedback != "" {
		fmt.Fprintf(out.Stdout, "feedback: %s\n", term.Clean(v.Feedback))
	}
	return exitNotValidUnless(v.Valid, nil)
}

func correctCommand(a *App) *cobra.Command {
	in := &operation.Correct{}
	var corrector, errorsFile string
	c := &cobra.Command{
		Use: "correct --corrector FILE OUTPUT", Short: "Repair one output",
		Long: `Repair one output with a corrector. --corrector names a file with what a workflow has
under corrector:. OUTPUT is a file, or - for standard input: JSON if it can be parsed,
else text. The errors are a JSON list of texts or of findings, or a verdict with such a
list, as evaluate --json prints it.`,
		Example: `  reflectory evaluate --json --evaluator examples/extract-contact/evaluator.yaml draft.json > verdict.json
  reflectory correct --corrector examples/extract-contact/corrector.yaml --errors verdict.json draft.json`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			in.Namespace = a.orConfigured(c, in.Namespace)
			return correctOutput(c.Context(), a, in, corrector, errorsFile, args[0])
		},
	}
	namespaceFlag(c, &in.Namespace)
	c.Flags().StringVar(&corrector, "corrector", "", "YAML `file` of the corrector (required)")
	c.Flags().StringVar(&errorsFile, "errors", "", "JSON `file` of the errors")
	required(c, "corrector")
	return c
}

func correctOutput(ctx context.Context, a *App, in *operation.Correct, file, errorsFile, output string) error {
	source, err := workflow.Read(file)
	if err != nil {
		return err
	}
	in.Corrector, in.SourceFiles = source.Text, filesOf(source)
	if in.Output, err = a.input.value(output, true); err != nil {
		return err
	}
	if errorsFile != "" {
		if in.Errors, err = a.input.value(errorsFile, true); err != nil {
			return err
		}
	}
	result, err := do[action.CorrectResult](ctx, a, "correct", in)
	if err != nil {
		return err
	}
	if a.out.json {
		return a.out.printJSON(result)
	}
	return printOutput(a.out, jsontext.MustEncode(result))
}
