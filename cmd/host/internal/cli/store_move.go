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
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/sdk"
)

func storeExportCommand(a *App) *cobra.Command {
	return &cobra.Command{
		Use: "export FILE", Short: "Write everything in the store as JSON Lines",
		Long: `Write everything in the store as JSON Lines, without derived data.
FILE appears when it is complete; - is standard output. It holds content: protect it
like the data folder. Exports of equal stores are equal.`,
		Example: "  reflectory store export everything.jsonl",
		RunE: func(c *cobra.Command, args []string) error {
			if args[0] != "-" {
				a.noteNewStore()
				return exportTo(c.Context(), a, args[0])
			}
			if a.out.json {
				return usageError{sdk.Errorf(sdk.Invalid, "usage", "--json prints to standard output, where the export goes: name a FILE")}
			}
			a.noteNewStore()
			_, err := exportStore(c.Context(), a, a.out.Stdout)
			return err
		},
	}
}

// exportTo writes an export next to its file, and then renames it.
func exportTo(ctx context.Context, a *App, path string) (err error) {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".part-") // for the owner only
	if err != nil {
		return exportError(path, err)
	}
	defer func() {
		_ = file.Close()
		_ = os.Remove(file.Name()) // unless it was renamed
	}()
	moved, err := exportStore(ctx, a, file)
	if err != nil {
		return err
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return exportError(path, err)
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return exportError(path, err)
	}
	return a.out.printDone(moved, "exported %s, %s", plural(int(moved.Records), "record", "records"), term.Size(moved.Bytes))
}

func exportStore(ctx context.Context, a *App, to io.Writer) (*store.Moved, error) {
	return doCall[store.Moved](ctx, a, operation.Call{Sink: to, Progress: a.moving("exporting", 0)}, "store_export", &operation.StoreExport{})
}

func exportError(path string, cause error) error {
	return sdk.Errorf(sdk.Unavailable, "export_io", "%s can't be written: %w", path, cause).WithHint("name a file in a folder that can be written")
}

func storeImportCommand(a *App) *cobra.Command {
	var into, replace bool
	var namespaces []string
	c := &cobra.Command{
		Use: "import FILE", Short: "Replace the store with an export, or add namespaces from it",
		Long: `Replace the store with an export, completely or not at all. An inconsistent export is
refused: broken chains of events, records that contradict each other, changes that no
decision allowed. The store must be empty, unless --replace is given. FILE may be - for
standard input.
--into adds namespaces of the export to a store that has others: their memories,
knowledge, settings and evidence, with the chain of events that proves them, and the
sessions that used them. Everything keeps its ids, so what the store already has, such
as a namespace, can't be imported. Workflows' graphs, runs, decisions of policies and
settings for all namespaces aren't imported. The import needs disk space for a copy of
the store.`,
		Example: "  reflectory store import everything.jsonl --data-dir imported\n" +
			"  reflectory store import everything.jsonl --into --namespace 'team/**' --data-dir other",
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkInto(into, replace, namespaces); err != nil {
				return err
			}
			in, err := a.input.open(args[0])
			if err != nil {
				return err
			}
			defer func() { _ = in.Close() }() // only reads
			done, err := doCall[host.Imported](c.Context(), a, operation.Call{Body: in, Progress: a.moving("importing", sizeOf(args[0]))}, "store_import",
				&operation.StoreImport{Replace: replace, Namespaces: namespaces})
			if err != nil {
				return err
			}
			return printImported(a.out, done)
		},
	}
	replaceFlag(c, &replace)
	c.Flags().BoolVar(&into, "into", false, "add the namespaces in --namespace to the store, which may have others")
	c.Flags().StringArrayVar(&namespaces, "namespace", nil, "with --into: a `NAMESPACE` of the export, or NAMESPACE/** with all below it; repeatable")
	return c
}

func printImported(out *output, done *host.Imported) error {
	if len(done.Namespaces) > 0 {
		return out.printDone(done, "imported %s, with %s: %s", strings.Join(done.Namespaces, ", "),
			plural(len(done.Sessions), "session", "sessions"), plural(int(done.Records), "record", "records"))
	}
	return out.printDone(done, "imported %s, %s", plural(int(done.Records), "record", "records"), term.Size(done.Bytes))
}

// checkInto refuses flags that can't be combined.
func checkInto(into, replace bool, namespaces []string) error {
	switch {
	case into && replace:
		return usageError{sdk.Errorf(sdk.Invalid, "usage", "--into and --replace can't be combined")}
	case into && len(namespaces) == 0:
		return usageError{sdk.Errorf(sdk.Invalid, "usage", "--into needs --namespace: the namespaces to import")}
	case !into && len(namespaces) > 0:
		return usageError{sdk.Errorf(sdk.Invalid, "usage", "--namespace needs --into: without it everything is imported")}
	}
	return nil
}
