package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/sdk"
)

// maxHeadBytes bounds a file with a head.
const maxHeadBytes = 1 << 10

func (a *App) auditCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "audit", Short: "Prove that the journal is as it was written, and read it",
		Long: `Prove that the journal is as it was written, and read it. Events stand in streams,
one for each run and each namespace, in which each entry holds the hash of the one
before. The stream root records the heads of all others.`,
		RunE: needsCommand,
	}
	c.AddCommand(a.auditHeadCommand(), a.auditVerifyCommand(), a.auditShowCommand())
	return c
}

func (a *App) auditHeadCommand() *cobra.Command {
	return &cobra.Command{
		Use: "head", Short: "Print the head of the root, to be kept elsewhere",
		Long: `Print the head of the root, which stands for every event so far. Kept where whoever
writes the data folder doesn't, it proves later that nothing was changed or cut off.`,
		Example: "  reflectory audit head > head.txt",
		RunE: a.onStoreThere(func(ctx context.Context, h *host.Host, _ []string) error {
			head, err := journal.Record(ctx, h.Journal)
			if err != nil {
				return err
			}
			if a.flags.json {
				return a.printJSON(map[string]any{"head": head.String(), "seq": head.Seq, "hash": head.Hash})
			}
			_, err = fmt.Fprintln(a.Stdout, head)
			return err
		}),
	}
}

// audited is what verify prints.
type audited struct {
	Valid bool `json:"valid"`
	journal.Audited
	// Kept is the head that was given; "" for none.
	Kept    string          `json:"kept_head,omitempty"`
	Problem *core.ErrorInfo `json:"problem,omitempty"`
	// Files are the files of --segment that hold.
	Files []auditedFile `json:"segment_files,omitempty"`
}

// auditedFile is a file of segments that holds.
type auditedFile struct {
	File string `json:"file"`
	store.CheckedSegments
}

func (a *App) auditVerifyCommand() *cobra.Command {
	var kept string
	var segments []string
	c := &cobra.Command{
		Use: "verify", Short: "Find any entry that was edited, dropped or moved",
		Long: `Check every stream from its first entry to its head, and that what the root recorded is
still there. The first entry at fault is named. With a head that was kept elsewhere,
it also finds what was cut off or rewritten together with the root. Where the beginning
of a stream was pruned, the rest must follow from its seal; --segment proves the files
that it went to. Exit codes: 0 the journal is whole, 3 it isn't.`,
		Example: "  reflectory audit verify\n  reflectory audit verify --head @head.txt",
	}
	c.Flags().StringArrayVar(&segments, "segment", nil, "a `file` that store prune wrote (may be repeated)")
	c.Flags().StringVar(&kept, "head", "", "a `head` that audit head printed, or @FILE with one")
	c.RunE = a.onStoreThere(func(ctx context.Context, h *host.Host, _ []string) error {
		audit := journal.Audit{Progress: func(n int64) { a.term.Step(n, 0, term.Unit{One: "entry", Many: "entries"}) }}
		a.term.Status("reading the journal …")
		if c.Flags().Changed("head") { // an empty one is refused: it proves nothing
			var err error
			if audit.Kept, err = readHead(kept); err != nil {
				return err
			}
		}
		return a.verify(ctx, h.Store, audit, segments)
	})
	return c
}

// readHead reads a head, from a file if its name follows an @.
func readHead(text string) (journal.Head, error) {
	if path, ok := strings.CutPrefix(text, "@"); ok {
		data, err := core.ReadInput(path, maxHeadBytes)
		if err != nil {
			return journal.Head{}, err
		}
		text = string(data)
	}
	return journal.ParseHead(text)
}

func (a *App) verify(ctx context.Context, db core.Store, audit journal.Audit, segments []string) error {
	done := audited{Valid: true}
	if audit.Kept.Seq > 0 {
		done.Kept = audit.Kept.String()
	}
	err := db.View(ctx, func(r core.Reader) (err error) {
		done.Audited, err = audit.Verify(ctx, r)
		for _, file := range segments {
			if err != nil {
				break
			}
			err = a.verifySegments(ctx, r, file, &done)
		}
		return err
	})
	if err != nil && !journal.IsBroken(err) && sdk.ReasonOf(err) != "segment_broken" {
		return err
	}
	if err != nil {
		done.Valid, done.Problem = false, core.NewErrorInfo(err)
	}
	return exitNotValidUnless(done.Valid, a.printAudited(done))
}

// verifySegments proves a file that a pruning wrote.
func (a *App) verifySegments(ctx context.Context, r core.Reader, path string, done *audited) error {
	in, err := a.input.open(path)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // only reads
	checked, err := store.CheckSegments(ctx, r, in)
	if err == nil {
		done.Files = append(done.Files, auditedFile{path, checked})
	}
	return sdk.Wrap(path, err)
}

