package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/plainfile"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/sdk"
)

// maxHeadBytes bounds a file that contains a head.
const maxHeadBytes = 1 << 10

func auditCommand(a *App) *cobra.Command {
	return noun("audit", "Verify and read the journal", `Verify that the journal is as it was written, and read it. Events are in streams, one
for each run and each namespace, in which each entry holds the hash of the previous one.
The stream root records the heads of all other streams.`,
		auditHeadCommand(a), auditVerifyCommand(a), auditShowCommand(a),
	)
}

func auditHeadCommand(a *App) *cobra.Command {
	return verb[operation.Head]{
		Use: "head", Short: "Print the head of the stream root, to keep elsewhere",
		Long: `Print the head of the stream root, which covers every event so far. Keep it where nobody
with write access to the data folder can change it: audit verify --head later proves
that nothing was changed or cut off.`,
		Example:   "  reflectory audit head > head.txt",
		Operation: "audit_head", In: &operation.AuditHead{}, NeedsStore: true,
		Print: func(out *output, head *operation.Head) error { return out.say("%s", head.Text) },
	}.command(a)
}

// auditDone is what verify prints.
type auditDone struct {
	*operation.Audited
	// Files are the files of --segment, all of which are valid.
	Files []auditedFile `json:"segment_files,omitempty"`
}

// auditedFile is a valid file of segments.
type auditedFile struct {
	File string `json:"file"`
	store.CheckedSegments
}

func auditVerifyCommand(a *App) *cobra.Command {
	var kept string
	var segments []string
	c := &cobra.Command{
		Use: "verify", Short: "Find any entry that was edited, dropped or moved",
		Long: `Check every stream from its first entry to its head, and that everything that the stream
root recorded still exists. The first bad entry of a stream is named. With --head, the
check also finds entries that were cut off or rewritten together with the root. If the
beginning of a stream was pruned, the rest must continue from its seal; --segment checks
the files with the pruned part. Exit codes: 0 the journal is intact, 3 it isn't.`,
		Example: "  reflectory audit verify\n  reflectory audit verify --head @head.txt",
	}
	c.Flags().StringArrayVar(&segments, "segment", nil, "a `file` that store prune wrote (may be repeated)")
	c.Flags().StringVar(&kept, "head", "", "a `head` that audit head printed, or @FILE with one")
	c.RunE = func(c *cobra.Command, _ []string) error {
		in := &operation.AuditVerify{}
		if c.Flags().Changed("head") { // an empty head is refused: it proves nothing
			text, err := headText(kept)
			if err != nil {
				return err
			}
			in.Head = &text
		}
		a.noteNewStore()
		a.out.term.Status("reading the journal …")
		return verifyJournal(c.Context(), a, in, segments)
	}
	return c
}

// headText is a head given as text, or read from a file if the text is @ and its name.
func headText(text string) (string, error) {
	path, ok := strings.CutPrefix(text, "@")
	if !ok {
		return text, nil
	}
	data, err := plainfile.ReadInput(path, maxHeadBytes)
	return string(data), err
}

func verifyJournal(ctx context.Context, a *App, in *operation.AuditVerify, segments []string) error {
	audited, err := do[operation.Audited](ctx, a, "audit_verify", in)
	if err != nil {
		return err
	}
	done := auditDone{Audited: audited}
	for _, file := range segments {
		if !done.Valid {
			break
		}
		if err := verifySegment(ctx, a, file, &done); err != nil {
			return err
		}
	}
	return exitNotValidUnless(done.Valid, printAudited(a.out, done))
}

// verifySegment checks a file that a pruning wrote.
func verifySegment(ctx context.Context, a *App, path string, done *auditDone) error {
	in, err := a.input.open(path)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // only reads
	checked, err := doCall[operation.AuditedSegment](ctx, a, operation.Call{Body: in}, "audit_verify_segment", &operation.AuditVerifySegment{Name: path})
	if err != nil {
		return err
	}
	if done.Valid, done.Problem = checked.Valid, checked.Problem; checked.Valid {
		done.Files = append(done.Files, auditedFile{path, checked.CheckedSegments})
	}
	return nil
}

