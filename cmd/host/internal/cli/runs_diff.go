package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/run"
)

func runsDiffCommand(a *App) *cobra.Command {
	in := &operation.RunAttemptsDiff{}
	c := &cobra.Command{
		Use: "diff RUN", Short: "Compare two attempts of a run",
		Long:    "Compare two attempts of a run's loop: their outputs line by line, which errors\nare fixed or new, and which prompts differ. Without flags these are the last two.",
		Example: "  reflectory runs diff 01939f2c\n  reflectory runs diff 01939f2c --from 1 --to 2",
		RunE: func(c *cobra.Command, args []string) error {
			in.ID = args[0]
			d, err := do[operation.AttemptsDiff](c.Context(), a, "run_attempts_diff", in)
			if err != nil || a.out.json {
				return a.out.jsonOr(d, err)
			}
			fmt.Fprintf(a.out.Stdout, "--- attempt %d  score %.2f\n+++ attempt %d  score %.2f\n", d.From.Iteration, d.From.Score, d.To.Iteration, d.To.Score)
			for _, l := range d.Output {
				mark := map[string]string{run.SideBoth: " ", run.SideFrom: "-", run.SideTo: "+"}[l.Side]
				if err := a.out.say("%s%s", mark, term.Clean(l.Text)); err != nil {
					return err
				}
			}
			for _, f := range d.Fixed {
				if err := a.out.say("fixed  %s", term.Clean(f.Message)); err != nil {
					return err
				}
			}
			for _, f := range d.New {
				if err := a.out.say("new    %s", term.Clean(f.Message)); err != nil {
					return err
				}
			}
			for i := range d.Prompts {
				if err := printPromptDiff(a.out, &d.Prompts[i]); err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.Flags().IntVar(&in.From, "from", 0, "the earlier `attempt` (default: the one before --to)")
	c.Flags().IntVar(&in.To, "to", 0, "the later `attempt` (default: the last)")
	c.Flags().IntVar(&in.Visit, "visit", 0, "which `visit` of a loop's node (default: the last)")
	return c
}

// printPromptDiff prints which message of which prompt differs, and the lines that do.
func printPromptDiff(out *output, d *run.PromptDiff) error {
	if err := out.say("prompt %s", promptDiffLine(d)); err != nil {
		return err
	}
	for _, l := range d.Lines {
		if err := out.say("  %s%s", map[string]string{run.SideFrom: "-", run.SideTo: "+"}[l.Side], term.Clean(l.Text)); err != nil {
			return err
		}
	}
	return nil
}

// promptDiffLine says in a line which message differs, and why its texts aren't shown.
func promptDiffLine(d *run.PromptDiff) string {
	line := "to " + string(d.Role)
	if d.Step != "" {
		line += " (" + term.Clean(d.Step) + ")"
	}
	line += fmt.Sprintf(": message %d (%s), ", d.Message, term.Clean(d.MessageRole))
	switch d.Side {
	case run.SideFrom:
		line += fmt.Sprintf("%d bytes, removed", d.FromBytes)
	case run.SideTo:
		line += fmt.Sprintf("%d bytes, added", d.ToBytes)
	default:
		line += fmt.Sprintf("%d -> %d bytes", d.FromBytes, d.ToBytes)
	}
	return line + map[string]string{
		"purged": "; a memory in it was purged", core.PromptSession: "; its texts aren't recorded", core.PromptRecall: "; its texts aren't recorded", core.PromptDigests: "; only digests are recorded",
		"limit": "; too long to compare line by line",
	}[d.Omitted]
}
