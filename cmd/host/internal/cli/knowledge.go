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
	c := &cobra.Command{
		Use: "knowledge", Short: "Look at what the gate promoted", RunE: needsCommand,
		Long: `Look at what the gate promoted. Knowledge is long-term: an entry is created
only by a decision of the gate on a memory, and never changes, but a later entry may
supersede it.`,
	}
	c.AddCommand(knowledgeListCommand(a), knowledgeGetCommand(a), knowledgeRecallCommand(a), knowledgeSupersedeCommand(a))
	return c
}

func knowledgeListCommand(a *App) *cobra.Command {
	f := &operation.KnowledgeList{}
	c := &cobra.Command{
		Use: "list", Short: "List knowledge, the newest first",
		Example: "  reflectory knowledge list --namespace team/a",
		RunE: func(c *cobra.Command, _ []string) error {
			f.Namespace = a.orConfigured(c, f.Namespace)
			page, err := do[operation.Page[*core.Knowledge]](c.Context(), a, "knowledge_list", f)
			if err != nil {
				return err
			}
			return printKnowledge(a.out, page, f.Namespace)
		},
	}
	c.Flags().StringVar(&f.Namespace, "namespace", "", "the namespace to look in (default: the configured one; see config show)")
	pagingFlags(c, &f.Paging)
	return c
}

func printKnowledge(out *output, page *operation.Page[*core.Knowledge], namespace string) error {
	if out.json {
		return out.printJSON(page)
	}
	list := page.Items
	if len(list) == 0 {
		out.nothingIn("no knowledge", namespace, false)
		return nil
	}
	rows := make([][]string, len(list))
	for i, k := range list {
		rows[i] = []string{k.ID, cell(k.Namespace), term.Time(k.CreatedAt), cell(k.Title)}
	}
	if err := out.table([]string{"KNOWLEDGE", "NAMESPACE", "PROMOTED", "TITLE"}, rows); err != nil {
		return err
	}
	out.hintNext(page.NextPageToken)
	return nil
}

func knowledgeGetCommand(a *App) *cobra.Command {
	return &cobra.Command{
		Use: "get ID", Short: "Show a whole entry",
		Example: "  reflectory knowledge get 01939f43",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			k, err := do[core.Knowledge](c.Context(), a, "knowledge_get", &operation.KnowledgeGet{ID: args[0]})
			if err != nil {
				return err
			}
			if a.out.json {
				return a.out.printJSON(k)
			}
			fmt.Fprintf(a.out.Stdout, "knowledge  %s\nnamespace  %s\nfrom       %s, decision %s\ntitle      %s\nsummary    %s\n\n",
				k.ID, oneLine(k.Namespace), k.PromotedFrom, k.DecisionID, oneLine(k.Title), oneLine(k.Summary))
			return a.out.say("%s", term.Lines(k.Content))
		},
	}
}

func knowledgeRecallCommand(a *App) *cobra.Command {
	q := &memory.KnowledgeQuery{}
	c := &cobra.Command{
		Use: "recall QUERY", Short: "Find the knowledge that matches a text best",
		Example: `  reflectory knowledge recall --namespace team/a "how is a release deployed?"`,
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			q.Namespace, q.Query = a.orConfigured(c, q.Namespace), args[0]
			found, err := do[operation.KnowledgeRecalled](c.Context(), a, "knowledge_recall", q)
			if err != nil {
				return err
			}
			if a.out.json {
				return a.out.printJSON(found)
			}
			for _, k := range found.Knowledge {
				fmt.Fprintf(a.out.Stdout, "%s %.2f  %s\n   %s\n   %s\n", term.Bar(k.Score), k.Score, k.Knowledge.ID,
					a.out.preview(3, k.Knowledge.Title), a.out.preview(3, k.Knowledge.Summary))
			}
			if len(found.Knowledge) == 0 {
				a.out.nothingIn("nothing fits", q.Namespace, q.Subtree)
			}
			return nil
		},
	}
	c.Flags().StringVar(&q.Namespace, "namespace", "", "the namespace to look in (default: the configured one; see config show)")
	c.Flags().BoolVar(&q.Subtree, "subtree", false, "look in the namespaces below as well")
	c.Flags().IntVar(&q.Limit, "limit", 0, "how many at most (default 5)")
	return c
}
