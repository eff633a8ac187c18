package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory"
)

func memoryLineageCommand(a *App) *cobra.Command {
	in := &operation.MemoryLineage{}
	c := &cobra.Command{
		Use: "lineage ID", Short: "Show what a memory was derived from, and what was derived from it",
		Long: `Show what a memory was derived from, and what was derived from it, nearest first. A
positive distance leads to its sources, a negative one to what was derived from it.`,
		Example: "  reflectory memory lineage deploy-notes",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			in.ID = args[0]
			l, err := do[memory.Lineage](c.Context(), a, "memory_lineage", in)
			if err != nil || a.out.json {
				return a.out.jsonOr(l, err)
			}
			rows := make([][]string, len(l.Nodes))
			for i, n := range l.Nodes {
				rows[i] = []string{fmt.Sprintf("%+d", n.Distance), n.ID, cell(n.Namespace), string(n.Kind), string(n.State), cell(n.Title)}
			}
			if err := a.out.table([]string{"DISTANCE", "MEMORY", "NAMESPACE", "KIND", "STATE", "TITLE"}, rows); err != nil {
				return err
			}
			if l.Truncated {
				a.out.term.Line("not everything is shown: at most %d memories, up to %d links away", memory.MaxLineageNodes, memory.MaxLineageDepth)
			}
			return nil
		},
	}
	c.Flags().IntVar(&in.Depth, "depth", 0, fmt.Sprintf("how many links to follow, 1 to %d (default %[1]d)", memory.MaxLineageDepth))
	return c
}

func memoryHistoryCommand(a *App) *cobra.Command {
	in := &operation.MemoryHistory{}
	c := &cobra.Command{
		Use: "history ID", Short: "List what happened to a memory, the oldest first",
		Long:    "List the journal's entries about a memory, the oldest first, even if it was purged.\nEntries hold digests, never content.",
		Example: "  reflectory memory history deploy-notes",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			in.ID = args[0]
			page, err := do[operation.Page[journal.Entry]](c.Context(), a, "memory_history", in)
			if err != nil || a.out.json {
				return a.out.jsonOr(page, err)
			}
			rows := make([][]string, len(page.Items))
			for i, e := range page.Items {
				rows[i] = []string{fmt.Sprint(e.Seq), term.Time(e.At), term.Clean(e.Type), cell(string(e.Data))}
			}
			if err := a.out.table([]string{"ENTRY", "AT", "TYPE", "DATA"}, rows); err != nil {
				return err
			}
			a.out.hintNext(page.NextPageToken)
			return nil
		},
	}
	pagingFlags(c, &in.Paging)
	return c
}