func (a *App) printAudited(done audited) error {
	if a.flags.json {
		return a.printJSON(done)
	}
	if done.Valid {
		a.term.Line("%s", a.term.Good("the journal is whole"))
		pruned := ""
		if done.Segments > 0 {
			pruned = fmt.Sprintf(", %d pruned behind %s", done.Pruned, plural(int(done.Segments), "seal", "seals"))
		}
		fmt.Fprintf(a.Stdout, "%d streams, %d entries, %d recorded heads, root %s%s\n", done.Streams, done.Entries, done.Recorded, done.Root, pruned)
		for _, f := range done.Files {
			fmt.Fprintf(a.Stdout, "%s: %s, %s, as sealed\n", term.Clean(f.File), plural(f.Entries, "entry", "entries"), plural(f.Records, "record", "records"))
		}
		return nil
	}
	a.term.Line("%s", a.term.Bad("the journal isn't whole"))
	_, err := fmt.Fprintf(a.Stdout, "%s\n%s\n", term.Lines(done.Problem.Message), term.Clean(done.Problem.Hint))
	return err
}

func (a *App) auditShowCommand() *cobra.Command {
	var from uint64
	var limit int
	var types bool
	c := &cobra.Command{
		Use: "show [STREAM]", Short: "List the streams, or the entries of one",
		Long: `List the streams with their heads, or the newest entries of one, the oldest first. Streams
are run/RUN, namespace/NAMESPACE, and others by name. Entries hold digests, never content.`,
		Example: "  reflectory audit show\n  reflectory audit show root --limit 3\n  reflectory audit show --types",
		Args:    cobra.MaximumNArgs(1),
	}
	c.Flags().Uint64Var(&from, "from", 0, "the first entry's `number` (default: so that the last is shown)")
	c.Flags().IntVar(&limit, "limit", 50, "how many at most")
	c.Flags().BoolVar(&types, "types", false, "list the types of events with their fields instead")
	show := a.onStoreThere(func(ctx context.Context, h *host.Host, args []string) error {
		return h.Store.View(ctx, func(r core.Reader) error {
			if len(args) == 0 {
				return a.showStreams(r, limit)
			}
			return a.showEntries(r, args[0], from, uint64(limit))
		})
	})
	c.RunE = func(c *cobra.Command, args []string) error {
		switch {
		case limit < 1:
			return usageError{sdk.Errorf(sdk.Invalid, "usage", "--limit must be at least 1, not %d", limit)}
		case types:
			return a.showTypes()
		}
		return show(c, args)
	}
	return c
}

func (a *App) showStreams(r core.Reader, limit int) error {
	streams := []journal.StreamHead{}
	more := false
	err := journal.Streams(r, func(s journal.StreamHead) (bool, error) {
		if more = len(streams) == limit; more {
			return false, nil
		}
		streams = append(streams, s)
		return true, nil
	})
	if err != nil {
		return err
	}
	if a.flags.json {
		return a.printJSON(map[string]any{"streams": streams, "more": more})
	}
	var rows [][]string
	for _, s := range streams {
		rows = append(rows, []string{term.Clean(s.Stream), fmt.Sprint(s.Seq), term.Clean(s.Hash)})
	}
	if err := a.table([]string{"STREAM", "ENTRIES", "HEAD"}, rows); err != nil || !more {
		return err
	}
	a.term.Line("there are more: --limit shows them")
	return nil
}

func (a *App) showEntries(r core.Reader, stream string, from, limit uint64) error {
	head, err := journal.ReadHead(r, stream)
	if err != nil {
		return err
	}
	if head.Seq == 0 {
		return sdk.Errorf(sdk.NotFound, "stream_not_found", "there is no stream %.100q", stream).
			WithHint("list them with: reflectory audit show")
	}
	seal, err := journal.ReadSeal(r, stream)
	if err != nil {
		return err
	}
	if from == 0 && head.Seq > limit {
		from = head.Seq - limit + 1
	}
	entries := []journal.Entry{}
	err = journal.ReadFrom(r, stream, from, func(e journal.Entry) (bool, error) {
		entries = append(entries, e)
		return uint64(len(entries)) < limit, nil
	})
	if err != nil {
		return err
	}
	if a.flags.json {
		shown := map[string]any{"stream": stream, "head": head, "entries": entries}
		if seal.Seq > 0 {
			shown["pruned"] = seal.SegmentPruned
		}
		return a.printJSON(shown)
	}
	if from <= seal.Last && seal.Seq > 0 {
		a.term.Line("the first %s went to files: entry %d of %s names the last, %s", plural(int(seal.Last), "entry", "entries"), seal.Seq, journal.PrunedStream, term.Clean(seal.File))
	}
	var rows [][]string
	for _, e := range entries {
		rows = append(rows, []string{fmt.Sprint(e.Seq), term.Time(e.At), term.Clean(e.Type), cell(string(e.Data))})
	}
	return a.table([]string{"ENTRY", "AT", "TYPE", "DATA"}, rows)
}

func (a *App) showTypes() error {
	catalogue := journal.Catalogue()
	if a.flags.json {
		return a.printJSON(map[string]any{"types": catalogue})
	}
	var rows [][]string
	for _, t := range catalogue {
		var fields []string
		for _, f := range t.Fields {
			name := f.Name
			if f.Optional {
				name += "?"
			}
			fields = append(fields, name)
		}
		rows = append(rows, []string{t.Type, strings.Join(fields, ", ")})
	}
	return a.prose([]string{"TYPE", "FIELDS"}, rows)
}
