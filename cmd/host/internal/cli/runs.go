package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/sdk"
)

func (a *App) runsCommand() *cobra.Command {
	c := &cobra.Command{Use: "runs", Short: "Look at stored runs", RunE: needsCommand}
	c.AddCommand(a.runsListCommand(), a.runsShowCommand())
	return c
}

func (a *App) runsListCommand() *cobra.Command {
	var filter store.ListFilter
	var status string
	c := &cobra.Command{
		Use: "list", Short: "List runs, the newest first",
		Long: `List runs, the newest first. One whose program was killed is interrupted: resume goes
on with it.`,
		Example: "  reflectory runs list --status error --limit 10",
		RunE: func(c *cobra.Command, _ []string) error {
			if err := checkFilter(status, filter.Limit); err != nil {
				return err
			}
			filter.Status = stored(core.Status(status))
			return a.withRuns(c.Context(), func(runs *store.Runs) error {
				list, err := runs.List(c.Context(), filter)
				if err != nil {
					return err
				}
				return a.printRuns(list)
			})
		},
	}
	c.Flags().StringVar(&status, "status", "", "only runs of this `status`: "+strings.Join(statuses(), ", "))
	c.Flags().StringVar(&filter.Workflow, "workflow", "", "only runs of the workflow of this `name`")
	c.Flags().IntVar(&filter.Limit, "limit", store.DefaultListLimit, "how many at most")
	return c
}

// interrupted is how a run is shown that is recorded as running. Whoever looks at it has
// the store alone: so nobody runs it any more, its program was killed.
const interrupted core.Status = "interrupted"

// shown is a run's status as it is shown.
func shown(s core.Status) core.Status {
	if s == core.StatusRunning {
		return interrupted
	}
	return s
}

// stored is what shown shows so.
func stored(s core.Status) core.Status {
	if s == interrupted {
		return core.StatusRunning
	}
	return s
}

func statuses() []string {
	all := []core.Status{interrupted, core.StatusPassed, core.StatusExhausted, core.StatusRaised, core.StatusError, core.StatusCancelled}
	names := make([]string, len(all))
	for i, s := range all {
		names[i] = string(s)
	}
	return names
}

// checkFilter refuses a status that no run has, and a limit that shows none.
func checkFilter(status string, limit int) error {
	if err := checkWord("status", status, statuses()); err != nil {
		return err
	}
	if limit < 1 {
		return usageError{sdk.Errorf(sdk.Invalid, "usage", "--limit must be at least 1, not %d", limit)}
	}
	return nil
}

// runSummary is a run in a list.
type runSummary struct {
	RunID      string          `json:"run_id"`
	Workflow   string          `json:"workflow"`
	Status     core.Status     `json:"status"`
	StopReason core.StopReason `json:"stop_reason,omitempty"`
	Score      float64         `json:"score"`
	Iterations int             `json:"iterations"`
	StartedAt  time.Time       `json:"started_at"`
	UpdatedAt  time.Time       `json:"updated_at"`
	Usage      core.RunUsage   `json:"usage"`
}

func summary(r *core.Run) runSummary {
	return runSummary{r.ID, r.Workflow, shown(r.Status), r.StopReason, r.Score, r.Iterations, r.StartedAt, r.UpdatedAt, r.Usage}
}

func (a *App) printRuns(list []core.Run) error {
	summaries := make([]runSummary, len(list))
	rows := make([][]string, len(list))
	for i := range list {
		s := summary(&list[i])
		summaries[i] = s
		rows[i] = []string{s.RunID, cell(s.Workflow), string(s.Status), fmt.Sprint(s.Iterations),
			fmt.Sprintf("%.2f", s.Score), term.Time(s.StartedAt)}
	}
	if a.flags.json {
		return a.printJSON(map[string]any{"runs": summaries})
	}
	if len(list) == 0 {
		a.term.Line("no runs in %s", a.config.DataDir.Value)
		return nil
	}
	return a.table([]string{"RUN", "WORKFLOW", "STATUS", "ITERATIONS", "SCORE", "STARTED"}, rows)
}

func (a *App) runsShowCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show RUN", Short: "Show a run: every attempt, its score and its errors",
		Long:    "Show a run. RUN is a run's id, or at least its first 8 characters.",
		Example: "  reflectory runs show 01939f2c --json",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withRuns(c.Context(), func(runs *store.Runs) error {
				run, err := runs.Find(c.Context(), args[0])
				if err != nil {
					return err
				}
				loops, err := runs.Attempts(c.Context(), run.ID)
				if err != nil {
					return err
				}
				run.Status = shown(run.Status)
				return a.printRunDetails(run, loops)
			})
		},
	}
}

func (a *App) printRunDetails(run *core.Run, loops []store.VisitAttempts) error {
	if a.flags.json {
		return a.printJSON(struct {
			RunID string `json:"run_id"`
			*core.Run
			ID    *string               `json:"id,omitempty"` // the store's name for run_id
			Loops []store.VisitAttempts `json:"loops"`
		}{RunID: run.ID, Run: run, Loops: orEmpty(loops)})
	}
	w := a.Stdout
	fmt.Fprintf(w, "run       %s\nworkflow  %s (%s)\nstatus    %s", run.ID, term.Clean(run.Workflow), term.Clean(run.Source.File), run.Status)
	if run.StopReason != "" {
		fmt.Fprintf(w, " (%s)", run.StopReason)
	}
	fmt.Fprintf(w, "\nstarted   %s\nactive    %s\n", term.Time(run.StartedAt),
		term.Duration(time.Duration(run.Usage.WallMillis)*time.Millisecond))
	if run.Error != nil {
		fmt.Fprintf(w, "error     %s\n", term.Lines(run.Error.Message))
	}
	for _, l := range loops {
		fmt.Fprintf(w, "\n%s (visit %d)\n", l.Node, l.Visit)
		for i := range l.Attempts {
			a.printAttempt(&l.Attempts[i])
		}
	}
	asStored := *run
	asStored.Status = stored(run.Status)
	if hint := resumeHint(&asStored); hint != "" {
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