func printAudited(out *output, done auditDone) error {
	if out.json {
		return out.printJSON(done)
	}
	if done.Valid {
		out.term.Line("%s", out.term.Good("the journal is intact"))
		pruned := ""
		if done.Segments > 0 {
			pruned = fmt.Sprintf(", %d pruned behind %s", done.Pruned, plural(int(done.Segments), "seal", "seals"))
		}
		out.lines("  ", "%s, %s, %s, root %s%s", plural(int(done.Streams), "stream", "streams"), plural(int(done.Entries), "entry", "entries"),
			plural(int(done.Recorded), "recorded head", "recorded heads"), done.Root, pruned)
		for _, f := range done.Files {
			out.lines("  ", "%s: %s, %s, as sealed", term.Clean(f.File), plural(f.Entries, "entry", "entries"), plural(f.Records, "record", "records"))
		}
		return nil
	}
	out.term.Line("%s", out.term.Bad("the journal isn't intact"))
	out.lines("  ", "%s\n%s", term.Lines(done.Problem.Message), term.Clean(out.hint(done.Problem)))
	return nil
}

func auditShowCommand(a *App) *cobra.Command {
	in := &operation.AuditEntries{}
	var types bool
	c := &cobra.Command{
		Use: "show [STREAM]", Short: "List the streams, or the entries of one",
		Long: `List the streams with their heads, or the newest entries of one stream, the oldest
first. Streams are named run/RUN or namespace/NAMESPACE, and a few otherwise. Entries
hold digests, never content. --page-token continues with older entries, or with newer
ones if --from is given.`,
		Example: "  reflectory audit show\n  reflectory audit show root --limit 3\n  reflectory audit show --types",
	}
	c.Flags().Uint64Var(&in.From, "from", 0, "start at the entry with this `number` (default: show the newest entries)")
	pagingFlags(c, &in.Paging)
	c.Flags().StringSliceVar(&in.Types, "type", nil, "only entries of this `type` (may be repeated)")
	sinceFlag(c, &in.Since, "entries")
	c.Flags().BoolVar(&types, "types", false, "list the types of events with their fields instead")
	c.RunE = func(c *cobra.Command, args []string) error {
		if types {
			return showTypes(a.out)
		}
		if len(args) == 0 {
			for _, flag := range []string{"from", "type", "since"} {
				if c.Flags().Changed(flag) {
					return usageError{sdk.Errorf(sdk.Invalid, "usage", "--%s needs STREAM, the stream whose entries are shown", flag)}
				}
			}
		}
		a.noteNewStore()
		if len(args) == 0 {
			return verb[operation.Page[journal.StreamHead]]{
				Operation: "audit_streams", In: &operation.AuditStreams{Paging: in.Paging},
				Print: table("", []string{"STREAM", "ENTRIES", "HEAD"}, func(s journal.StreamHead) []string {
					return []string{term.Clean(s.Stream), fmt.Sprint(s.Seq), term.Clean(s.Hash)}
				}),
			}.run(a, c, nil)
		}
		return verb[operation.StreamEntries]{Operation: "audit_entries", In: in, Args: []*string{&in.Stream}, Print: printEntries}.run(a, c, args)
	}
	return c
}

func printEntries(out *output, shown *operation.StreamEntries) error {
	if seal := shown.Pruned; seal != nil && (len(shown.Items) == 0 || shown.Items[0].Seq == seal.Last+1) {
		out.term.Line("the first %s were moved to files: entry %d of %s names the last one, %s", plural(int(seal.Last), "entry", "entries"), seal.Entry, journal.PrunedStream, term.Clean(seal.File))
	}
	return printTable(out, &shown.Page, "", entryColumns, entryRow)
}

// entryColumns are the columns of a list of the journal's entries.
var entryColumns = []string{"ENTRY", "AT", "TYPE", "DATA"}

func entryRow(e journal.Entry) []string {
	return []string{fmt.Sprint(e.Seq), term.Time(e.At), term.Clean(e.Type), cell(string(e.Data))}
}

func showTypes(out *output) error {
	catalogue := journal.Catalogue()
	if out.json {
		return out.printJSON(operation.Page[journal.EventInfo]{Items: catalogue})
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
	return out.prose([]string{"TYPE", "FIELDS"}, rows)
}
