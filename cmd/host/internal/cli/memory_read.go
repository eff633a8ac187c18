package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/sdk"
)

func memoryGetCommand(a *App) *cobra.Command {
	in := &operation.MemoryGet{}
	return verb[operation.Memory]{
		Use: "get ID", Short: "Show a whole memory",
		Example:   "  reflectory memory get deploy-notes --json",
		Operation: "memory_get", In: in, Args: []*string{&in.ID},
		Print: func(out *output, found *operation.Memory) error {
			return printMemory(out, found.Memory, slices.Concat(found.LinksFrom, found.LinksTo))
		},
	}.command(a)
}

func printMemory(out *output, m *core.Memory, links []core.Link) error {
	rows := [][2]string{
		{"memory", m.ID}, {"namespace", m.Namespace}, {"kind", string(m.Kind)}, {"state", string(m.State)},
		{"depth", fmt.Sprint(m.ReflectionDepth)}, {"agent", m.AgentID}, {"tags", strings.Join(m.Tags, ", ")},
		{"occurred", occurred(m)}, {"created", term.Time(m.CreatedAt)},
		{"uses", fmt.Sprintf("%d of %s: %s, %d partial, %s", m.Signals.Uses(), plural(int(m.Signals.RelevantTurns), "recall", "recalls"),
			plural(int(m.Signals.Successes), "success", "successes"), m.Signals.Partials, plural(int(m.Signals.Failures), "failure", "failures"))},
		{"helps", fmt.Sprintf("%.3f: %s", m.Signals.TTLScore, operation.TermFor("ttl_score").Label())}, {"title", m.Title},
	}
	for _, row := range rows {
		if row[1] != "" {
			fmt.Fprintf(out.Stdout, "%-10s %s\n", row[0], term.Clean(row[1]))
		}
	}
	for _, l := range links {
		fmt.Fprintf(out.Stdout, "%-10s %s %s %s\n", "link", term.Clean(l.From), l.Relation, term.Clean(l.To))
	}
	return out.say("\n%s", term.Lines(m.Content))
}

// occurred is when the event that a memory describes happened, in the time zone of all
// other times.
func occurred(m *core.Memory) string {
	if m.OccurredAt == nil {
		return ""
	}
	return term.Time(*m.OccurredAt)
}

func memoryListCommand(a *App) *cobra.Command {
	in := &operation.MemoryList{}
	f := &core.RecallFilter{}
	c := verb[operation.Memories]{
		Use: "list", Short: "List memories, the newest first",
		Example:   "  reflectory memory list --namespace team/mail --state cooling",
		Operation: "memory_list", In: in, Paging: &in.Paging, Namespace: &f.Namespace,
		Prepare: func(*cobra.Command, []string) error {
			in.Namespace, in.Subtree, in.Kinds, in.States, in.Tags, in.AgentID = f.Namespace, f.Subtree, f.Kinds, f.States, f.Tags, f.AgentID
			return nil
		},
		Print: func(out *output, page *operation.Memories) error { return printMemories(out, page, in) },
	}.command(a)
	filterFlags(c, f)
	sinceFlag(c, &in.Since, "memories")
	return c
}

// pagingFlags are the flags of every list.
func pagingFlags(c *cobra.Command, p *operation.Paging) {
	c.Flags().IntVar(&p.Limit, "limit", 0, fmt.Sprintf("how many at most, up to %d (default %d)", operation.MaxLimit, operation.DefaultLimit))
	c.Flags().StringVar(&p.PageToken, "page-token", "", "continue after an earlier page: its `next_page_token`")
}

func printMemories(out *output, page *operation.Memories, in *operation.MemoryList) error {
	none := nothingIn("no such memories", in.Namespace, in.Subtree)
	if err := printTable(out, &page.Page, none, []string{"MEMORY", "NAMESPACE", "KIND", "STATE", "DEPTH", "USED", "TITLE"}, func(m *core.Memory) []string {
		return []string{m.ID, cell(m.Namespace), string(m.Kind), string(m.State), fmt.Sprint(m.ReflectionDepth),
			fmt.Sprintf("%d/%d", m.Signals.Uses(), m.Signals.RelevantTurns), cell(m.Title)}
	}); err != nil {
		return err
	}
	if len(page.Items) == 0 && page.NextPageToken == "" {
		hintElsewhere(out, page.Namespaces)
	}
	return nil
}

// hintNext shows how to get the next page of a list.
func (out *output) hintNext(next string) {
	if next != "" {
		out.term.Line("hint: there are more: --page-token %s", next)
	}
}

