package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/core/store/pebble"
	"github.com/reflectory/reflectory/sdk"
)

// A backup of all has, in a folder of its own next to the store's files, what else the
// host keeps. It is put back where the settings of the moment say, which may be another
// place than it came from.
const backupFolder = "host"

// hostPart is something that the host keeps outside the store: a file, or a folder.
type hostPart struct {
	Name string `json:"name"`
	Path string `json:"path"`
	// in is what it is called in a backup; "" for what no backup takes.
	in string
}

// backupParts are those that a backup of all takes.
func (a *App) backupParts() []hostPart {
	return []hostPart{
		{"policies", a.config.PolicyDir.Value, "policies"},
		{"lock", a.config.Lock.Value, install.LockFile},
		{"trust file", a.config.TrustFile.Value, "trust.yaml"},
		{"packages", a.config.PluginDir.Value, "plugins"},
	}
}

// hostParts are all that are there.
func (a *App) hostParts() []hostPart {
	all := append(a.backupParts(), hostPart{"settings", a.config.File(), ""}, hostPart{"pruned segments", a.segmentDir(), ""})
	return slices.DeleteFunc(all, func(p hostPart) bool {
		_, err := os.Stat(p.Path)
		return p.Path == "" || err != nil
	})
}

func (a *App) storeBackupCommand() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use: "backup DIR", Short: "Copy the store, as it is now, to a new folder",
		Long: `Copy the store, as it is now, to a new folder, which appears once it is complete. Files
that never change are linked where the folder is on the same disk.
--all takes the policies, the lock, the trust file and the copied packages as well.
What is left out is named.`,
		Example: "  reflectory store backup backups/monday --all",
		Args:    cobra.ExactArgs(1),
	}
	c.Flags().BoolVar(&all, "all", false, "take policies, lock, trust file and packages as well")
	c.RunE = a.onStoreThere(func(ctx context.Context, h *host.Host, args []string) error {
		db, err := h.OpenStore(ctx)
		if err != nil {
			return err
		}
		a.term.Status("copying …")
		if err := db.Backup(ctx, args[0]); err != nil {
			return err
		}
		leftOut := []hostPart{}
		for _, part := range a.hostParts() {
			if !all || part.in == "" {
				leftOut = append(leftOut, part)
				continue
			}
			if err := copyTree(ctx, part.Path, filepath.Join(args[0], backupFolder, part.in)); err != nil {
				_ = os.RemoveAll(args[0]) // which isn't complete
				return backupPartError(part, args[0], err)
			}
		}
		return a.printBackup(args[0], leftOut)
	})
	return c
}

func (a *App) printBackup(dir string, leftOut []hostPart) error {
	names := make([]string, len(leftOut))
	for i, part := range leftOut {
		names[i] = part.Name + " (" + part.Path + ")"
	}
	if err := a.printDone(map[string]any{"folder": dir, "left_out": leftOut}, "the store is in %s", dir); err != nil {
		return err
	}
	if len(names) > 0 && !a.flags.json {
		a.term.Line("left out: %s", strings.Join(names, ", "))
	}
	return nil
}

func backupPartError(part hostPart, dir string, cause error) error {
	return sdk.Errorf(sdk.Unavailable, "backup_io", "the %s of %s can't be copied to or from the backup %s: %w", part.Name, part.Path, dir, cause).
		WithHint("check that both can be read and written, and that there is space")
}

func (a *App) storeRestoreCommand() *cobra.Command {
	var replace bool
	c := &cobra.Command{
		Use: "restore DIR", Short: "Put a backup in the place of the store",
		Long: `Put a backup in the place of the store, as a whole or not at all. The store must be
empty, or be meant to be replaced. The same holds for what else a backup of --all has:
policies, lock, trust file and packages are put where the settings say.`,
		Example: "  reflectory store restore backups/monday --data-dir restored",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := config.MakeDataDir(a.config.DataDir.Value); err != nil {
				return err
			}
			parts, err := a.restorable(args[0], replace)
			if err != nil {
				return err
			}
			a.term.Status("copying …")
			if err := pebble.Restore(c.Context(), args[0], host.StoreOptions(a.config), replace); err != nil {
				return err
			}
			for _, part := range parts {
				if err := a.restorePart(c.Context(), part, args[0]); err != nil {
					return err
				}
			}
			return a.printDone(map[string]any{"folder": host.StoreDir(a.config)}, "the store in %s is that of %s", host.StoreDir(a.config), args[0])
		},
	}
	replaceFlag(c, &replace)
	return c
}

// restorable are the parts that a backup has and that aren't there as they are in it. One
// that is there otherwise is refused, unless it is to be replaced.
func (a *App) restorable(dir string, replace bool) (parts []hostPart, err error) {
	for _, part := range a.backupParts() {
		kept := filepath.Join(dir, backupFolder, part.in)
		if _, err := os.Stat(kept); err != nil || sameFile(kept, part.Path) {
			continue
		}
		if _, err := os.Lstat(part.Path); err == nil && !replace {
			return nil, sdk.Errorf(sdk.Conflict, "restore_exists", "the backup has the %s, and %s is there already", part.Name, part.Path).
				WithHint("name another folder with --data-dir, or let it be replaced with --replace")
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// sameFile reports whether two files have the same bytes.
func sameFile(one, other string) bool {
	a, err := os.ReadFile(one)
	if err != nil {
		return false // as a folder
	}
	b, err := os.ReadFile(other)
	return err == nil && bytes.Equal(a, b)
}

// restorePart puts a part in its place once its copy is complete.
func (a *App) restorePart(ctx context.Context, part hostPart, dir string) error {
	staged := part.Path + ".restored"
	err := os.RemoveAll(staged) // of one that was killed
	if err == nil {
		err = copyTree(ctx, filepath.Join(dir, backupFolder, part.in), staged)
	}
	if err == nil {
		err = os.RemoveAll(part.Path)
	}
	if err == nil {
		err = os.Rename(staged, part.Path)
	}
	if err != nil {
		return backupPartError(part, dir, err)
	}
	return nil
}

// copyTree copies a file, or a folder with all that is in it. Links to files are copied
// as what they lead to; one to a folder is refused, since it may lead in a circle. What
// was for the owner only stays so.
func copyTree(ctx context.Context, from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if err := errors.Join(ctx.Err(), os.MkdirAll(filepath.Dir(to), 0o700)); err != nil {
		return err
	}
	if !info.IsDir() {
		return copyPlain(from, to, info)
	}
	if err := os.Mkdir(to, info.Mode().Perm()|0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if target, err := os.Stat(filepath.Join(from, e.Name())); err == nil && target.IsDir() && !e.IsDir() {
			return fmt.Errorf("%s is a link to a folder", filepath.Join(from, e.Name()))
		}
		if err := copyTree(ctx, filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// copyPlain copies a regular file, and makes it last.
func copyPlain(from, to string, info fs.FileInfo) (err error) {
	if !info.Mode().IsRegular() {
		return nil // a socket, say, which no backup keeps
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm()|0o600)
	if err != nil {
		return err
	}
	defer closing(&err, out)
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return out.Sync()
}
