package cli

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/store"
)

func storePruneCommand(a *App) *cobra.Command {
	in := &operation.StorePrune{}
	c := verb[operation.Pruned]{
		Use: "prune", Short: "Move old decisions and finished runs to files",
		Long: `Move decisions and runs that are older than reflectory.yaml says (keep: {decisions: 90d,
runs: 30d}; 0, the default, means for ever) from the store to files. A run's age counts
from its end; one that can be resumed stays. The files are JSON Lines and hold content,
but no texts of memories; they may be moved elsewhere. The journal keeps a seal of each
file: audit verify checks what remains, and with --segment also the file.`,
		Example:   "  reflectory store prune --dry-run\n  reflectory store prune --out archive",
		Operation: "store_prune", In: in, NeedsStore: true, Doing: "looking for old decisions and runs …",
		Prepare: func(*cobra.Command, []string) error { return absolutePath(&in.Folder) },
		Print:   printStorePruned,
	}.command(a)
	c.Flags().BoolVar(&in.DryRun, "dry-run", false, "only count what would be pruned")
	c.Flags().StringVar(&in.Folder, "out", "", "the `folder` of the files (default: segments in the data folder)")
	return c
}

func printStorePruned(out *output, done *operation.Pruned) error {
	if done.Decisions == nil && done.Runs == nil {
		out.term.Line("nothing is pruned: all decisions and runs are kept for ever")
		out.term.Line("hint: write keep: {decisions: 90d, runs: 30d} in reflectory.yaml")
		return nil
	}
	verb := "pruned"
	if done.DryRun {
		verb = "would prune"
	}
	if p := done.Decisions; p != nil {
		out.term.Line("%s %s, with %s", verb, plural(p.Records, "decision", "decisions"), plural(p.Entries, "event", "events"))
		if err := printSegments(out, done.Folder, p.Files); err != nil {
			return err
		}
	}
	if p := done.Runs; p != nil {
		out.term.Line("%s %s, with %s", verb, plural(p.Streams, "run", "runs"), plural(p.Entries, "event", "events"))
		return printSegments(out, done.Folder, p.Files)
	}
	return nil
}

func printSegments(out *output, dir string, files []store.SegmentFile) error {
	for _, f := range files {
		if err := out.say("%s", term.Clean(filepath.Join(dir, f.Name))); err != nil {
			return err
		}
	}
	return nil
}