// nothingIn says that nothing was found in a namespace.
func nothingIn(what, namespace string, subtree bool) string {
	switch {
	case subtree && namespace == "":
		return what + " in any namespace"
	case subtree:
		return what + " in " + term.Clean(namespace) + " and below"
	}
	return what + " in " + term.Clean(namespace)
}

func memoryRecallCommand(a *App) *cobra.Command {
	r := &core.RecallRequest{}
	queries := ""
	recall := verb[operation.Recalled]{
		Operation: "memory_recall", In: r, Args: []*string{&r.Query},
		Print: func(out *output, result *operation.Recalled) error { return printRecall(out, r, result) },
	}
	c := &cobra.Command{
		Use: "recall [QUERY]", Short: "Find the memories that match a text best",
		Long: `Find the memories that match a text best, by meaning, by words, and by how well they did
before. The tool retrieve and the operation memory_recall are the same as this command.
Memories that failed rank lower, superseded memories are left out, and of
identical contents only the most used is shown. Each has a p, which is how probably it is
relevant; where nothing is, the nearest two are shown. With --session, the recall begins the
session's next turn and prints its number, or belongs to the turn in --turn. Then memory
feedback says how the turn went, and the turn counts as a use or a miss of each memory.
Without a session, recall only reads.
With --queries, each line of a JSON Lines file is a recall, {"query", "namespace"?,
"session"?, "turn"?, "limit"?, …}, and each result is a line of JSON. With --json, the
output is one value, {"results"}; if a recall fails, it has the results so far and an
error.`,
		Example: `  reflectory memory recall --namespace team/mail "whose name comes first?"
  reflectory memory recall --session mail --namespace team/mail "whose name comes first?"
  reflectory memory recall --namespace team/mail --queries queries.jsonl`,
		RunE: func(c *cobra.Command, args []string) error {
			r.Namespace = a.orConfigured(c, r.Namespace)
			if err := checkRecallArgs(c, args); err != nil {
				return err
			}
			if c.Flags().Changed("queries") {
				return recallFile(a, c, queries, r)
			}
			return recall.run(a, c, args)
		},
	}
	filterFlags(c, &r.RecallFilter)
	c.Flags().StringVar(&r.Session, "session", "", "the session of the turn")
	c.Flags().Int64Var(&r.Turn, "turn", 0, "the session's current turn or a later one (default: the next)")
	c.Flags().IntVar(&r.Limit, "limit", 0, "how many at most (default: about 5, depending on the session's bias)")
	c.Flags().Float64Var(&r.MinScore, "min-score", 0, "leave out memories with a lower score")
	optional(c, &r.MinP, "min-p", "the lowest p of a relevant memory, 0 to 1 (default: the namespace's settings)")
	c.Flags().BoolVar(&r.IncludeSuperseded, "include-superseded", false, "include superseded memories")
	timeFlag(c, &r.From, "from", "leave out what happened before this")
	timeFlag(c, &r.To, "to", "leave out what happened at or after this")
	timeFlag(c, &r.AsOf, "as-of", "search what was known, and not superseded, at this")
	c.Flags().StringVar(&queries, "queries", "", "recall for each line of a JSON Lines `file`, or - for standard input")
	return c
}

// checkRecallArgs refuses a command line without exactly one query, or a file of queries.
func checkRecallArgs(c *cobra.Command, args []string) error {
	switch inFile := c.Flags().Changed("queries"); {
	case inFile && len(args) > 0:
		return usageError{sdk.Errorf(sdk.Invalid, "usage", "a QUERY can't be given with --queries: each line has its own")}
	case inFile:
		return nil
	case len(args) == 0:
		return usageError{sdk.Errorf(sdk.Invalid, "usage", "recall needs a QUERY, or --queries")}
	case c.Flags().Changed("turn") && !c.Flags().Changed("session"):
		return usageError{sdk.Errorf(sdk.Invalid, "usage", "--turn needs --session, the session of the turn")}
	}
	return nil
}

func printRecall(out *output, r *core.RecallRequest, result *operation.Recalled) error {
	if result.EmbeddingFailure != "" {
		out.term.Line("warn: found by words alone: %s", oneLine(result.EmbeddingFailure))
	}
	if result.NothingRelevant && len(result.Memories) > 0 {
		out.term.Line("%s; the nearest:", nothingIn("nothing relevant", r.Namespace, r.Subtree))
	}
	for i := range result.Memories {
		printRecalled(out, &result.Memories[i])
	}
	if len(result.Memories) == 0 {
		out.term.Line("%s", nothingIn("nothing fits", r.Namespace, r.Subtree))
		hintElsewhere(out, result.Namespaces)
	}
	if r.Session != "" && r.Turn == 0 {
		out.term.Line("turn %d of session %s", result.Turn, term.Clean(result.Session))
	}
	return nil
}

