package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/memory"
)

func memoryPendingCommand(a *App) *cobra.Command {
	in := &operation.MemoryPending{}
	c := &cobra.Command{
		Use: "pending", Short: "List the reflections that wait for approval",
		Example: "  reflectory memory pending --namespace team/mail",
		RunE: func(c *cobra.Command, _ []string) error {
			page, err := do[operation.Page[*memory.Pending]](c.Context(), a, "memory_pending", in)
			if err != nil {
				return err
			}
			if a.out.json {
				return a.out.printJSON(page)
			}
			list := page.Items
			if len(list) == 0 {
				a.out.term.Line("nothing waits")
				return nil
			}
			rows := make([][]string, len(list))
			for i, p := range list {
				rows[i] = []string{p.ID, cell(p.Namespace), fmt.Sprint(p.Depth), cell(p.AgentID), cell(p.Request.Title)}
			}
			if err := a.out.table([]string{"PENDING", "NAMESPACE", "DEPTH", "AGENT", "TITLE"}, rows); err != nil {
				return err
			}
			a.out.hintNext(page.NextPageToken)
			return nil
		},
	}
	pagingFlags(c, &in.Paging)
	c.Flags().StringVar(&in.Namespace, "namespace", "", "only reflections of this namespace")
	return c
}

func memoryApproveCommand(a *App) *cobra.Command {
	return &cobra.Command{
		Use: "approve PENDING", Short: "Approve a pending reflection: it is checked again, and written",
		Example: "  reflectory memory approve 01939f33",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			result, err := do[core.ReflectResult](c.Context(), a, "memory_approve", &operation.MemoryApprove{ID: args[0]})
			if err != nil {
				return err
			}
			return a.out.printResult(result, "%s", result.ID)
		},
	}
}

func memoryRejectCommand(a *App) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use: "reject PENDING", Short: "Reject a pending reflection",
		Example: `  reflectory memory reject 01939f34 --reason "too far from its sources"`,
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			p, err := do[memory.Pending](c.Context(), a, "memory_reject", &operation.MemoryReject{ID: args[0], Reason: reason})
			if err != nil {
				return err
			}
			return a.out.printResult(p, "%s is rejected", p.ID)
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "the reason; the journal keeps only its digest")
	return c
}
