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
	return verb[operation.Page[memory.NamespaceCount]]{
		Use: "namespaces", Short: "List the namespaces that hold memories",
		Example:   "  reflectory memory namespaces",
		Operation: "memory_namespaces", In: &operation.MemoryNamespaces{},
		Print: table("no namespace holds memories yet: store one with: reflectory memory observe", []string{"NAMESPACE", "MEMORIES", "BYTES"},
			func(n memory.NamespaceCount) []string {
				return []string{cell(n.Namespace), fmt.Sprint(n.Memories), fmt.Sprint(n.Bytes)}
			}),
	}.command(a)
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
