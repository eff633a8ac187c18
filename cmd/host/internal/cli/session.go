package cli

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/memory"
)

func sessionCommand(a *App) *cobra.Command {
	return noun("session", "Look at sessions of recalls and feedback", `Look at sessions. A session is a series of turns, each a recall and its feedback. It
belongs to the subject that first used it. Its windows don't see each other's turns, but
turn numbers continue from one window to the next.`,
		sessionListCommand(a), sessionResetCommand(a), sessionResumeCommand(a), sessionShowCommand(a),
	)
}

func sessionListCommand(a *App) *cobra.Command {
	in := &operation.SessionList{}
	c := verb[operation.Page[memory.Session]]{
		Use: "list", Short: "List sessions, by name",
		Long:      `List sessions, by name: your own or, with the scope operate, the sessions of every subject.`,
		Example:   "  reflectory session list --namespace team --subtree\n  reflectory session list --owner anna --text mail",
		Operation: "session_list", In: in, Paging: &in.Paging,
		Print: table("", []string{"SESSION", "OWNER", "NAMESPACE", "WINDOW", heading("bias"), "NEXT TURN"}, func(s memory.Session) []string {
			return []string{s.Session, cell(s.Owner), cell(s.Namespace), fmt.Sprintf("%d of %d", s.Window, s.Windows), fmt.Sprintf("%.2f", s.Bias), fmt.Sprint(s.NextTurn)}
		}),
	}.command(a)
	c.Flags().StringVar(&in.Namespace, "namespace", "", "the namespace in which the sessions began (default: every namespace)")
	c.Flags().BoolVar(&in.Subtree, "subtree", false, "also the namespaces below it")
	c.Flags().StringVar(&in.Owner, "owner", "", "the subject that the sessions belong to")
	c.Flags().StringVar(&in.Text, "text", "", "a part of the sessions' names")
	sinceFlag(c, &in.Since, "sessions whose newest turn is")
	return c
}

func sessionResetCommand(a *App) *cobra.Command {
	in := &operation.SessionReset{}
	return verb[memory.Session]{
		Use: "reset SESSION", Short: "Open a new window, which sees nothing of the earlier turns",
		Example:   "  reflectory session reset monday",
		Operation: "session_reset", In: in, Args: []*string{&in.Session},
		Print: printWindow,
	}.command(a)
}

func sessionResumeCommand(a *App) *cobra.Command {
	in := &operation.SessionResume{}
	c := verb[memory.Session]{
		Use: "resume SESSION", Short: "Go back to an earlier window",
		Example:   "  reflectory session resume monday --window 1",
		Operation: "session_resume", In: in, Args: []*string{&in.Session},
		Print: printWindow,
	}.command(a)
	c.Flags().Int64Var(&in.Window, "window", 0, "the window to go back to (default: the one before)")
	return c
}

// printWindow prints a session's current window.
func printWindow(out *output, s *memory.Session) error {
	return out.say("session %s is in window %d of %d; its next turn is %d; %s: %.2f",
		oneLine(s.Session), s.Window, s.Windows, s.NextTurn, operation.TermFor("bias").Label(), s.Bias)
}

func sessionShowCommand(a *App) *cobra.Command {
	in := &operation.SessionGet{}
	return verb[operation.Session]{
		Use: "show SESSION", Short: "Show how a session's turns went, the oldest first",
		Example:   "  reflectory session show monday",
		Operation: "session_get", In: in, Paging: &in.Paging, Args: []*string{&in.Session},
		Print: func(out *output, s *operation.Session) error {
			fmt.Fprintf(out.Stdout, "session    %s\nowner      %s\nnamespace  %s\nwindow     %d of %d\nlately     %.2f: %s\nnext turn  %d\nfeedbacks  %d\n\n",
				oneLine(s.Session.Session), oneLine(s.Owner), oneLine(s.Namespace), s.Window, s.Windows, s.Bias, operation.TermFor("bias").Label(), s.NextTurn, s.Feedbacks)
			return printTable(out, &s.Page, "", []string{"TURN", "WINDOW", "NAMESPACE", "QUERY", "OFFERED", "OUTCOME", "ABOUT"}, turnRow)
		},
	}.command(a)
}

func turnRow(t memory.SessionTurn) []string {
	outcome, about := "", ""
	if t.Feedback != nil {
		outcome = string(t.Feedback.Outcome)
	}
	if t.Reflection != nil {
		about = cmp.Or(t.Reflection.Summary, string(t.Reflection.FailureClass))
	}
	return []string{fmt.Sprint(t.Turn), fmt.Sprint(t.Window), cell(t.Namespace), cell(t.Query), fmt.Sprint(len(t.Memories)), outcome, cell(about)}
}
