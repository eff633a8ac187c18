package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/memoryfile"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/sdk"
)

// maxListedLeft bounds the list of what an import left out; the rest is counted.
const maxListedLeft = 1000

// importBatch is how many memories are stored at once: a quarter of what a call takes, which on a busy machine
// would come near a call's time limit.
const importBatch = memory.MaxBatch / 4

func memoryImportCommand(a *App) *cobra.Command {
	in := &memoryImport{app: a}
	var format, namespace string
	c := &cobra.Command{
		Use: "import PATH", Short: "Store the memories that another program has kept",
		Long: `Store the memories that another program, or you, have kept in files. --from names
the format:
  mcp-memory  the JSON Lines of MCP's memory server: one memory for each observation
              of an entity, and one for each relation
  mem0        the JSON that mem0's get_all returns
  markdown    a folder (or one file): each heading with its text is a memory, and each
              list item of an AGENTS.md or CLAUDE.md; front matter becomes metadata
  jsonl       one JSON object per line, with "content" or "text" and, if it is known,
              "title", "tags", "metadata", "occurred_at" or "created_at", "id"
The time of a record becomes occurred_at; a record without one gets the tag undated.
Its id, and whatever else it says, is kept as metadata.source. A record that is
imported twice is stored once. What can't be stored is listed with the reason, and the
rest is stored. PATH can be - for standard input, except with markdown.`,
		Example: "  reflectory memory import . --from markdown --namespace team/mail --dry-run",
		RunE: func(c *cobra.Command, args []string) error {
			if !slices.Contains(memoryfile.Formats(), memoryfile.Format(format)) {
				return usageError{sdk.Errorf(sdk.Invalid, "usage", "--from %q is not one of %s", core.Cut(format), strings.Join(importFormats(), ", "))}
			}
			return in.run(c.Context(), args[0], memoryfile.Format(format), a.orConfigured(c, namespace))
		},
	}
	c.Flags().StringVar(&format, "from", "", "the `format`: mcp-memory, mem0, markdown or jsonl")
	c.Flags().StringVar(&namespace, "namespace", "", "their namespace, such as team/mail (default: the configured one; see config show)")
	c.Flags().BoolVar(&in.dryRun, "dry-run", false, "only read the files, and report what would be stored and left out")
	required(c, "from")
	return c
}

// importFormats are the values of --from.
func importFormats() (names []string) {
	for _, f := range memoryfile.Formats() {
		names = append(names, string(f))
	}
	return names
}

// memoryImport is an import, which is stored in batches.
type memoryImport struct {
	app    *App
	dryRun bool
	batch  []*core.ObserveRequest
	places []string
	bare   int
	report struct {
		// Read counts the memories that were read; of those, Observed are new and Repeated were
		// already stored. A dry run stores none, and doesn't know which are new.
		Read     int `json:"read"`
		Observed int `json:"observed"`
		Repeated int `json:"repeated"`
		// LeftOut counts what was left out, and Left lists it, at most 1,000.
		LeftOut int               `json:"left_out"`
		Left    []memoryfile.Left `json:"left,omitempty"`
		DryRun  bool              `json:"dry_run,omitempty"`
	}
}

func (in *memoryImport) run(ctx context.Context, path string, format memoryfile.Format, namespace string) error {
	in.report.DryRun = in.dryRun
	now := core.SystemClock{}.Now()
	files := &memoryfile.Import{
		Format: format, Namespace: namespace, Now: now, Leave: in.leave,
		Take: func(at string, r *core.ObserveRequest) error {
			if err := memory.CheckObserve(r, now); err != nil {
				in.leave(memoryfile.Left{At: at, What: core.Cut(r.Content), Why: sdk.AsError(err).Message})
				return ctx.Err()
			}
			return in.add(ctx, at, r)
		},
	}
	in.app.out.term.Status("importing …")
	err := in.read(files, path)
	if err == nil {
		err = in.flush(ctx)
	}
	if err != nil {
		return sdk.Wrap(fmt.Sprintf("%d memories were stored before this", in.report.Observed), err)
	}
	return in.print()
}

func (in *memoryImport) read(files *memoryfile.Import, path string) error {
	if files.Format == memoryfile.Markdown {
		return files.ReadFolder(path)
	}
	from, err := in.app.input.open(path)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }() // only reads
	return sdk.Wrap(sourceName(path), files.Read(from))
}

func (in *memoryImport) leave(left memoryfile.Left) {
	if in.report.LeftOut++; len(in.report.Left) < maxListedLeft {
		in.report.Left = append(in.report.Left, left)
	}
}

// add adds a memory, and stores the batch if it is complete.
func (in *memoryImport) add(ctx context.Context, at string, r *core.ObserveRequest) error {
	if in.report.Read++; in.dryRun {
		return ctx.Err()
	}
	in.batch, in.places = append(in.batch, r), append(in.places, at)
	if len(in.batch) < importBatch {
		return nil
	}
	return in.flush(ctx)
}

// flush stores the batch. If one of its memories was purged since it was first imported, the others are
// stored one by one.
func (in *memoryImport) flush(ctx context.Context) error {
	err := in.store(ctx, in.batch)
	for n := 0; sdk.ReasonOf(err) == "memory_purged" && n < len(in.batch); n++ {
		one := in.store(ctx, in.batch[n:n+1])
		switch {
		case sdk.ReasonOf(one) == "memory_purged":
			in.leave(memoryfile.Left{At: in.places[n], What: core.Cut(in.batch[n].Content), Why: "it was imported before, and purged since"})
		case one != nil:
			return one
		}
		if n == len(in.batch)-1 {
			err = nil
		}
	}
	in.batch, in.places = in.batch[:0], in.places[:0]
	in.app.out.term.Step(int64(in.report.Read), 0, memories)
	return err
}

func (in *memoryImport) store(ctx context.Context, items []*core.ObserveRequest) error {
	if len(items) == 0 {
		return nil
	}
	done, err := do[operation.MemoryObservedAll](ctx, in.app, "memory_observe_all", &operation.MemoryObserveAll{Items: items})
	if err != nil {
		return err
	}
	in.report.Observed, in.report.Repeated, in.bare = in.report.Observed+done.Observed, in.report.Repeated+done.Repeated, in.bare+done.WithoutVector
	return nil
}

func (in *memoryImport) print() error {
	out, r := in.app.out, &in.report
	if out.json {
		return out.printJSON(r)
	}
	for _, left := range r.Left {
		out.term.Line("left out: %s: %s: %s", term.Clean(left.At), term.Clean(left.What), term.Clean(left.Why))
	}
	if more := r.LeftOut - len(r.Left); more > 0 {
		out.term.Line("left out: %d more", more)
	}
	if r.DryRun {
		return out.say("%s would be stored, except those that already are; %d left out", plural(r.Read, "memory", "memories"), r.LeftOut)
	}
	warnVectors(in.app, in.bare)
	return out.say("%s stored, %d were already stored, %d left out", plural(r.Observed, "memory", "memories"), r.Repeated, r.LeftOut)
}
