package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/sdk"
)

// observeFile stores a memory for each line of a file, one batch per transaction. Batches
// that were stored before an error stay, and the error names their last line.
func observeFile(a *App, c *cobra.Command, path string, common *core.ObserveRequest) error {
	if err := refuseWith(c, "file", "namespace", "tag"); err != nil {
		return err
	}
	ctx := c.Context()
	in := &observeBatch{app: a}
	a.out.term.Status("storing …")
	for line, err := range a.input.jsonLines(path) {
		if err == nil {
			err = in.add(ctx, line, common)
		}
		if err != nil {
			return in.failed(err)
		}
	}
	if err := in.flush(ctx); err != nil {
		return in.failed(err)
	}
	if a.out.json {
		return a.out.printJSON(map[string]any{"observed": in.stored, "repeated": in.repeated})
	}
	if in.repeated > 0 {
		a.out.term.Line("%s stored, %d were already stored", plural(in.stored, "memory", "memories"), in.repeated)
	} else {
		a.out.term.Line("%s stored", plural(in.stored, "memory", "memories"))
	}
	warnVectors(a, in.bare)
	return nil
}

// observeBatch stores memories in batches.
type observeBatch struct {
	app   *App
	batch []*core.ObserveRequest
	// first and last are the lines of the batch; done is the last line that is stored.
	first, last, done jsonLine
	// stored counts new memories, repeated the memories whose keys were stored before, and
	// bare the memories that got no vector.
	stored, repeated, bare int
}

// add adds a line, and stores the batch if it is complete.
func (in *observeBatch) add(ctx context.Context, line jsonLine, common *core.ObserveRequest) error {
	r := &core.ObserveRequest{Namespace: common.Namespace, Attributes: core.Attributes{Tags: slices.Clone(common.Tags)}}
	if err := line.decode(r); err != nil {
		return err
	}
	if err := memory.CheckObserve(r, core.SystemClock{}.Now()); err != nil {
		return sdk.Wrap(line.String(), err)
	}
	if len(in.batch) == 0 {
		in.first = line
	}
	in.batch, in.last = append(in.batch, r), line
	if len(in.batch) < memory.MaxBatch {
		return nil
	}
	return in.flush(ctx)
}

// flush stores the batch.
func (in *observeBatch) flush(ctx context.Context) error {
	if len(in.batch) == 0 {
		return nil
	}
	done, err := do[operation.MemoryObservedAll](ctx, in.app, "memory_observe_all", &operation.MemoryObserveAll{Items: in.batch})
	if err != nil {
		return sdk.Wrap(fmt.Sprintf("%s to %d", in.first, in.last.number), err)
	}
	in.stored, in.repeated, in.bare = in.stored+done.Observed, in.repeated+done.Repeated, in.bare+done.WithoutVector
	in.batch, in.done = in.batch[:0], in.last
	in.app.out.term.Step(int64(in.stored+in.repeated), 0, memories)
	return nil
}

// failed adds to an error which lines were stored before it.
func (in *observeBatch) failed(err error) error {
	if in.done.number == 0 {
		return sdk.Wrap("nothing was stored", err)
	}
	return sdk.Wrap(fmt.Sprintf("the lines up to %d were stored", in.done.number), err)
}

// warnVectors reports how many memories are only found by their words.
func warnVectors(a *App, bare int) {
	if bare > 0 {
		a.out.term.Line("warn: %s made no vectors for %d of them: only their words find these, until: reflectory memory reembed NAMESPACE",
			term.Clean(a.config.EmbeddingsModel.Value), bare)
	}
}

// recallFile recalls for each line of a file, and prints a line for each. With --json it
// prints all results as one value, even before an error: a turn that has begun isn't
// recalled again.
func recallFile(a *App, c *cobra.Command, path string, common *core.RecallRequest) error {
	ctx := c.Context()
	a.out.term.Status("recalling …")
	results := []*operation.Recalled{}
	for line, err := range a.input.jsonLines(path) {
		var result *operation.Recalled
		if err == nil {
			result, err = recallLine(ctx, a, line, *common)
		}
		if err != nil && a.out.json && len(results) > 0 {
			_ = a.out.printJSON(map[string]any{"results": results}) // they are already JSON
		}
		if err != nil {
			return err
		}
		results = append(results, result)
		a.out.term.Step(int64(len(results)), 0, term.Unit{One: "query", Many: "queries"})
		if a.out.json {
			continue
		}
		results[len(results)-1] = nil // it is printed
		if _, err := a.out.Stdout.Write(append(term.JSON(jsontext.MustEncode(result)), '\n')); err != nil {
			return err
		}
	}
	if a.out.json {
		return a.out.printJSON(map[string]any{"results": results})
	}
	return nil
}

// recallLine recalls for a line, whose fields override the common ones.
func recallLine(ctx context.Context, a *App, line jsonLine, r core.RecallRequest) (*operation.Recalled, error) {
	r.Kinds, r.Tags, r.States = slices.Clone(r.Kinds), slices.Clone(r.Tags), slices.Clone(r.States)
	if err := line.decode(&r); err != nil {
		return nil, err
	}
	result, err := do[operation.Recalled](ctx, a, "memory_recall", &r)
	if err != nil {
		return nil, sdk.Wrap(line.String(), err)
	}
	return result, nil
}

func memoryReembedCommand(a *App) *cobra.Command {
	in := &operation.MemoryReembed{}
	return verb[memory.ReembedProgress]{
		Use: "reembed NAMESPACE", Short: "Recompute the vectors of a namespace with the configured model",
		Long: `Recompute the vectors of a namespace with the configured model, which config show names.
Vectors of different models are never compared: until a memory has a vector of this
model, or if none could be made, it is found by its words alone. Memories that already
have one are skipped, so the command may be stopped and repeated.

A model of an OpenAI-compatible endpoint, such as Ollama's, is configured in
reflectory.yaml, or by REFLECTORY_EMBEDDINGS_MODEL, _URL, _KEY_ENV and _DIMS:
  settings:
    embeddings: {model: nomic-embed-text, base_url: "http://127.0.0.1:11434/v1"}
api_key_env names the environment variable with the key, if one is needed. Titles,
contents and queries are sent to the endpoint: over https, or http on this machine.`,
		Example:   "  reflectory memory reembed team/mail",
		Operation: "memory_reembed", In: in, Args: []*string{&in.Namespace}, Doing: "making vectors …",
		Print: func(out *output, result *memory.ReembedProgress) error {
			out.term.Line("%d of %s got vectors of %s", result.Changed, plural(int(result.Looked), "memory", "memories"), term.Clean(result.Model))
			return nil
		},
	}.command(a)
}
