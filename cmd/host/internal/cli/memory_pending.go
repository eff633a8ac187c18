package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
)

func (a *App) memoryPendingCommand() *cobra.Command {
	var namespace string
	c := &cobra.Command{
		Use: "pending", Short: "List the reflections that wait for an approval",
		Example: "  reflectory memory pending --namespace team/mail",
		RunE: a.onMemory(func(ctx context.Context, m *memoryHost, _ []string) error {
			list, err := m.Pending(ctx, namespace)
			if err != nil {
				return err
			}
			if a.flags.json {
				return a.printJSON(map[string]any{"pending": orEmpty(list)})
			}
			if len(list) == 0 {
				a.term.Line("nothing waits")
				return nil
			}
			rows := make([][]string, len(list))
			for i, p := range list {
				rows[i] = []string{p.ID, cell(p.Namespace), fmt.Sprint(p.Depth), cell(p.AgentID), cell(p.Request.Title)}
			}
			return a.table([]string{"PENDING", "NAMESPACE", "DEPTH", "AGENT", "TITLE"}, rows)
		}),
	}
	c.Flags().StringVar(&namespace, "namespace", "", "only those of this namespace")
	return c
}

func (a *App) memoryApproveCommand() *cobra.Command {
	return &cobra.Command{
		Use: "approve PENDING", Short: "Approve a reflection that waits: it is checked again, and written",
		Example: "  reflectory memory approve 01939f33",
		Args:    cobra.ExactArgs(1),
		RunE: a.onMemory(func(ctx context.Context, m *memoryHost, args []string) error {
			result, err := m.Approve(ctx, args[0])
			if err != nil {
				return err
			}
			return a.printResult(result, "%s", result.ID)
		}),
	}
}

func (a *App) memoryRejectCommand() *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use: "reject PENDING", Short: "Reject a reflection that waits",
		Example: `  reflectory memory reject 01939f34 --reason "too far from its sources"`,
		Args:    cobra.ExactArgs(1),
		RunE: a.onMemory(func(ctx context.Context, m *memoryHost, args []string) error {
			p, err := m.Reject(ctx, args[0], reason)
			if err != nil {
				return err
			}
			return a.printResult(p, "%s is rejected", p.ID)
		}),
	}
	c.Flags().StringVar(&reason, "reason", "", "why; the journal keeps its digest")
	return c
}
