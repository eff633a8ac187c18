package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/memory"
)

func memoryFeedbackCommand(a *App) *cobra.Command {
	r := &core.FeedbackRequest{}
	var outcome string
	c := &cobra.Command{
		Use: "feedback", Short: "Say how a turn went, and which memories it used",
		Long: `Report how a turn went (the turn that a recall with the same --session and --turn
began), and which of its memories were used. A memory that was returned but not used
counts as a miss. A turn has one feedback: a second one changes nothing and shows the
first, unless its source is better: user is better than tool, and tool is better than
text. In that case, the turn's credit is withdrawn and assigned again.`,
		Example: "  reflectory memory feedback --session s1 --turn 1 --outcome success --used build-notes",
		RunE: func(c *cobra.Command, _ []string) error {
			r.Outcome = core.Outcome(outcome)
			return giveFeedback(c.Context(), a, r)
		},
	}
	c.Flags().StringVar(&r.Session, "session", "", "the recall's session")
	c.Flags().Int64Var(&r.Turn, "turn", 0, "the recall's turn")
	c.Flags().StringVar(&outcome, "outcome", "", "success, failure or partial")
	c.Flags().StringArrayVar(&r.Used, "used", nil, "the `ID` of a memory that was used; may be repeated")
	c.Flags().StringVar((*string)(&r.FailureClass), "failure-class", "", "what failed: tool_error, policy_error, timeout, permission, invalid_output,\nwrong_answer or other (default tool_error or other)")
	c.Flags().StringVar(&r.CorrectiveAction, "corrective-action", "", "what was or should be done about it")
	c.Flags().StringVar(&r.NextTurnHint, "next-turn-hint", "", "what the prompt of the session's next turn should say")
	c.Flags().StringVar(&r.Summary, "summary", "", "what the prompts of later turns should say about this one")
	c.Flags().StringVar(&r.Source, "source", "", "the source of the outcome: user, tool or text (default text)")
	required(c, "session")
	required(c, "turn")
	required(c, "outcome")
	return c
}

func giveFeedback(ctx context.Context, a *App, r *core.FeedbackRequest) error {
	result, err := do[core.FeedbackResult](ctx, a, "memory_feedback", r)
	if result == nil {
		return err
	}
	return showWith(err, func() error { return showFeedback(a.out, result) })
}

func showFeedback(out *output, result *core.FeedbackResult) error {
	if out.json {
		return out.printJSON(result)
	}
	if result.Duplicate {
		out.term.Line("turn %d of session %s already had its feedback; this is what it did", result.Turn, term.Clean(result.Session))
	}
	rows := make([][]string, len(result.Items))
	for i, item := range result.Items {
		rows[i] = []string{item.ID, fmt.Sprint(item.Used), fmt.Sprintf("%.2f", item.Q), fmt.Sprintf("%.3f", item.TTLScore),
			string(item.Before), string(item.After)}
	}
	if err := out.table([]string{"MEMORY", "USED", "Q", "TTL", "BEFORE", "AFTER"}, rows); err != nil {
		return err
	}
	for _, id := range result.Revalidate {
		out.term.Line("gate: asked about %s; what it decided: reflectory gate explain %s", id, id)
	}
	for i := range result.Purged {
		showGivenTo(out, &result.Purged[i])
	}
	return nil
}

func memoryRestoreCommand(a *App) *cobra.Command {
	return &cobra.Command{
		Use: "restore ID", Short: "Make an archived or consolidated memory active again",
		Example: "  reflectory memory restore keys-1",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			restored, err := do[core.Memory](c.Context(), a, "memory_restore", &operation.MemoryRestore{ID: args[0]})
			if err != nil {
				return err
			}
			return a.out.printResult(restored, "%s is %s", restored.ID, restored.State)
		},
	}
}

func memorySweepCommand(a *App) *cobra.Command {
	return &cobra.Command{
		Use: "sweep NAMESPACE", Short: "Have the retention policy evaluate every memory of a namespace",
		Example: "  reflectory memory sweep team/mail",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			a.out.term.Status("evaluating the memories …")
			result, err := do[memory.SweepResult](c.Context(), a, "memory_sweep", &operation.MemorySweep{Namespace: args[0]})
			if result == nil {
				return err
			}
			return showWith(err, func() error {
				if a.out.json {
					return a.out.printJSON(result)
				}
				showSweep(a.out, result)
				return nil
			})
		},
	}
}

func showSweep(out *output, result *memory.SweepResult) {
	out.term.Line("%s evaluated, %d changed, at turn %d", plural(result.Evaluated, "memory", "memories"), result.Changed, result.Turn)
	for _, state := range core.MemoryStates() {
		if n := result.Transitions[state]; n > 0 {
			out.term.Line("%d became %s", n, state)
		}
	}
	for _, next := range []string{core.NextRetain, core.NextPromote, core.NextPurge} {
		if n := result.Gated[next]; n > 0 {
			out.term.Line("gate: %s of %d", next, n)
		}
	}
	if n := len(result.Pending); n > 0 {
		out.term.Line("%d wait for the gate", n)
	}
	for i := range result.Purged {
		showGivenTo(out, &result.Purged[i])
	}
}
