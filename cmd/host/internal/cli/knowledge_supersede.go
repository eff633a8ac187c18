package cli

import (
	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
)

func knowledgeSupersedeCommand(a *App) *cobra.Command {
	return &cobra.Command{
		Use: "supersede ID BY", Short: "Replace an entry with another",
		Long: `Mark the entry ID as superseded by the entry BY of the same namespace. ID stays, but
lists and recalls leave it out.`,
		Example: "  reflectory knowledge supersede 01939f43 01939f44",
		Args:    cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			k, err := do[core.Knowledge](c.Context(), a, "knowledge_supersede", &operation.KnowledgeSupersede{ID: args[0], By: args[1]})
			if err != nil {
				return err
			}
			return a.out.printResult(k, "knowledge %s is superseded by %s", k.ID, k.SupersededBy)
		},
	}
}
