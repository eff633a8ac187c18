package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/core/store/pebble"
	"github.com/reflectory/reflectory/sdk"
)

func (a *App) storeExportCommand() *cobra.Command {
	return &cobra.Command{
		Use: "export FILE", Short: "Write all that the store holds as JSON Lines",
		Long: `Write all that the store holds as JSON Lines, but for what follows from other records.
FILE appears once it is complete; - is standard output. It holds content: keep it
like the data folder. Exports of equal stores are equal.`,
		Example: "  reflectory store export everything.jsonl",
		Args:    cobra.ExactArgs(1),
		RunE: a.onStoreThere(func(ctx context.Context, h *host.Host, args []string) error {
			if args[0] != "-" {
				return a.exportTo(ctx, h.Store, args[0])
			}
			if a.flags.json {
				return usageError{sdk.Errorf(sdk.Invalid, "usage", "--json prints the result where the export goes: name a FILE")}
			}
			_, err := export(ctx, h.Store, a.Stdout, a.moving("exporting", 0))
			return err
		}),
	}
}

// exportTo writes an export beside its file, and then into its place.
func (a *App) exportTo(ctx context.Context, db core.Store, path string) (err error) {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".part-") // for the owner only
	if err != nil {
		return exportError(path, err)
	}
	defer func() {
		_ = file.Close()
		_ = os.Remove(file.Name()) // unless it was renamed
	}()
	moved, err := export(ctx, db, file, a.moving("exporting", 0))
	if err != nil {
		return err
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return exportError(path, err)
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return exportError(path, err)
	}
	return a.printMoved(moved, path, "exported")
}

// export writes all that a store holds, but for what follows from other records.
func export(ctx context.Context, db core.Store, to io.Writer, progress store.Progress) (store.Moved, error) {
	parts, err := host.Checkers(db)
	if err != nil {
		return store.Moved{}, err
	}
	return store.Export(ctx, db, to, store.Derived(parts), progress)
}

func exportError(path string, cause error) error {
	return sdk.Errorf(sdk.Unavailable, "export_io", "%s can't be written: %w", path, cause).WithHint("name a file in a folder that can be written")
}

func (a *App) printMoved(m store.Moved, path, verb string) error {
	return a.printDone(map[string]any{"file": path, "records": m.Records, "bytes": m.Bytes}, "%s %s, %s", verb,
		plural(int(m.Records), "record", "records"), term.Size(m.Bytes))
}

func (a *App) storeImportCommand() *cobra.Command {
	var into, replace bool
	var namespaces []string
	c := &cobra.Command{
		Use: "import FILE", Short: "Put an export in the place of the store, or namespaces of it into the store",
		Long: `Put an export in the place of the store, as a whole or not at all. What doesn't hold
together is refused: broken chains of events, records that contradict each other, what
no decision allowed. The store must be empty, or be meant to be replaced. FILE may be -
for standard input.
--into adds namespaces of the export to a store that has others: their memories,
knowledge, settings and evidence, with the chain of events that proves them, and the
sessions that used them. All of it keeps its ids: what the store has already, such as
a namespace, is refused, and named. Workflows' graphs, runs, decisions of policies and
settings for all namespaces stay behind. It needs room for a copy of the store.`,
		Example: "  reflectory store import everything.jsonl --data-dir imported\n" +
			"  reflectory store import everything.jsonl --into --namespace 'team/**' --data-dir other",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkInto(into, replace, namespaces); err != nil {
				return err
			}
			in, err := a.input.open(args[0])
			if err != nil {
				return err
			}
			defer func() { _ = in.Close() }() // only reads
			if into {
				merged, err := a.importInto(c.Context(), in, sizeOf(args[0]), namespaces)
				if err != nil {
					return err
				}
				return a.printMerged(&merged)
			}
			moved, err := a.importFrom(c.Context(), in, sizeOf(args[0]), replace)
			if err != nil {
				return err
			}
			return a.printMoved(moved, args[0], "imported")
		},
	}
	replaceFlag(c, &replace)
	c.Flags().BoolVar(&into, "into", false, "add the namespaces of --namespace to a store that has others")
	c.Flags().StringArrayVar(&namespaces, "namespace", nil, "with --into: a `NAMESPACE` of the export, or NAMESPACE/** with all below it; repeatable")
	return c
}

