package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/memory"
)

func memoryFeedbackCommand(a *App) *cobra.Command {
	r, reply := &core.FeedbackRequest{}, ""
	c := verb[core.FeedbackResult]{
		Use: "feedback", Short: "Say how a turn went, and which memories it used",
		Long: `Report how a turn went (the turn that a recall with the same --session and --turn
began), and which of its memories were used: with --used, or with the reply, which shows
them. A memory that was returned but not used
counts as a miss. A turn has one feedback: a second one changes nothing and shows the
first, unless its source is better: user is better than tool, tool is better than
text, and text is better than inferred. In that case, the turn's credit is withdrawn and assigned again.`,
		Example:   "  reflectory memory feedback --session s1 --turn 1 --outcome success --used build-notes",
		Operation: "memory_feedback", In: r,
		Prepare: func(*cobra.Command, []string) error {
			if reply == "" {
				return nil
			}
			data, err := a.input.read(reply, memory.MaxReplyBytes)
			r.Reply = string(data)
			return err
		},
		Print: showFeedback,
	}.command(a)
	c.Flags().StringVar(&r.Session, "session", "", "the recall's session")
	c.Flags().Int64Var(&r.Turn, "turn", 0, "the recall's turn")
	c.Flags().StringVar((*string)(&r.Outcome), "outcome", "", "success, failure or partial")
	c.Flags().StringArrayVar(&r.Used, "used", nil, "the `ID` of a memory that was used, or its name in the turn, such as m1; may be repeated")
	c.Flags().StringVar(&reply, "reply-file", "", "a `FILE` with what the turn produced, or - for standard input: it shows\nwhich memories were used if none is named")
	c.Flags().StringVar((*string)(&r.FailureClass), "failure-class", "", "what failed: tool_error, policy_error, timeout, permission, invalid_output,\nwrong_answer or other (default tool_error or other)")
	c.Flags().StringVar(&r.CorrectiveAction, "corrective-action", "", "what was or should be done about it")
	c.Flags().StringVar(&r.NextTurnHint, "next-turn-hint", "", "what the prompt of the session's next turn should say")
	c.Flags().StringVar(&r.Summary, "summary", "", "what the prompts of later turns should say about this one")
	c.Flags().StringVar(&r.Source, "source", "", "the source of the outcome: user, tool, text or inferred (default text)")
	required(c, "session")
	required(c, "turn")
	required(c, "outcome")
	return c
}

func showFeedback(out *output, result *core.FeedbackResult) error {
	if result.Duplicate {
		out.term.Line("turn %d of session %s already had its feedback; this is what it did", result.Turn, term.Clean(result.Session))
	}
	if err := printRows(out, []string{"MEMORY", "USED", heading("q"), heading("ttl_score"), "BEFORE", "AFTER"}, result.Items, func(item core.FeedbackItem) []string {
		used := fmt.Sprint(item.Used)
		if item.Inferred > 0 {
			used = "inferred"
		}
		return []string{item.ID, used, fmt.Sprintf("%.2f", item.Q), fmt.Sprintf("%.3f", item.TTLScore), string(item.Before), string(item.After)}
	}); err != nil {
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
	in := &operation.MemoryRestore{}
	return verb[core.Memory]{
		Use: "restore ID", Short: "Make an archived or consolidated memory active again",
		Example:   "  reflectory memory restore keys-1",
		Operation: "memory_restore", In: in, Args: []*string{&in.ID},
		Print: func(out *output, restored *core.Memory) error {
			return out.say("%s is %s", restored.ID, restored.State)
		},
	}.command(a)
}

func memorySweepCommand(a *App) *cobra.Command {
	in := &operation.MemorySweep{}
	return verb[memory.SweepResult]{
		Use: "sweep NAMESPACE", Short: "Have the retention policy evaluate every memory of a namespace",
		Example:   "  reflectory memory sweep team/mail",
		Operation: "memory_sweep", In: in, Args: []*string{&in.Namespace}, Doing: "evaluating the memories …",
		Print: showSweep,
	}.command(a)
}

func showSweep(out *output, result *memory.SweepResult) error {
	out.term.Line("%s evaluated, %d changed, at turn %d", plural(result.Evaluated, "memory", "memories"), result.Changed, result.Turn)
	for _, state := range core.MemoryStates() {
		if n := result.Transitions[state]; n > 0 {
			out.term.Line("%d became %s", n, state)
		}
	}
	for _, next := range []string{verdict.NextRetain, verdict.NextPromote, verdict.NextDemote, verdict.NextPurge} {
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
	return nil
}
