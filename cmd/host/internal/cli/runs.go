package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
)

func (a *App) runsCommand() *cobra.Command {
	c := &cobra.Command{Use: "runs", Short: "Look at stored runs", RunE: needsCommand}
	c.AddCommand(a.runsListCommand(), a.runsShowCommand())
	return c
}

func (a *App) runsListCommand() *cobra.Command {
	f := &operation.RunList{}
	c := &cobra.Command{
		Use: "list", Short: "List runs, the newest first",
		Long: `List runs, the newest first. One whose program was killed is interrupted: resume goes
on with it.`,
		Example: "  reflectory runs list --status error --limit 10",
		RunE: func(c *cobra.Command, _ []string) error {
			page, err := do[operation.Page[operation.RunSummary]](c.Context(), a, "run_list", f)
			if err != nil {
				return err
			}
			return a.printRuns(page)
		},
	}
	c.Flags().StringVar((*string)(&f.Status), "status", "", "only runs of this `status`: "+strings.Join(statuses(), ", "))
	c.Flags().StringVar(&f.Workflow, "workflow", "", "only runs of the workflow of this `name`")
	c.Flags().StringVar(&f.Namespace, "namespace", "", "only runs in this namespace")
	c.Flags().BoolVar(&f.Subtree, "subtree", false, "with --namespace: look in the namespaces below as well")
	pagingFlags(c, &f.Paging)
	return c
}

// statuses are the statuses of runs.
func statuses() (names []string) {
	for _, s := range core.RunStatuses() {
		names = append(names, string(s))
	}
	return names
}

func (a *App) printRuns(page *operation.Page[operation.RunSummary]) error {
	if a.flags.json {
		return a.printJSON(page)
	}
	if len(page.Items) == 0 {
		a.term.Line("no runs in %s", a.config.DataDir.Value)
		return nil
	}
	rows := make([][]string, len(page.Items))
	for i, s := range page.Items {
		rows[i] = []string{s.RunID, cell(s.Workflow), string(s.Status), fmt.Sprint(s.Iterations),
			fmt.Sprintf("%.2f", s.Score), term.Time(s.StartedAt)}
	}
	if err := a.table([]string{"RUN", "WORKFLOW", "STATUS", "ITERATIONS", "SCORE", "STARTED"}, rows); err != nil {
		return err
	}
	a.hintNext(page.NextPageToken)
	return nil
}

func (a *App) runsShowCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show RUN", Short: "Show a run: every attempt, its score and its errors",
		Long:    "Show a run. RUN is a run's id, or at least its first 8 characters.",
		Example: "  reflectory runs show 01939f2c --json",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			run, err := do[operation.Run](c.Context(), a, "run_get", &operation.RunGet{ID: args[0]})
			if err != nil {
				return err
			}
			return a.printRunDetails(run)
		},
	}
}

func (a *App) printRunDetails(run *operation.Run) error {
	if a.flags.json {
		return a.printJSON(run)
	}
	w := a.Stdout
	fmt.Fprintf(w, "run       %s\nworkflow  %s (%s)\nstatus    %s", run.RunID, term.Clean(run.Workflow), term.Clean(run.Source.File), run.Status)
	if run.StopReason != "" {
		fmt.Fprintf(w, " (%s)", run.StopReason)
	}
	fmt.Fprintf(w, "\nstarted   %s\nactive    %s\n", term.Time(run.StartedAt),
		term.Duration(time.Duration(run.Usage.WallMillis)*time.Millisecond))
	if run.Error != nil {
		fmt.Fprintf(w, "error     %s\n", term.Lines(run.Error.Message))
	}
	for _, l := range run.Loops {
		fmt.Fprintf(w, "\n%s (visit %d)\n", l.Node, l.Visit)
		for i := range l.Attempts {
			a.printAttempt(&l.Attempts[i])
		}
	}
	if hint := resumeHint(run.Run); hint != "" {
		a.term.Line("hint: %s", hint)
	}
	return nil
}

func (a *App) printAttempt(at *core.Attempt) {
	word := "not judged yet"
	if at.Judged {
		word = wordFor(at)
	}
	fmt.Fprintf(a.Stdout, "  %d  %s %.2f  %s, by %s\n     %s\n", at.Iteration, term.Bar(at.Score), at.Score, word, at.Role,
		a.preview(5, string(at.Output)))
	for i := range at.Errors {
		fmt.Fprintf(a.Stdout, "     - %s\n", term.Lines(errorText(&at.Errors[i])))
	}
}
