package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/loop"
)

func replayCommand(a *App) *cobra.Command {
	in := &operation.RunReplay{}
	var evaluator string
	c := &cobra.Command{
		Use: "replay RUN", Short: "Judge a stored run's attempts again, and show what would change",
		Long: `Judge a stored run's attempts again: with the run's own evaluator, or another
one, or XX Exit codes: 0 nothing would change, 3 something would.`,
		Example: `  reflectory replay 01939f2c
  reflectory replay 01939f2c --evaluator stricter.yaml
  reflectory replay 01939f2c --accept 'score >= 0.8'`,
		RunE: func(c *cobra.Command, args []string) error {
			in.ID = args[0]
			return replayRun(c.Context(), a, in, evaluator)
		},
	}
	c.Flags().StringVar(&evaluator, "evaluator", "", "YAML `file` of another evaluator")
	c.Flags().StringVar(&in.Accept, "accept", "", "another rule for passing: a CEL `expression` over valid, score, errors, output, iteration")
	return c
}

func replayRun(ctx context.Context, a *App, in *operation.RunReplay, evaluator string) error {
	if evaluator != "" {
		var err error
		if in.Evaluator, in.SourceFiles, err = readSource(evaluator); err != nil {
			return err
		}
	}
	result, err := do[host.Replayed](ctx, a, "run_replay", in)
	if err != nil {
		return err
	}
	if a.out.json {
		err = a.out.printJSON(result)
	} else {
		err = printReplay(a.out, result)
	}
	return exitNotValidUnless(result.Changed == 0, err)
}

func printReplay(out *output, r *host.Replayed) error {
	for _, l := range r.Loops {
		fmt.Fprintf(out.Stdout, "%s (visit %d)\n", l.Node, l.Visit)
		rows := make([][]string, len(l.Attempts))
		for i, at := range l.Attempts {
			rows[i] = []string{fmt.Sprint(at.Iteration), judged(at.Was), judged(at.Now), "same"}
			if at.Changed {
				rows[i][3] = "changed"
			}
			if at.Changed && len(at.Now.Errors) > 0 {
				rows[i][3] += ": " + firstError(at.Now.Errors)
			}
		}
		if err := out.table([]string{"ITERATION", "WAS", "NOW", ""}, rows); err != nil {
			return err
		}
		for _, at := range l.Attempts {
			for i := range at.Prompts {
				out.lines("  ", "the prompt of attempt %d differs from the recorded one, %s", at.Iteration, promptDiffLine(&at.Prompts[i]))
			}
		}
	}
	_, err := fmt.Fprintf(out.Stdout, "%d of the run's attempts would be judged differently\n", r.Changed)
	return err
}

func judged(j loop.Judgment) string {
	return fmt.Sprintf("%.2f %s", j.Score, map[bool]string{true: "passes", false: "fails"}[j.Accepted])
}
