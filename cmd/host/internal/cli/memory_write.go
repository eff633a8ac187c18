package cli

import (
	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory"
)

func memoryObserveCommand(a *App) *cobra.Command {
	in := &core.ObserveRequest{}
	file := ""
	observe := verb[core.Memory]{
		Operation: "memory_observe", In: in, Namespace: &in.Namespace,
		Prepare: func(*cobra.Command, []string) error { return a.input.content(&in.Content) },
		Print: func(out *output, memory *core.Memory) error {
			if memory.EmbeddingModel == "" {
				out.term.Line("warn: %s made no vector: only its words find it, until: reflectory memory reembed %s",
					term.Clean(a.config.EmbeddingsModel.Value), term.Clean(memory.Namespace))
			}
			return out.say("%s", memory.ID)
		},
	}
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
			if !c.Flags().Changed("file") {
				return observe.run(a, c, nil)
			}
			in.Namespace = a.orConfigured(c, in.Namespace)
			return observeFile(a, c, file, in)
		},
	}
	memoryFlags(c, &in.Title, &in.Content, &in.Kind, &in.Attributes)
	c.Flags().StringVar(&in.Namespace, "namespace", "", "its namespace, such as team/mail (default: the configured one; see config show)")
	c.Flags().StringVar(&in.ID, "id", "", "choose its id")
	c.Flags().StringVar(&in.IdempotencyKey, "idempotency-key", "", "a repetition with the same `key` returns the first memory")
	c.Flags().StringVar(&file, "file", "", "store the memories of a JSON Lines `file`, or - for standard input")
	return c
}

func memoryReflectCommand(a *App) *cobra.Command {
	in := &core.ReflectRequest{}
	c := verb[core.ReflectResult]{
		Use: "reflect", Short: "Store a memory that is derived from others",
		Long: `Store a memory that is derived from others and that you wrote yourself, while
reflectory reflect has a model derive memories. Its depth is one more than the depth of its
deepest source, and may not exceed the namespace's max_reflection_depth (exit 4); see
reflectory governance explain. A reflection that needs approval is stored as pending;
see reflectory memory pending.`,
		Example:   `  reflectory memory reflect --source deploy-notes --source build-notes --title "Pattern" --content "Both begin with a clean tree."`,
		Operation: "memory_reflect", In: in,
		Prepare: func(*cobra.Command, []string) error { return a.input.content(&in.Content) },
		Print: func(out *output, result *core.ReflectResult) error {
			if result.PendingID != "" {
				out.term.Line("the reflection needs an approval: reflectory memory approve %s", result.PendingID)
				return out.say("%s", result.PendingID)
			}
			out.term.Line("depth %d in %s", result.ReflectionDepth, result.Namespace)
			return out.say("%s", result.ID)
		},
	}.command(a)
	memoryFlags(c, &in.Title, &in.Content, &in.Kind, &in.Attributes)
	c.Flags().StringVar(&in.Namespace, "namespace", "", "its namespace (default: the namespace of the first source)")
	c.Flags().StringArrayVar(&in.SourceIDs, "source", nil, "an `ID` that it is derived from; may be repeated")
	optional(c, &in.Depth, "depth", "its expected depth: any other is refused")
	c.Flags().StringVar(&in.IdempotencyKey, "idempotency-key", "", "a repetition with the same `key` returns the first outcome")
	return c
}

func memoryLinkCommand(a *App) *cobra.Command {
	in := &memory.LinkRequest{}
	c := verb[core.Link]{
		Use: "link FROM RELATION TO", Short: "Link two memories",
		Long: `Link two memories. RELATION is reflects_on, supersedes, contradicts, derived_from,
consolidated_from, related_to, or any word of a-z, 0-9 and _.`,
		Example:   "  reflectory memory link deploy-notes contradicts build-notes",
		Operation: "memory_link", In: in, Args: []*string{&in.From, &in.Relation, &in.To},
		Print: func(out *output, link *core.Link) error {
			return out.say("%s %s %s", link.From, link.Relation, link.To)
		},
	}.command(a)
	metadataFlag(c, &in.Metadata)
	return c
}

// memoryFlags are the flags with which observe and reflect describe a memory.
func memoryFlags(c *cobra.Command, title, content *string, kind *core.MemoryKind, in *core.Attributes) {
	f := c.Flags()
	f.StringVar(title, "title", "", "one line")
	f.StringVar(content, "content", "", "the text, or - for standard input")
	f.StringVar((*string)(kind), "kind", "", "what it is: observation, semantic, procedural, notification; reflection if it has sources")
	f.StringArrayVar(&in.Tags, "tag", nil, "a `tag`; may be repeated")
	optional(c, &in.Priority, "priority", "1 to 10 (default 5)")
	optional(c, &in.Importance, "importance", "0 to 1 (default 0.5)")
	f.StringVar(&in.OccurredAt, "occurred-at", "", "the time of what it describes, such as 2026-03-01T09:30:00+01:00")
	optional(c, &in.Confidence, "confidence", "0 to 1 (default 1)")
	metadataFlag(c, &in.Metadata)
}
