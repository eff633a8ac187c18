package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/loop"
	"github.com/reflectory/reflectory/core/workflow"
	"github.com/reflectory/reflectory/sdk"
)

// replayFlags are what a replay changes.
type replayFlags struct {
	evaluator string
	accept    string
}

func (a *App) replayCommand() *cobra.Command {
	var flags replayFlags
	c := &cobra.Command{
		Use: "replay RUN", Short: "Judge a stored run's attempts again, and show what would change",
		Long: `Judge a stored run's attempts again: with the run's own evaluator, or another
one, or another rule for passing. No generator and no corrector is called, and
nothing is stored. Exit codes: 0 nothing would change, 3 something would.`,
		Example: `  reflectory replay 01939f2c
  reflectory replay 01939f2c --evaluator stricter.yaml
  reflectory replay 01939f2c --accept 'score >= 0.8'`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return a.replay(c.Context(), args[0], flags) },
	}
	c.Flags().StringVar(&flags.evaluator, "evaluator", "", "YAML `file` of another evaluator")
	c.Flags().StringVar(&flags.accept, "accept", "", "another rule for passing: a CEL `expression` over valid, score, errors, output, iteration")
	return c
}

func (a *App) replay(ctx context.Context, prefix string, flags replayFlags) error {
	options, err := a.replayOptions(flags)
	if err != nil {
		return err
	}
	h, err := a.openHost(ctx)
	if err != nil {
		return err
	}
	result, err := h.Replay(ctx, prefix, options)
	if err != nil {
		return err
	}
	if a.flags.json {
		err = a.printJSON(result)
	} else {
		err = a.printReplay(result)
	}
	return exitNotValidUnless(result.Changed == 0, err)
}

// replayOptions are what judges instead of a run's own evaluator and rule for passing.
func (a *App) replayOptions(flags replayFlags) (o host.ReplayOptions, err error) {
	if flags.evaluator != "" {
		if o.Evaluator, err = a.loadSingle(flags.evaluator, workflow.LoadEvaluator); err != nil {
			return o, err
		}
	}
	if flags.accept != "" {
		if o.Accept, err = host.LoadOptions().Expressions.Compile(core.PointAccept, flags.accept); err != nil {
			return o, usageError{sdk.Wrap("--accept", err)}
		}
	}
	return o, nil
}

func (a *App) printReplay(r *host.Replayed) error {
	for _, l := range r.Loops {
		fmt.Fprintf(a.Stdout, "%s (visit %d)\n", l.Node, l.Visit)
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
		if err := a.table([]string{"ITERATION", "WAS", "NOW", ""}, rows); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(a.Stdout, "%d of the run's attempts would be judged otherwise\n", r.Changed)
	return err
}

func judged(j loop.Judgment) string {
	return fmt.Sprintf("%.2f %s", j.Score, map[bool]string{true: "passes", false: "fails"}[j.Accepted])
}
