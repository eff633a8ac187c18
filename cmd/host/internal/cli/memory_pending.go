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
	c := verb[operation.Page[*memory.Pending]]{
		Use: "pending", Short: "List the reflections that wait for approval",
		Example:   "  reflectory memory pending --namespace team/mail",
		Operation: "memory_pending", In: in, Paging: &in.Paging,
		Print: table("nothing waits", []string{"PENDING", "NAMESPACE", "DEPTH", "AGENT", "TITLE"}, func(p *memory.Pending) []string {
			return []string{p.ID, cell(p.Namespace), fmt.Sprint(p.Depth), cell(p.AgentID), cell(p.Request.Title)}
		}),
	}.command(a)
	c.Flags().StringVar(&in.Namespace, "namespace", "", "only reflections of this namespace")
	sinceFlag(c, &in.Since, "reflections")
	return c
}

func memoryApproveCommand(a *App) *cobra.Command {
	in := &operation.MemoryApprove{}
	return verb[core.ReflectResult]{
		Use: "approve PENDING", Short: "Approve a pending reflection: it is checked again, and written",
		Example:   "  reflectory memory approve 01939f33",
		Operation: "memory_approve", In: in, Args: []*string{&in.ID},
		Print: func(out *output, result *core.ReflectResult) error {
			return out.say("%s", result.ID)
		},
	}.command(a)
}

func memoryRejectCommand(a *App) *cobra.Command {
	in := &operation.MemoryReject{}
	c := verb[memory.Pending]{
		Use: "reject PENDING", Short: "Reject a pending reflection",
		Example:   `  reflectory memory reject 01939f34 --reason "too far from its sources"`,
		Operation: "memory_reject", In: in, Args: []*string{&in.ID},
		Print: func(out *output, p *memory.Pending) error {
			return out.say("%s is rejected", p.ID)
		},
	}.command(a)
	c.Flags().StringVar(&in.Reason, "reason", "", "the reason; the journal keeps only its digest")
	return c
}
