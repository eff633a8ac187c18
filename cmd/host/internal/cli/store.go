package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core/host/operation"
)

func (a *App) storeCommand() *cobra.Command {
	c := &cobra.Command{Use: "store", Short: "Check, back up, restore, export, import and prune the store", RunE: needsCommand}
	c.AddCommand(
		a.storeCheckCommand(), a.storeBackupCommand(), a.storeRestoreCommand(),
		a.storeExportCommand(), a.storeImportCommand(), a.storePruneCommand(),
	)
	return c
}

func (a *App) storeCheckCommand() *cobra.Command {
	var repair bool
	c := &cobra.Command{
		Use: "check", Short: "Prove that records, indices, links and events agree",
		Long: `Prove that records, indices, links and events agree, and that the journal's chains are
whole. --repair first rebuilds what follows from other records, such as indices.
Exit codes: 0 all agrees, 3 it doesn't.`,
		Example: "  reflectory store check",
	}
	c.Flags().BoolVar(&repair, "repair", false, "first rebuild what follows from other records")
	c.RunE = func(c *cobra.Command, _ []string) error {
		a.noteNewStore()
		a.term.Status("checking …")
		checked, err := do[operation.StoreChecked](c.Context(), a, "store_check", &operation.StoreCheck{Repair: repair})
		if err != nil {
			return err
		}
		return a.printStoreChecked(checked)
	}
	return c
}

func (a *App) printStoreChecked(checked *operation.StoreChecked) error {
	if a.flags.json {
		return exitNotValidUnless(checked.Valid, a.printJSON(checked))
	}
	rebuildable := 0
	for _, p := range checked.Problems {
		fmt.Fprintf(a.Stdout, "%s: %s: %s\n", p.Part, term.Clean(p.Key), term.Clean(p.Message))
		if p.Rebuildable {
			rebuildable++
		}
	}
	switch {
	case checked.Valid:
		a.term.Line("%s", a.term.Good("everything agrees"))
	case rebuildable > 0:
		a.term.Line("%s, %d of those above can be repaired with: reflectory store check --repair", a.term.Bad(fmt.Sprintf("%d problems", checked.Count)), rebuildable)
	default:
		a.term.Line("%s", a.term.Bad(fmt.Sprintf("%d problems", checked.Count)))
	}
	return exitNotValidUnless(checked.Valid, nil)
}

func replaceFlag(c *cobra.Command, replace *bool) {
	c.Flags().BoolVar(replace, "replace", false, "replace the store that is there, which is lost")
}
