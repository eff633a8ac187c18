package cli

import (
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/sdk"
)

// absolutePath makes a path absolute, since the host may run in another folder than the
// terminal; "" stays.
func absolutePath(path *string) error {
	if *path == "" {
		return nil
	}
	abs, err := filepath.Abs(*path)
	if err != nil {
		return sdk.Errorf(sdk.Unavailable, "folder_unknown", "the folder of %s can't be found: %w", *path, err)
	}
	*path = abs
	return nil
}

func storeBackupCommand(a *App) *cobra.Command {
	in := &operation.StoreBackup{}
	c := verb[operation.Backup]{
		Use: "backup DIR", Short: "Copy the store, as it is now, to a new folder",
		Long: `Copy the store, as it is now, to a new folder, which appears when it is complete. Files
that never change are linked rather than copied if the folder is on the same disk. --all
includes the policies, the lock, the trust file, the copied packages, the prompt policies
and the role mixes. The command
names what it leaves out.`,
		Example:   "  reflectory store backup backups/monday --all",
		Operation: "store_backup", In: in, Args: []*string{&in.Folder}, NeedsStore: true, Doing: "copying …",
		Prepare: func(*cobra.Command, []string) error { return absolutePath(&in.Folder) },
		Print:   printBackup,
	}.command(a)
	c.Flags().BoolVar(&in.All, "all", false, "include policies, lock, trust file, packages, prompt policies and role mixes")
	return c
}

func printBackup(out *output, done *operation.Backup) error {
	names := make([]string, len(done.LeftOut))
	for i, part := range done.LeftOut {
		names[i] = part.Name + " (" + part.Path + ")"
	}
	out.term.Line("the store is in %s", term.Clean(done.Folder))
	if len(names) > 0 {
		out.term.Line("left out: %s", strings.Join(names, ", "))
	}
	return nil
}

func storeRestoreCommand(a *App) *cobra.Command {
	var replace bool
	c := &cobra.Command{
		Use: "restore DIR", Short: "Replace the store with a backup",
		Long: `Replace the store with a backup, completely or not at all. The store must be empty,
unless --replace is given. The same applies to the other parts of a backup made with
--all: the policies, the lock, the trust file and the packages go where the settings
say.`,
		Example: "  reflectory store restore backups/monday --data-dir restored",
		RunE: func(c *cobra.Command, args []string) error {
			a.out.term.Status("copying …")
			if err := host.Restore(c.Context(), a.config, args[0], replace); err != nil {
				return err
			}
			return a.out.printDone(map[string]any{"folder": host.StoreDir(a.config)}, "the store in %s is restored from %s", host.StoreDir(a.config), args[0])
		},
	}
	replaceFlag(c, &replace)
	return c
}
