package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
)

func (a *App) memoryPendingCommand() *cobra.Command {
	var namespace string
	c := &cobra.Command{
		Use: "pending", Short: "List the reflections that wait for an approval",
		Example: "  reflectory memory pending --namespace team/mail",
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withMemory(c.Context(), func(m *memoryHost) error {
				list, err := m.Pending(c.Context(), namespace)
				if err != nil {
					return err
				}
				if a.flags.json {
					return printJSON(a.Stdout, map[string]any{"pending": orEmpty(list)})
				}
				if len(list) == 0 {
					a.term.Line("nothing waits")
					return nil
				}
				rows := make([][]string, len(list))
				for i, p := range list {
					rows[i] = []string{p.ID, oneLine(p.Namespace), fmt.Sprint(p.Depth), oneLine(p.AgentID), term.Cut(p.Request.Title, 60)}
				}
				return a.table([]string{"PENDING", "NAMESPACE", "DEPTH", "AGENT", "TITLE"}, rows)
			})
		},
	}
	c.Flags().StringVar(&namespace, "namespace", "", "only those of this namespace")
	return c
}

func (a *App) memoryApproveCommand() *cobra.Command {
	return &cobra.Command{
		Use: "approve PENDING", Short: "Approve a reflection that waits: it is checked again, and written",
		Example: "  reflectory memory approve 01939f2c",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withMemory(c.Context(), func(m *memoryHost) error {
				result, err := m.Approve(c.Context(), args[0], a.config.Agent.Value)
				if err != nil {
					return err
				}
				if a.flags.json {
					return printJSON(a.Stdout, result)
				}
				return a.say("%s", result.ID)
			})
		},
	}
}

func (a *App) memoryRejectCommand() *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use: "reject PENDING", Short: "Reject a reflection that waits",
		Example: `  reflectory memory reject 01939f2c --reason "too far from its sources"`,
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withMemory(c.Context(), func(m *memoryHost) error {
				p, err := m.Reject(c.Context(), args[0], a.config.Agent.Value, reason)
				if err != nil {
					return err
				}
				if a.flags.json {
					return printJSON(a.Stdout, p)
				}
				return a.say("%s is rejected", p.ID)
			})
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why; the journal keeps its digest")
	return c
}
