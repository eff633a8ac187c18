package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory"
)

func memoryLineageCommand(a *App) *cobra.Command {
	in := &operation.MemoryLineage{}
	c := verb[memory.Lineage]{
		Use: "lineage ID", Short: "Show what a memory was derived from, and what was derived from it",
		Long: `Show what a memory was derived from, and what was derived from it, nearest first. A
positive distance leads to its sources, a negative one to what was derived from it.`,
		Example:   "  reflectory memory lineage deploy-notes",
		Operation: "memory_lineage", In: in, Args: []*string{&in.ID},
		Print: func(out *output, l *memory.Lineage) error {
			if l.Truncated {
				out.term.Line("not everything is shown: at most %d memories, up to %d links away", memory.MaxLineageNodes, memory.MaxLineageDepth)
			}
			return printRows(out, []string{"DISTANCE", "MEMORY", "NAMESPACE", "KIND", "STATE", "TITLE"}, l.Nodes, func(n memory.LineageNode) []string {
				return []string{fmt.Sprintf("%+d", n.Distance), n.ID, cell(n.Namespace), string(n.Kind), string(n.State), cell(n.Title)}
			})
		},
	}.command(a)
	c.Flags().IntVar(&in.Depth, "depth", 0, fmt.Sprintf("how many links to follow, 1 to %d (default %[1]d)", memory.MaxLineageDepth))
	return c
}

func memoryHistoryCommand(a *App) *cobra.Command {
	in := &operation.MemoryHistory{}
	return verb[operation.Page[journal.Entry]]{
		Use: "history ID", Short: "List what happened to a memory, the oldest first",
		Long:      "List the journal's entries about a memory, the oldest first, even if it was purged.\nEntries hold digests, never content.",
		Example:   "  reflectory memory history deploy-notes",
		Operation: "memory_history", In: in, Paging: &in.Paging, Args: []*string{&in.ID},
		Print: table("", entryColumns, entryRow),
	}.command(a)
}
