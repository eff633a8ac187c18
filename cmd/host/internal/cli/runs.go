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

func runsCommand(a *App) *cobra.Command {
	return noun("runs", "Look at stored runs", "",
		runsListCommand(a), runsShowCommand(a), runsDiffCommand(a),
	)
}

func runsListCommand(a *App) *cobra.Command {
	f := &operation.RunList{}
	c := verb[operation.Page[operation.RunSummary]]{
		Use: "list", Short: "List runs, the newest first",
		Long: `List runs, the newest first. A run whose program was killed is shown as interrupted: resume
continues it.`,
		Example:   "  reflectory runs list --status error --since 7d",
		Operation: "run_list", In: f, Paging: &f.Paging,
		Print: func(out *output, page *operation.Page[operation.RunSummary]) error {
			return printTable(out, page, "no runs in "+a.config.DataDir.Value, []string{"RUN", "WORKFLOW", "STATUS", "ITERATIONS", "SCORE", "STARTED"}, runRow)
		},
	}.command(a)
	c.Flags().StringVar((*string)(&f.Status), "status", "", "only runs of this `status`: "+strings.Join(texts(core.RunStatuses()), ", "))
	c.Flags().StringVar(&f.Workflow, "workflow", "", "only runs of the workflow of this `name`")
	c.Flags().StringVar(&f.Namespace, "namespace", "", "only runs in this namespace")
	c.Flags().BoolVar(&f.Subtree, "subtree", false, "with --namespace: look in the namespaces below as well")
	sinceFlag(c, &f.Since, "runs")
	return c
}

func runRow(s operation.RunSummary) []string {
	status := string(s.Status)
	if s.Status == core.StatusPassed && len(s.ExhaustedLoops) > 0 {
		status += " (exhausted: " + strings.Join(s.ExhaustedLoops, ", ") + ")"
	}
	return []string{s.RunID, cell(s.Workflow), cell(status), fmt.Sprint(s.Iterations), fmt.Sprintf("%.2f", s.Score), term.Time(s.StartedAt)}
}

func runsShowCommand(a *App) *cobra.Command {
	in := &operation.RunGet{}
	return verb[operation.Run]{
		Use: "show RUN", Short: "Show a run: every attempt, its score and its errors",
		Long:      "Show a run. RUN is a run's id, or at least its first 8 characters.",
		Example:   "  reflectory runs show 01939f2c --json",
		Operation: "run_get", In: in, Args: []*string{&in.ID},
		Print: printRunDetails,
	}.command(a)
}

// maxIDsShown is how many characters of ids a line shows.
const maxIDsShown = 300

func printRunDetails(out *output, run *operation.Run) error {
	status := string(run.Status)
	if run.StopReason != "" {
		status += " (" + string(run.StopReason) + ")"
	}
	rows := [][2]string{
		{"run", run.RunID}, {"workflow", term.Clean(run.Workflow + " (" + run.Source.File + ")")}, {"status", status},
		{"started", term.Time(run.StartedAt)}, {"active", term.Duration(time.Duration(run.Usage.WallMillis) * time.Millisecond)},
	}
	if len(run.ExhaustedLoops) > 0 {
		rows = append(rows, [2]string{"exhausted", strings.Join(run.ExhaustedLoops, ", ")})
	}
	if m := run.Memories; m != nil && len(m.Given) > 0 {
		rows = append(rows, [2]string{"given", term.Cut(strings.Join(m.Given, ", "), maxIDsShown)})
	}
	if m := run.Memories; m != nil && len(m.Written) > 0 {
		rows = append(rows, [2]string{"wrote", term.Cut(strings.Join(m.Written, ", "), maxIDsShown)})
	}
	if run.Error != nil {
		rows = append(rows, [2]string{"error", term.Lines(run.Error.Message)})
	}
	for _, row := range rows {
		out.lines("          ", "%-9s %s", row[0], row[1])
	}
	for _, l := range run.Loops {
		out.lines("  ", "\n%s (visit %d)", l.Node, l.Visit)
		for i := range l.Attempts {
			printAttempt(out, &l.Attempts[i])
		}
	}
	for i := range run.Prompts {
		at := &run.Prompts[i]
		out.lines("  ", "\n%s (visit %d)", at.Node, at.Visit)
		for j := range at.Prompts {
			out.lines("       ", "     %s", promptLine(&at.Prompts[j]))
		}
	}
	if hint := resumeHint(run.Run); hint != "" {
		out.term.Line("hint: %s", hint)
	}
	return nil
}

func printAttempt(out *output, at *core.Attempt) {
	word := "not judged yet"
	if at.Judged {
		word = wordFor(at)
	}
	fmt.Fprintf(out.Stdout, "  %d  %s %.2f  %s, by %s\n     %s\n", at.Iteration, term.Bar(at.Score), at.Score, word, at.Role,
		out.preview(5, string(at.Output)))
	for i := range at.Errors {
		out.lines("       ", "     - %s", term.Lines(errorText(&at.Errors[i])))
	}
	for i := range at.Prompts {
		out.lines("       ", "     %s", promptLine(&at.Prompts[i]))
	}
}

// promptLine describes a prompt in a line; --json has its texts.
func promptLine(p *core.Prompt) string {
	var parts []string
	for _, m := range p.Messages {
		parts = append(parts, fmt.Sprintf("%s %d bytes", term.Clean(m.Role), m.Bytes))
	}
	line := "prompt to " + string(p.Role)
	if p.Step != "" {
		line += " (" + term.Clean(p.Step) + ")"
	}
	line += ": " + strings.Join(parts, ", ")
	if p.Purged {
		line += ", purged"
	}
	return line
}
