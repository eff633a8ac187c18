package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core/host/operation"
)

func storeCommand(a *App) *cobra.Command {
	return noun("store", "Check, back up, restore, export, import and prune the store", "",
		storeCheckCommand(a), storeBackupCommand(a), storeRestoreCommand(a),
		storeExportCommand(a), storeImportCommand(a), storePruneCommand(a),
	)
}

func storeCheckCommand(a *App) *cobra.Command {
	in := &operation.StoreCheck{}
	c := verb[operation.StoreChecked]{
		Use: "check", Short: "Prove that records, indices, links and events agree",
		Long: `Prove that records, indices, links and events agree, and that the journal's chains are
intact. --repair first rebuilds derived data, such as indices.
Exit codes: 0 everything agrees, 3 it doesn't.`,
		Example:   "  reflectory store check",
		Operation: "store_check", In: in, NeedsStore: true, Doing: "checking …",
		Print: printStoreChecked,
		End:   func(checked *operation.StoreChecked) error { return exitNotValidUnless(checked.Valid, nil) },
	}.command(a)
	c.Flags().BoolVar(&in.Repair, "repair", false, "first rebuild derived data, such as indices")
	return c
}

func printStoreChecked(out *output, checked *operation.StoreChecked) error {
	rebuildable := 0
	for _, p := range checked.Problems {
		fmt.Fprintf(out.Stdout, "%s: %s: %s\n", p.Part, term.Clean(p.Key), term.Clean(p.Message))
		if p.Rebuildable {
			rebuildable++
		}
	}
	found := out.term.Bad(plural(checked.Count, "problem", "problems"))
	switch {
	case checked.Valid:
		out.term.Line("%s", out.term.Good("everything agrees"))
	case rebuildable > 0:
		out.term.Line("%s, of which %d can be repaired with: reflectory store check --repair", found, rebuildable)
	default:
		out.term.Line("%s", found)
	}
	return nil
}

func replaceFlag(c *cobra.Command, replace *bool) {
	c.Flags().BoolVar(replace, "replace", false, "replace the existing store, which is lost")
}
