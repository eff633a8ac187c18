package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/plugin/install"
)

func pluginPruneCommand(a *App) *cobra.Command {
	var dryRun bool
	c := &cobra.Command{
		Use: "prune", Short: "Delete the copies of plugins that no lock names",
		Long: `Delete the copies in the plugin folder that no lock in use names: neither this project's
lock, nor the lock of another project that added a plugin to the folder. --dry-run only
lists the copies.`,
		Example: "  reflectory plugin prune --dry-run",
		RunE: func(*cobra.Command, []string) error {
			place, err := host.ProjectPlace(a.config)
			if err != nil {
				return err
			}
			pruned, err := install.Prune(place, dryRun)
			if err != nil {
				return err
			}
			return printPruned(a.out, pruned, dryRun)
		},
	}
	c.Flags().BoolVar(&dryRun, "dry-run", false, "list what would be deleted, and delete nothing")
	return c
}

func printPruned(out *output, pruned *install.Pruned, dryRun bool) error {
	if out.json {
		return out.printJSON(pruned)
	}
	for _, folder := range pruned.Removed {
		fmt.Fprintln(out.Stdout, term.Clean(folder))
	}
	did := "deleted"
	if dryRun {
		did = "would delete"
	}
	out.term.Line("%s %s of %s; kept the copies that %s", did, plural(len(pruned.Removed), "copy", "copies"), term.Size(pruned.Bytes), plural(len(pruned.Locks), "lock pins", "locks pin"))
	return nil
}