// printRecalled prints a recalled memory and why it was found.
func printRecalled(out *output, r *core.Recalled) {
	name := cmp.Or(r.Handle, strconv.Itoa(r.Rank+1))
	fmt.Fprintf(out.Stdout, "%-2s %s %.2f  %s\n   %s\n", name, term.Bar(r.Score), r.Score, r.ID, out.preview(3, r.Title))
	if r.Content != r.Title {
		fmt.Fprintf(out.Stdout, "   %s\n", out.preview(3, r.Content))
	}
	why := []string{fmt.Sprintf("p %.2f", r.P), fmt.Sprintf("%s %.2f", operation.TermFor("q").Label(), r.Why.Q)}
	if r.Why.Similarity != nil {
		why = append(why, fmt.Sprintf("similarity %.2f", *r.Why.Similarity))
	}
	if r.Why.LexicalRank > 0 {
		why = append(why, fmt.Sprintf("by words number %d", r.Why.LexicalRank))
	}
	if r.Why.DepthBoost != 1 {
		why = append(why, fmt.Sprintf("depth %d ×%.2f", r.ReflectionDepth, r.Why.DepthBoost))
	}
	if r.FailureRate != nil && r.Why.FailureFactor != 1 {
		why = append(why, fmt.Sprintf("%.0f %% of uses failed ×%.2f", 100**r.FailureRate, r.Why.FailureFactor))
	}
	if r.Why.UseFactor < 1 {
		why = append(why, fmt.Sprintf("passed over lately ×%.2f", r.Why.UseFactor))
	}
	fmt.Fprintf(out.Stdout, "   %s\n", out.term.Faint(strings.Join(why, ", ")))
	for _, other := range []struct {
		how string
		ids []string
	}{
		{"superseded by", r.SupersededBy}, {"contradicted by", r.ContradictedBy}, {"the same as", r.SameAs},
	} {
		if len(other.ids) > 0 {
			fmt.Fprintf(out.Stdout, "   %s %s\n", other.how, out.preview(4+len(other.how), strings.Join(other.ids, ", ")))
		}
	}
	if r.Archived {
		fmt.Fprintln(out.Stdout, "   from the archive: no memory in use answers")
	}
	if r.KnowledgeID != "" {
		fmt.Fprintf(out.Stdout, "   became knowledge %s\n", r.KnowledgeID)
	}
}

func memoryExplainCommand(a *App) *cobra.Command {
	in := &operation.MemoryExplain{}
	return verb[memory.Explanation]{
		Use: "explain ID", Short: "Say why a memory is in its state",
		Long: `Say why a memory is in its state, and whether it is known to help: its signals, its
links, the decisions of the gate, and what happened to it, from the journal of its namespace.`,
		Example:   "  reflectory memory explain deploy-notes",
		Operation: "memory_explain", In: in, Args: []*string{&in.ID},
		Print: printMemoryWhy,
	}.command(a)
}

// helpAnswers are the answers to whether a memory helps.
var helpAnswers = map[string]string{memory.HelpShown: "Yes", memory.HelpNone: "No", memory.HelpUnknown: "Can't tell yet"}

func printMemoryWhy(out *output, e *memory.Explanation) error {
	out.lines("           ", "memory     %s\nnamespace  %s\nstate      %s, at turn %d\n", e.ID, term.Clean(e.Namespace), e.State, e.Turn)
	if e.Help != nil {
		out.lines("           ", "helps?     %s. %s.\n", helpAnswers[e.Help.Answer], e.Help.Text)
	}
	for _, line := range e.Why {
		out.lines("  ", "%s", term.Clean(operation.InWords(line)))
	}
	for _, l := range slices.Concat(e.LinksFrom, e.LinksTo) {
		out.lines("  ", "link: %s %s %s", l.From, l.Relation, l.To)
	}
	if len(e.History) > 0 {
		fmt.Fprintln(out.Stdout)
	}
	for _, entry := range e.History {
		fmt.Fprintf(out.Stdout, "%s  %s\n", term.Time(entry.At), entry.Type)
	}
	for _, d := range e.Decisions {
		out.lines("  ", "decision %s: %s, confidence %.2f: %s", d.ID, d.NextAction, d.Confidence, term.Clean(d.Reason))
	}
	return nil
}
