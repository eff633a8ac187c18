package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/workflow/action"
)

func evaluateCommand(a *App) *cobra.Command {
	in := &operation.Evaluate{}
	var evaluator, stateFile string
	c := verb[action.EvaluateResult]{
		Use: "evaluate --evaluator FILE [OUTPUT]", Short: "Judge one output",
		Long: `Judge one output with an evaluator. --evaluator names a file with what a workflow has
under evaluator:. OUTPUT is a file, or - for standard input: JSON if it can be parsed,
else text. Without OUTPUT, the state's reflection_output is judged, else the state's
output. Exit codes: 0 valid, 3 not valid.`,
		Example:   `  reflectory evaluate --evaluator examples/extract-contact/evaluator.yaml examples/extract-contact/contact.json`,
		Operation: "evaluate", In: in, Namespace: &in.Namespace,
		Prepare: func(_ *cobra.Command, output []string) (err error) {
			if in.Evaluator, in.SourceFiles, err = readSource(evaluator); err != nil {
				return err
			}
			if len(output) > 0 {
				if in.Output, err = a.input.value(output[0], true); err != nil {
					return err
				}
			}
			if stateFile != "" {
				in.State, err = a.input.read(stateFile, maxInputBytes)
			}
			return err
		},
		Print: printVerdict,
		End:   func(v *action.EvaluateResult) error { return exitNotValidUnless(v.Valid, nil) },
	}.command(a)
	namespaceFlag(c, &in.Namespace)
	c.Flags().StringVar(&evaluator, "evaluator", "", "YAML `file` of the evaluator (required)")
	c.Flags().StringVar(&stateFile, "state-file", "", "JSON object `file` that the evaluator sees as the state; it may hold reflection_* keys, as a recorded state does")
	required(c, "evaluator")
	return c
}

func printVerdict(out *output, v *action.EvaluateResult) error {
	word := map[bool]string{true: "valid", false: "not valid"}[v.Valid]
	fmt.Fprintf(out.Stdout, "%s %.2f  %s\n", term.Bar(v.Score), v.Score, word)
	for i := range v.Errors {
		fmt.Fprintf(out.Stdout, "- %s\n", firstError(v.Errors[i:i+1]))
	}
	if v.Feedback != "" {
		fmt.Fprintf(out.Stdout, "feedback: %s\n", term.Clean(v.Feedback))
	}
	return nil
}

func correctCommand(a *App) *cobra.Command {
	in := &operation.Correct{}
	var corrector, errorsFile string
	c := verb[action.CorrectResult]{
		Use: "correct --corrector FILE OUTPUT", Short: "Repair one output",
		Long: `Repair one output with a corrector. --corrector names a file with what a workflow has
under corrector:. OUTPUT is a file, or - for standard input: JSON if it can be parsed,
else text. The errors are a JSON list of texts or of findings, or a verdict with such a
list, as evaluate --json prints it.`,
		Example: `  reflectory evaluate --json --evaluator examples/extract-contact/evaluator.yaml draft.json > verdict.json
  reflectory correct --corrector examples/extract-contact/corrector.yaml --errors verdict.json draft.json`,
		Operation: "correct", In: in, Namespace: &in.Namespace,
		Prepare: func(_ *cobra.Command, output []string) (err error) {
			if in.Corrector, in.SourceFiles, err = readSource(corrector); err != nil {
				return err
			}
			if in.Output, err = a.input.value(output[0], true); err != nil {
				return err
			}
			if errorsFile != "" {
				in.Errors, err = a.input.value(errorsFile, true)
			}
			return err
		},
		Print: func(out *output, result *action.CorrectResult) error {
			return printOutput(out, jsontext.MustEncode(result))
		},
	}.command(a)
	namespaceFlag(c, &in.Namespace)
	c.Flags().StringVar(&corrector, "corrector", "", "YAML `file` of the corrector (required)")
	c.Flags().StringVar(&errorsFile, "errors", "", "JSON `file` of the errors")
	required(c, "corrector")
	return c
}
