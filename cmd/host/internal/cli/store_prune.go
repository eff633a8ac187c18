package cli

import (
	"context"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/store"
)

// segmentDir is where store prune writes its files, unless told otherwise.
func (a *App) segmentDir() string { return filepath.Join(a.config.DataDir.Value, "segments") }

func (a *App) storePruneCommand() *cobra.Command {
	var dryRun bool
	var out string
	c := &cobra.Command{
		Use: "prune", Short: "Move old decisions and finished runs to files",
		Long: `Move decisions and runs that are older than reflectory.yaml has them kept
(keep: {decisions: 90d, runs: 30d}; 0, the default, is for ever) from the store
to files. A run's age counts from its end; one that can be resumed stays. The
files are JSON Lines and hold content, but no texts of memories; they may be
moved elsewhere. The journal keeps a seal of each: audit verify proves what
remains, and with --segment the file.`,
		Example: "  reflectory store prune --dry-run\n  reflectory store prune --out archive",
		Args:    cobra.NoArgs,
	}
	c.Flags().BoolVar(&dryRun, "dry-run", false, "only count what would be pruned")
	c.Flags().StringVar(&out, "out", "", "the `folder` of the files (default: segments in the data folder)")
	c.RunE = a.onStoreThere(func(ctx context.Context, h *host.Host, _ []string) error {
		if out == "" {
			out = a.segmentDir()
		}
		done, err := store.Prune(ctx, h.Journal, store.PruneOptions{
			Parts: h.Prunable(), Dir: out, DryRun: dryRun,
			Progress: func(p store.PrunedPart) { a.term.Status("%s …", prunedLine(p)) },
		})
		if err != nil {
			return err
		}
		return a.printStorePruned(done, out, dryRun)
	})
	return c
}

// prunedLine is a line of what was pruned of a part.
func prunedLine(p store.PrunedPart) string {
	if p.Name == "decisions" {
		return plural(p.Records, "decision", "decisions")
	}
	return plural(p.Streams, "run", "runs")
}

func (a *App) printStorePruned(done []store.PrunedPart, dir string, dryRun bool) error {
	if a.flags.json {
		shown := map[string]any{"dry_run": dryRun, "folder": dir}
		for _, p := range done {
			shown[p.Name] = p
		}
		return a.printJSON(shown)
	}
	if len(done) == 0 {
		a.term.Line("nothing is pruned: all decisions and runs are kept for ever")
		a.term.Line("hint: write keep: {decisions: 90d, runs: 30d} in reflectory.yaml")
		return nil
	}
	verb := "pruned"
	if dryRun {
		verb = "would prune"
	}
	for _, p := range done {
		a.term.Line("%s %s, with %s", verb, prunedLine(p), plural(p.Entries, "event", "events"))
		for _, f := range p.Files {
			if err := a.say("%s", term.Clean(filepath.Join(dir, f.Name))); err != nil {
				return err
			}
		}
	}
	return nil
}
