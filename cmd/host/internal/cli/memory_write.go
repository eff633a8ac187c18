package cli

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory"
)

func memoryObserveCommand(a *App) *cobra.Command {
	var f memoryFlags
	var file, id, key string
	c := &cobra.Command{
		Use: "observe", Short: "Store a new memory",
		Long: `Store a new memory. Without --title, the first 80 characters of the content are its
title. A namespace that has reached its limits refuses it (exit 4); see reflectory
governance explain. With --file, each line of a JSON Lines file is a memory:
{"namespace", "content", "title"?, "kind"?, "tags"?, "priority"?, "importance"?,
"confidence"?, "metadata"?, "occurred_at"?, "id"?, "agent_id"?, "idempotency_key"?};
--namespace and --tag apply to lines without a namespace or tags. The memories are
stored 1000 at a time. A line with an idempotency_key that was stored before changes
nothing, so a file with keys can be stored again after a crash.

Dream passes date "yesterday" by occurred_at, or else by the time when the memory was
stored. Give old records an occurred_at; if their time isn't known, give them the tag
undated, which keeps their phrases. A memory with the tag pinned is neither merged nor
archived.`,
		Example: `  reflectory memory observe --namespace team/mail --id names-1 --title "Names" --content "Signatures put the family name first."
  reflectory memory observe --namespace team/mail --file memories.jsonl`,
		RunE: func(c *cobra.Command, _ []string) error {
			f.namespace = a.orConfigured(c, f.namespace)
			if c.Flags().Changed("file") {
				return observeFile(a, c, file, f)
			}
			content, metadata, err := f.read(a)
			if err != nil {
				return err
			}
			return observeOne(c.Context(), a, &core.ObserveRequest{
				ID: id, Namespace: f.namespace, Kind: core.MemoryKind(f.kind),
				Title: f.title, Content: content, Tags: f.tags, Metadata: metadata, IdempotencyKey: key,
				Priority: given(c, "priority", f.priority), Importance: given(c, "importance", f.importance),
				Confidence: given(c, "confidence", f.confidence), OccurredAt: f.occurred,
			})
		},
	}
	f.add(c)
	c.Flags().StringVar(&f.namespace, "namespace", "", "its namespace, such as team/mail (default: the configured one; see config show)")
	c.Flags().StringVar(&id, "id", "", "choose its id")
	c.Flags().StringVar(&key, "idempotency-key", "", "a repetition with the same `key` returns the first memory")
	c.Flags().StringVar(&file, "file", "", "store the memories of a JSON Lines `file`, or - for standard input")
	return c
}

func observeOne(ctx context.Context, a *App, r *core.ObserveRequest) error {
	memory, err := do[core.Memory](ctx, a, "memory_observe", r)
	if err != nil {
		return err
	}
	if a.out.json {
		return a.out.printJSON(memory)
	}
	if memory.EmbeddingModel == "" {
		a.out.term.Line("warn: %s made no vector: only its words find it, until: reflectory memory reembed %s",
			term.Clean(a.config.EmbeddingsModel.Value), term.Clean(memory.Namespace))
	}
	return a.out.say("%s", memory.ID)
}

func memoryReflectCommand(a *App) *cobra.Command {
	var f memoryFlags
	var sources []string
	var depth int
	var key string
	c := &cobra.Command{
		Use: "reflect", Short: "Store a memory that is derived from others",
		Long: `Store a memory that is derived from others and that you wrote yourself, while
reflectory reflect has a model derive memories. Its depth is one more than the depth of its
deepest source, and may not exceed the namespace's max_reflection_depth (exit 4); see
reflectory governance explain. A reflection that needs approval is stored as pending;
see reflectory memory pending.`,
		Example: `  reflectory memory reflect --source deploy-notes --source build-notes --title "Pattern" --content "Both begin with a clean tree."`,
		RunE: func(c *cobra.Command, _ []string) error {
			content, metadata, err := f.read(a)
			if err != nil {
				return err
			}
			return reflectOn(c.Context(), a, &core.ReflectRequest{
				SourceIDs: sources, Title: f.title, Content: content, Kind: core.MemoryKind(f.kind), Namespace: f.namespace,
				Tags: f.tags, Metadata: metadata, IdempotencyKey: key,
				Priority: given(c, "priority", f.priority), Confidence: given(c, "confidence", f.confidence),
				Importance: given(c, "importance", f.importance), OccurredAt: f.occurred, Depth: given(c, "depth", depth),
			})
		},
	}
	f.add(c)
	c.Flags().StringVar(&f.namespace, "namespace", "", "its namespace (default: the namespace of the first source)")
	c.Flags().StringArrayVar(&sources, "source", nil, "an `ID` that it is derived from; may be repeated")
	c.Flags().IntVar(&depth, "depth", 0, "its expected depth: any other is refused")
	c.Flags().StringVar(&key, "idempotency-key", "", "a repetition with the same `key` returns the first outcome")
	return c
}

func reflectOn(ctx context.Context, a *App, r *core.ReflectRequest) error {
	result, err := do[core.ReflectResult](ctx, a, "memory_reflect", r)
	if err != nil {
		return err
	}
	switch {
	case a.out.json:
		return a.out.printJSON(result)
	case result.PendingID != "":
		a.out.term.Line("the reflection needs an approval: reflectory memory approve %s", result.PendingID)
		return a.out.say("%s", result.PendingID)
	}
	a.out.term.Line("depth %d in %s", result.ReflectionDepth, result.Namespace)
	return a.out.say("%s", result.ID)
}

func memoryLinkCommand(a *App) *cobra.Command {
	var metadata string
	c := &cobra.Command{
		Use: "link FROM RELATION TO", Short: "Link two memories",
		Long: `Link two memories. RELATION is reflects_on, supersedes, contradicts, derived_from,
consolidated_from, related_to, or any word of a-z, 0-9 and _.`,
		Example: "  reflectory memory link deploy-notes contradicts build-notes",
		Args:    cobra.ExactArgs(3),
		RunE: func(c *cobra.Command, args []string) error {
			object, err := readMetadata(metadata)
			if err != nil {
				return err
			}
			return linkMemories(c.Context(), a, args[0], args[1], args[2], object)
		},
	}
	c.Flags().StringVar(&metadata, "metadata", "", "a `JSON` object")
	return c
}

func linkMemories(ctx context.Context, a *App, from, relation, to string, metadata json.RawMessage) error {
	link, err := do[core.Link](ctx, a, "memory_link", &memory.LinkRequest{From: from, Relation: relation, To: to, Metadata: metadata})
	if err != nil {
		return err
	}
	return a.out.printResult(link, "%s", strings.Join([]string{link.From, link.Relation, link.To}, " "))
}
