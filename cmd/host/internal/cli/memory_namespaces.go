package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core/memory"
)

// maxElsewhere is how many namespaces an empty answer names.
const maxElsewhere = 10

func (a *App) memoryNamespacesCommand() *cobra.Command {
	return &cobra.Command{
		Use: "namespaces", Short: "List the namespaces that hold memories",
		Example: "  reflectory memory namespaces",
		Args:    cobra.NoArgs,
		RunE: a.onMemory(func(ctx context.Context, m *memoryHost, _ []string) error {
			list, err := m.Namespaces(ctx)
			if err != nil {
				return err
			}
			if a.flags.json {
				return a.printJSON(map[string]any{"namespaces": orEmpty(list)})
			}
			if len(list) == 0 {
				a.term.Line("no namespace holds memories yet: store one with: reflectory memory observe")
				return nil
			}
			rows := make([][]string, len(list))
			for i, c := range list {
				rows[i] = []string{cell(c.Namespace), fmt.Sprint(c.Memories), fmt.Sprint(c.Bytes)}
			}
			return a.table([]string{"NAMESPACE", "MEMORIES", "BYTES"}, rows)
		}),
	}
}

// elsewhere are the namespaces with the most memories, for an answer that found
// none.
func elsewhere(ctx context.Context, m *memoryHost) ([]memory.NamespaceCount, error) {
	list, err := m.Namespaces(ctx)
	slices.SortStableFunc(list, func(a, b memory.NamespaceCount) int { return cmp.Compare(b.Memories, a.Memories) })
	return list[:min(len(list), maxElsewhere)], err
}

// hintElsewhere says where memories are.
func (a *App) hintElsewhere(list []memory.NamespaceCount) {
	if len(list) == 0 {
		a.term.Line("hint: there are no memories at all yet: store one with: reflectory memory observe")
		return
	}
	names := make([]string, len(list))
	for i, c := range list {
		names[i] = fmt.Sprintf("%s (%d)", oneLine(c.Namespace), c.Memories)
	}
	a.term.Line("hint: memories are in %s: give --namespace, or see: reflectory memory namespaces", term.Clean(strings.Join(names, ", ")))
}