func (a *App) printMerged(m *store.Merged) error {
	result := map[string]any{"namespaces": m.Namespaces, "sessions": m.Sessions, "records": m.Records}
	return a.printDone(result, "imported %s, with %s: %s", strings.Join(m.Namespaces, ", "),
		plural(len(m.Sessions), "session", "sessions"), plural(int(m.Records), "record", "records"))
}

// checkInto refuses flags that don't go together.
func checkInto(into, replace bool, namespaces []string) error {
	switch {
	case into && replace:
		return usageError{sdk.Errorf(sdk.Invalid, "usage", "--into and --replace don't go together")}
	case into && len(namespaces) == 0:
		return usageError{sdk.Errorf(sdk.Invalid, "usage", "--into needs --namespace: say what is to be imported")}
	case !into && len(namespaces) > 0:
		return usageError{sdk.Errorf(sdk.Invalid, "usage", "--namespace needs --into: without it an import is of everything")}
	}
	return nil
}

// importInto adds namespaces of an export to the store: to a copy of it, which then
// takes its place. The export is checked as a whole before.
func (a *App) importInto(ctx context.Context, in io.Reader, size int64, namespaces []string) (merged store.Merged, err error) {
	if err := config.MakeDataDir(a.config.DataDir.Value); err != nil {
		return merged, err
	}
	a.term.Wait("waiting for the store, of which a copy is made")
	staged, err := pebble.StageCopy(ctx, host.StoreOptions(a.config))
	if err != nil {
		return merged, err
	}
	defer staged.Discard()
	dir, err := staged.Scratch()
	if err != nil {
		return merged, err
	}
	source, err := pebble.Open(ctx, pebble.Options{Dir: dir, Durability: pebble.Relaxed}) // it goes again
	if err != nil {
		return merged, err
	}
	defer closing(&err, source)
	if _, err := importAll(ctx, source, in, a.moving("importing", size)); err != nil {
		return merged, err
	}
	db, err := pebble.Open(ctx, pebble.Options{Dir: staged.Dir, Durability: pebble.Relaxed}) // Close makes it last
	if err != nil {
		return merged, err
	}
	a.term.Status("merging …")
	var parts []core.Checker
	if parts, err = host.Checkers(db); err == nil {
		merged, err = store.Merge(ctx, &journal.Writer{Store: db}, source, namespaces, parts)
	}
	closing(&err, db)
	if err != nil {
		return merged, err
	}
	return merged, staged.Install()
}

// importFrom makes a store of an export, and puts it in its place.
func (a *App) importFrom(ctx context.Context, in io.Reader, size int64, replace bool) (moved store.Moved, err error) {
	if err := config.MakeDataDir(a.config.DataDir.Value); err != nil {
		return moved, err
	}
	a.opening()
	staged, err := pebble.Stage(ctx, host.StoreOptions(a.config), replace)
	if err != nil {
		return moved, err
	}
	defer staged.Discard()
	db, err := pebble.Open(ctx, pebble.Options{Dir: staged.Dir, Durability: pebble.Relaxed}) // Close makes it last
	if err != nil {
		return moved, err
	}
	moved, err = importAll(ctx, db, in, a.moving("importing", size))
	closing(&err, db)
	if err != nil {
		return moved, err
	}
	return moved, staged.Install()
}

// importAll reads an export into an empty store.
func importAll(ctx context.Context, db core.Store, in io.Reader, progress store.Progress) (store.Moved, error) {
	parts, err := host.Checkers(db)
	if err != nil {
		return store.Moved{}, err
	}
	return store.Import(ctx, db, in, parts, progress)
}
