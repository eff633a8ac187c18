package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/core/host/operation"
)

func sessionCommand(a *App) *cobra.Command {
	c := &cobra.Command{
		Use: "session", Short: "Look at sessions of recalls and feedback", RunE: needsCommand,
		Long: "Look at sessions. A session is a series of turns, each a recall and its feedback.",
	}
	c.AddCommand(sessionShowCommand(a))
	return c
}

func sessionShowCommand(a *App) *cobra.Command {
	in := &operation.SessionGet{}
	c := &cobra.Command{
		Use: "show SESSION", Short: "Show how a session's turns have gone, the oldest first",
		Example: "  reflectory session show monday",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			in.Session = args[0]
			s, err := do[operation.Session](c.Context(), a, "session_get", in)
			if err != nil || a.out.json {
				return a.jsonOr(s, err)
			}
			fmt.Fprintf(a.out.Stdout, "session    %s\nbias       %.2f\nnext turn  %d\nfeedbacks  %d\n\n", oneLine(s.Session.Session), s.Bias, s.NextTurn, s.Feedbacks)
			rows := make([][]string, len(s.Items))
			for i, t := range s.Items {
				outcome := ""
				if t.Feedback != nil {
					outcome = string(t.Feedback.Outcome)
				}
				rows[i] = []string{fmt.Sprint(t.Turn), cell(t.Namespace), fmt.Sprint(len(t.Memories)), outcome}
			}
			if err := a.out.table([]string{"TURN", "NAMESPACE", "OFFERED", "OUTCOME"}, rows); err != nil {
				return err
			}
			a.out.hintNext(s.NextPageToken)
			return nil
		},
	}
	pagingFlags(c, &in.Paging)
	return c
}
