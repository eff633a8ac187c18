package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/memory"
)

func memoryNamespacesCommand(a *App) *cobra.Command {
	return &cobra.Command{
		Use: "namespaces", Short: "List the namespaces that hold memories",
		Example: "  reflectory memory namespaces",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			page, err := do[operation.Page[memory.NamespaceCount]](c.Context(), a, "memory_namespaces", &operation.MemoryNamespaces{})
			if err != nil {
				return err
			}
			if a.out.json {
				return a.out.printJSON(page)
			}
			if len(page.Items) == 0 {
				a.out.term.Line("no namespace holds memories yet: store one with: reflectory memory observe")
				return nil
			}
			rows := make([][]string, len(page.Items))
			for i, n := range page.Items {
				rows[i] = []string{cell(n.Namespace), fmt.Sprint(n.Memories), fmt.Sprint(n.Bytes)}
			}
			return a.out.table([]string{"NAMESPACE", "MEMORIES", "BYTES"}, rows)
		},
	}
}

// hintElsewhere lists the namespaces that have memories.
func hintElsewhere(out *output, list []memory.NamespaceCount) {
	if len(list) == 0 {
		out.term.Line("hint: there are no memories at all yet: store one with: reflectory memory observe")
		return
	}
	names := make([]string, len(list))
	for i, c := range list {
		names[i] = fmt.Sprintf("%s (%d)", oneLine(c.Namespace), c.Memories)
	}
	out.term.Line("hint: memories are in %s: give --namespace, or see: reflectory memory namespaces", term.Clean(strings.Join(names, ", ")))
}
