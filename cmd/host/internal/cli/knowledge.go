package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/memory"
)

func knowledgeCommand(a *App) *cobra.Command {
	return noun("knowledge", "Look at what the gate promoted", `Look at what the gate promoted. Knowledge is long-term: an entry is created
only by a decision of the gate on a memory, and never changes, but a later entry may
supersede it.`,
		knowledgeListCommand(a), knowledgeGetCommand(a), knowledgeRecallCommand(a), knowledgeSupersedeCommand(a),
	)
}

func knowledgeListCommand(a *App) *cobra.Command {
	in := &operation.KnowledgeList{}
	c := verb[operation.Page[*core.Knowledge]]{
		Use: "list", Short: "List knowledge, the newest first",
		Example:   "  reflectory knowledge list --namespace team/a",
		Operation: "knowledge_list", In: in, Paging: &in.Paging, Namespace: &in.Namespace,
		Print: func(out *output, page *operation.Page[*core.Knowledge]) error {
			none := nothingIn("no knowledge", in.Namespace, false)
			return printTable(out, page, none, []string{"KNOWLEDGE", "NAMESPACE", "PROMOTED", "TITLE"}, func(k *core.Knowledge) []string {
				return []string{k.ID, cell(k.Namespace), term.Time(k.CreatedAt), cell(k.Title)}
			})
		},
	}.command(a)
	c.Flags().StringVar(&in.Namespace, "namespace", "", "the namespace to look in (default: the configured one; see config show)")
	sinceFlag(c, &in.Since, "entries")
	return c
}

func knowledgeGetCommand(a *App) *cobra.Command {
	in := &operation.KnowledgeGet{}
	return verb[core.Knowledge]{
		Use: "get ID", Short: "Show a whole entry",
		Example:   "  reflectory knowledge get 01939f43",
		Operation: "knowledge_get", In: in, Args: []*string{&in.ID},
		Print: func(out *output, k *core.Knowledge) error {
			fmt.Fprintf(out.Stdout, "knowledge  %s\nnamespace  %s\nfrom       %s, decision %s\ntitle      %s\nsummary    %s\n\n",
				k.ID, oneLine(k.Namespace), k.PromotedFrom, k.DecisionID, oneLine(k.Title), oneLine(k.Summary))
			if k.DemotedBy != "" {
				fmt.Fprintf(out.Stdout, "demoted by decision %s\n\n", k.DemotedBy)
			}
			return out.say("%s", term.Lines(k.Content))
		},
	}.command(a)
}

func knowledgeRecallCommand(a *App) *cobra.Command {
	q := &memory.KnowledgeQuery{}
	c := verb[operation.KnowledgeRecalled]{
		Use: "recall QUERY", Short: "Find the knowledge that matches a text best",
		Example:   `  reflectory knowledge recall --namespace team/a "how is a release deployed?"`,
		Operation: "knowledge_recall", In: q, Args: []*string{&q.Query}, Namespace: &q.Namespace,
		Print: func(out *output, found *operation.KnowledgeRecalled) error {
			for _, k := range found.Knowledge {
				fmt.Fprintf(out.Stdout, "%s %.2f  %s\n   %s\n   %s\n", term.Bar(k.Score), k.Score, k.Knowledge.ID,
					out.preview(3, k.Knowledge.Title), out.preview(3, k.Knowledge.Summary))
			}
			if len(found.Knowledge) == 0 {
				out.term.Line("%s", nothingIn("nothing fits", q.Namespace, q.Subtree))
			}
			return nil
		},
	}.command(a)
	c.Flags().StringVar(&q.Namespace, "namespace", "", "the namespace to look in (default: the configured one; see config show)")
	c.Flags().BoolVar(&q.Subtree, "subtree", false, "look in the namespaces below as well")
	c.Flags().IntVar(&q.Limit, "limit", 0, "how many at most (default 5)")
	return c
}
