package cli

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/memory"
)

func sessionCommand(a *App) *cobra.Command {
	c := &cobra.Command{
		Use: "session", Short: "Look at sessions of recalls and feedback", RunE: needsCommand,
		Long: `Look at sessions. A session is a series of turns, each a recall and its feedback. It
belongs to the subject that first used it. Its windows don't see each other's turns, but
turn numbers continue from one window to the next.`,
	}
	c.AddCommand(sessionListCommand(a), sessionResetCommand(a), sessionResumeCommand(a), sessionShowCommand(a))
	return c
}

func sessionListCommand(a *App) *cobra.Command {
	in := &operation.SessionList{}
	c := &cobra.Command{
		Use: "list", Short: "List sessions, by name",
		Long:    `List sessions, by name: your own or, with the scope operate, the sessions of every subject.`,
		Example: "  reflectory session list --namespace team --subtree\n  reflectory session list --owner anna --text mail",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			page, err := do[operation.Page[memory.Session]](c.Context(), a, "session_list", in)
			if err != nil || a.out.json {
				return a.out.jsonOr(page, err)
			}
			rows := make([][]string, len(page.Items))
			for i, s := range page.Items {
				rows[i] = []string{s.Session, cell(s.Owner), cell(s.Namespace), fmt.Sprintf("%d of %d", s.Window, s.Windows), fmt.Sprintf("%.2f", s.Bias), fmt.Sprint(s.NextTurn)}
			}
			if err := a.out.table([]string{"SESSION", "OWNER", "NAMESPACE", "WINDOW", "BIAS", "NEXT TURN"}, rows); err != nil {
				return err
			}
			a.out.hintNext(page.NextPageToken)
			return nil
		},
	}
	c.Flags().StringVar(&in.Namespace, "namespace", "", "the namespace in which the sessions began (default: every namespace)")
	c.Flags().BoolVar(&in.Subtree, "subtree", false, "also the namespaces below it")
	c.Flags().StringVar(&in.Owner, "owner", "", "the subject that the sessions belong to")
	c.Flags().StringVar(&in.Text, "text", "", "a part of the sessions' names")
	pagingFlags(c, &in.Paging)
	return c
}

func sessionResetCommand(a *App) *cobra.Command {
	return &cobra.Command{
		Use: "reset SESSION", Short: "Open a new window, which sees nothing of the earlier turns",
		Example: "  reflectory session reset monday",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := do[memory.Session](c.Context(), a, "session_reset", &operation.SessionReset{Session: args[0]})
			return printWindow(a, s, err)
		},
	}
}

func sessionResumeCommand(a *App) *cobra.Command {
	in := &operation.SessionResume{}
	c := &cobra.Command{
		Use: "resume SESSION", Short: "Go back to an earlier window",
		Example: "  reflectory session resume monday --window 1",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			in.Session = args[0]
			s, err := do[memory.Session](c.Context(), a, "session_resume", in)
			return printWindow(a, s, err)
		},
	}
	c.Flags().Int64Var(&in.Window, "window", 0, "the window to go back to (default: the one before)")
	return c
}

// printWindow prints a session's current window.
func printWindow(a *App, s *memory.Session, err error) error {
	if err != nil {
		return err
	}
	return a.out.printResult(s, "session %s is in window %d of %d, with bias %.2f (%s); its next turn is %d", oneLine(s.Session), s.Window, s.Windows, s.Bias, operation.TermFor("bias").Word, s.NextTurn)
}

func sessionShowCommand(a *App) *cobra.Command {
	in := &operation.SessionGet{}
	c := &cobra.Command{
		Use: "show SESSION", Short: "Show how a session's turns went, the oldest first",
		Example: "  reflectory session show monday",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			in.Session = args[0]
			s, err := do[operation.Session](c.Context(), a, "session_get", in)
			if err != nil || a.out.json {
				return a.out.jsonOr(s, err)
			}
			fmt.Fprintf(a.out.Stdout, "session    %s\nowner      %s\nnamespace  %s\nwindow     %d of %d\nbias       %.2f (%s)\nnext turn  %d\nfeedbacks  %d\n\n",
				oneLine(s.Session.Session), oneLine(s.Owner), oneLine(s.Namespace), s.Window, s.Windows, s.Bias, operation.TermFor("bias").Word, s.NextTurn, s.Feedbacks)
			rows := make([][]string, len(s.Items))
			for i, t := range s.Items {
				outcome := ""
				if t.Feedback != nil {
					outcome = string(t.Feedback.Outcome)
				}
				about := ""
				if t.Reflection != nil {
					about = cmp.Or(t.Reflection.Summary, string(t.Reflection.FailureClass))
				}
				rows[i] = []string{fmt.Sprint(t.Turn), fmt.Sprint(t.Window), cell(t.Namespace), cell(t.Query), fmt.Sprint(len(t.Memories)), outcome, cell(about)}
			}
			if err := a.out.table([]string{"TURN", "WINDOW", "NAMESPACE", "QUERY", "OFFERED", "OUTCOME", "ABOUT"}, rows); err != nil {
				return err
			}
			a.out.hintNext(s.NextPageToken)
			return nil
		},
	}
	pagingFlags(c, &in.Paging)
	return c
}
