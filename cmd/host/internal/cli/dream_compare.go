package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core/dream"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/sdk"
)

func dreamCompareCommand(a *App) *cobra.Command {
	var file string
	c := &cobra.Command{
		Use: "compare [A B]", Short: "Say whether two texts would be merged",
		Long: `Say whether memories with these two texts would be merged, and if not, what differs:
their normal forms, a number, a negation, a tense, a name and so on. With --file, each
line of the file is a pair in JSON, {"a": "…", "b": "…"}; - is standard input.`,
		Example: "  reflectory dream compare \"It waits 30 s\" \"It waits thirty seconds\"\n  reflectory dream compare \"PR #260\" \"PR #480\" --json",
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case file == "" && len(args) != 2, file != "" && len(args) != 0:
				return usageError{sdk.Errorf(sdk.Invalid, "usage", "name two texts, or --file, not both")}
			case file == "":
				result, err := do[dream.Comparison](c.Context(), a, "dream_compare", &operation.DreamCompare{A: args[0], B: args[1]})
				if err != nil || a.out.json {
					return a.out.jsonOr(result, err)
				}
				return a.out.printComparison(result)
			}
			pairs, err := a.input.labelledPairs(file)
			if err != nil {
				return err
			}
			results := make([]*dream.Comparison, len(pairs))
			for i, p := range pairs {
				if results[i], err = do[dream.Comparison](c.Context(), a, "dream_compare", &operation.DreamCompare{A: p.A, B: p.B}); err != nil {
					return sdk.Errorf(sdk.CodeOf(err), sdk.ReasonOf(err), "pair %d: %w", i+1, err)
				}
				if !a.out.json {
					if err := a.out.printComparison(results[i]); err != nil {
						return err
					}
				}
			}
			if a.out.json {
				return a.out.jsonOr(results, nil)
			}
			return nil
		},
	}
	c.Flags().StringVar(&file, "file", "", "compare the pairs in a `file`, one pair a line, as JSON")
	return c
}

// printComparison prints the result of a comparison, and the two normal forms.
func (out *output) printComparison(c *dream.Comparison) error {
	verdict := "stay apart: nothing finds them alike"
	switch {
	case c.Merge:
		verdict = "merge: " + map[string]string{dream.ByForm: "the normal forms are equal", dream.ByVectors: "the vectors are near, and nothing differs"}[c.By]
	case c.Class != "":
		verdict = "stay apart: " + strings.ReplaceAll(c.Class, "_", " ")
		if c.Words != nil {
			verdict += fmt.Sprintf(", %q and %q", c.Words[0], c.Words[1])
		}
	}
	_, err := fmt.Fprintf(out.Stdout, "%s\n  a  %s\n  b  %s\n", term.Clean(verdict), term.Clean(c.Forms[0]), term.Clean(c.Forms[1]))
	return err
}

// labelledPairs reads a file of pairs; - is standard input.
func (in inputs) labelledPairs(file string) ([]dream.LabelledPair, error) {
	from, err := in.open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = from.Close() }() // only reads
	return dream.LabelledPairs(from)
}

func dreamCalibrateCommand(a *App) *cobra.Command {
	in := &operation.DreamCalibrate{}
	var file string
	c := verb[dream.Calibration]{
		Use: "calibrate", Short: "Measure the embedding model for merging by vectors",
		Long: `Measure the embedding model on pairs of texts that people labelled as saying the same or
not, and store the lowest cosine similarity at which two memories count as near. Until
then, memories are merged only if their normal forms are equal. With --pairs, each line
of the file is a pair in JSON, {"a": "…", "b": "…", "same": true}; without it, the
program's own pairs are used.`,
		Example:   "  reflectory dream calibrate\n  reflectory dream calibrate --pairs pairs.jsonl",
		Operation: "dream_calibrate", In: in,
		Prepare: func(*cobra.Command, []string) (err error) {
			if file != "" {
				in.Pairs, err = a.input.labelledPairs(file)
			}
			return err
		},
		Print: func(out *output, result *dream.Calibration) error {
			_, err := fmt.Fprintf(out.Stdout, "%s: near from a cosine of %.4f\n%d pairs: %.1f %% of those that say the same are found, %.1f %% of the merges would be wrong\n"+
				"by the cosine alone %.1f %% of those that say something else would be merged\n",
				term.Clean(result.Model), result.DedupThreshold, result.Pairs, 100*result.Found, 100*result.Wrong, 100*result.NearButDifferent)
			return err
		},
	}.command(a)
	c.Flags().StringVar(&file, "pairs", "", "measure on the pairs in a `file`, one pair a line, as JSON")
	return c
}
