package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory"
)

func (a *App) knowledgeCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "knowledge", Short: "Look at what the gate promoted", RunE: needsCommand,
		Long: `Look at what the gate promoted. Knowledge is long-term: an entry comes into being
only by a decision of the gate on a memory, and doesn't change, but a later one may
supersede it.`,
	}
	c.AddCommand(a.knowledgeListCommand(), a.knowledgeGetCommand(), a.knowledgeRecallCommand())
	return c
}

func (a *App) knowledgeListCommand() *cobra.Command {
	var f memory.KnowledgeFilter
	c := &cobra.Command{
		Use: "list", Short: "List knowledge, the newest first",
		Example: "  reflectory knowledge list --namespace team/mail",
		RunE: func(c *cobra.Command, _ []string) error {
			f.Namespace = a.orConfigured(c, f.Namespace)
			return a.withMemory(c.Context(), func(m *memoryHost) error {
				list, next, err := m.ListKnowledge(c.Context(), f)
				if err != nil {
					return err
				}
				return a.printKnowledge(list, next, f.Namespace)
			})
		},
	}
	c.Flags().StringVar(&f.Namespace, "namespace", "", "the namespace to look in (default: the configured one; see config show)")
	c.Flags().IntVar(&f.Limit, "limit", 0, "how many at most (default 100)")
	c.Flags().StringVar(&f.After, "after", "", "go on after what an earlier list ended with: its `next`")
	return c
}

func (a *App) printKnowledge(list []*core.Knowledge, next, namespace string) error {
	if a.flags.json {
		return a.printJSON(struct {
			Knowledge []*core.Knowledge `json:"knowledge"`
			Next      string            `json:"next,omitempty"`
		}{orEmpty(list), next})
	}
	if len(list) == 0 {
		a.nothingIn("no knowledge", namespace, false)
		return nil
	}
	rows := make([][]string, len(list))
	for i, k := range list {
		rows[i] = []string{k.ID, cell(k.Namespace), term.Time(k.CreatedAt), cell(k.Title)}
	}
	if err := a.table([]string{"KNOWLEDGE", "NAMESPACE", "PROMOTED", "TITLE"}, rows); err != nil {
		return err
	}
	a.hintNext(next)
	return nil
}

func (a *App) knowledgeGetCommand() *cobra.Command {
	return &cobra.Command{
		Use: "get ID", Short: "Show an entry whole",
		Example: "  reflectory knowledge get 01939f2c",
		Args:    cobra.ExactArgs(1),
		RunE: a.onMemory(func(ctx context.Context, m *memoryHost, args []string) error {
			k, err := m.FindKnowledge(ctx, args[0])
			if err != nil {
				return err
			}
			if a.flags.json {
				return a.printJSON(k)
			}
			fmt.Fprintf(a.Stdout, "knowledge  %s\nnamespace  %s\nfrom       %s, decision %s\ntitle      %s\nsummary    %s\n\n",
				k.ID, oneLine(k.Namespace), k.PromotedFrom, k.DecisionID, oneLine(k.Title), oneLine(k.Summary))
			return a.say("%s", term.Lines(k.Content))
		}),
	}
}

func (a *App) knowledgeRecallCommand() *cobra.Command {
	q := &memory.KnowledgeQuery{}
	c := &cobra.Command{
		Use: "recall QUERY", Short: "Find the knowledge that fits a text best",
		Example: `  reflectory knowledge recall --namespace team/mail "whose name comes first?"`,
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			q.Namespace, q.Query = a.orConfigured(c, q.Namespace), args[0]
			return a.withMemory(c.Context(), func(m *memoryHost) error {
				found, err := m.RecallKnowledge(c.Context(), q)
				if err != nil {
					return err
				}
				if a.flags.json {
					return a.printJSON(map[string]any{"knowledge": orEmpty(found)})
				}
				for _, k := range found {
					fmt.Fprintf(a.Stdout, "%s %.2f  %s\n   %s\n   %s\n", term.Bar(k.Score), k.Score, k.Knowledge.ID,
						a.preview(3, k.Knowledge.Title), a.preview(3, k.Knowledge.Summary))
				}
				if len(found) == 0 {
					a.nothingIn("nothing fits", q.Namespace, q.Subtree)
				}
				return nil
			})
		},
	}
	c.Flags().StringVar(&q.Namespace, "namespace", "", "the namespace to look in (default: the configured one; see config show)")
	c.Flags().BoolVar(&q.Subtree, "subtree", false, "look in the namespaces below as well")
	c.Flags().IntVar(&q.Limit, "limit", 0, "how many at most (default 5)")
	return c
}
