package cli

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/decisions"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/sdk"
)

// maxKeepDays is the longest time that may be written: a hundred years.
const maxKeepDays = 36500

// keepTime reads how long something is kept: as 30d, or as Go writes times; 0 is for
// ever.
func keepTime(text string) (time.Duration, error) {
	if days, is := strings.CutSuffix(text, "d"); is {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil || n > maxKeepDays {
			return 0, sdk.Errorf(sdk.Invalid, "time_invalid", "%.20q isn't a number of days", text)
		}
		return time.Duration(n) * 24 * time.Hour, nil
	}
	kept, err := time.ParseDuration(text)
	if err != nil || kept < 0 || kept > maxKeepDays*24*time.Hour {
		return 0, sdk.Errorf(sdk.Invalid, "time_invalid", "%.20q isn't a time", text)
	}
	return kept, nil
}

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
	c.RunE = a.onStoreThere(func(ctx context.Context, db *openedStore, _ []string) error {
		if out == "" {
			out = a.segmentDir()
		}
		done, err := store.Prune(ctx, &journal.Writer{Store: db, Subscribers: a.subscribers()}, store.PruneOptions{
			Parts: a.prunable(core.SystemClock{}.Now()), Dir: out, DryRun: dryRun,
			Progress: func(p store.PrunedPart) { a.term.Status("%s …", prunedLine(p)) },
		})
		if err != nil {
			return err
		}
		return a.printStorePruned(done, out, dryRun)
	})
	return c
}

// prunable are the parts that aren't kept for ever.
func (a *App) prunable(now time.Time) (parts []store.PrunePart) {
	before := func(s Setting) (time.Time, bool) {
		kept, err := keepTime(s.Value)
		if err != nil {
			panic("keep: " + err.Error()) // the configuration was checked when it was read
		}
		return now.Add(-kept), kept > 0
	}
	if at, limited := before(a.config.KeepDecisions); limited {
		parts = append(parts, store.PrunePart{Name: "decisions", Pruner: decisions.Pruner{Before: at}})
	}
	if at, limited := before(a.config.KeepRuns); limited {
		parts = append(parts, store.PrunePart{Name: "runs", Pruner: &store.RunPruner{Before: at, Purged: memory.Purged}})
	}
	return parts
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
