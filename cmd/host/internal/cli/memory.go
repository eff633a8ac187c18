package cli

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

func memoryCommand(a *App) *cobra.Command {
	return noun("memory", "Write, recall and govern memories", `Write, recall and govern memories. A memory belongs to a namespace, whose settings
limit what may be reflected there (see: reflectory governance). What happens to a memory
depends on how it is used: recall returns it, feedback says how that went, and the gate
decides whether it is purged or becomes knowledge. An ID is a memory's id, or at least
its first 8 characters.`,
		memoryObserveCommand(a), memoryReflectCommand(a), memoryRecallCommand(a), memoryFeedbackCommand(a),
		memoryGetCommand(a), memoryListCommand(a), memoryNamespacesCommand(a), memoryLinkCommand(a), memoryExplainCommand(a),
		memoryLineageCommand(a), memoryHistoryCommand(a),
		memoryRestoreCommand(a), memorySweepCommand(a), memoryReembedCommand(a),
		memoryPendingCommand(a), memoryApproveCommand(a), memoryRejectCommand(a),
	)
}

// memoryFields are the fields of a memory that observe and reflect take from flags.
type memoryFields struct {
	title, content, occurredAt *string
	kind                       *core.MemoryKind
	tags                       *[]string
	priority                   **int
	importance, confidence     **float64
	metadata                   *json.RawMessage
}

func (m memoryFields) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(m.title, "title", "", "one line")
	f.StringVar(m.content, "content", "", "the text, or - for standard input")
	f.StringVar((*string)(m.kind), "kind", "", "what it is: observation, semantic, procedural, notification; reflection if it has sources")
	f.StringArrayVar(m.tags, "tag", nil, "a `tag`; may be repeated")
	optional(c, m.priority, "priority", "1 to 10 (default 5)")
	optional(c, m.importance, "importance", "0 to 1 (default 0.5)")
	f.StringVar(m.occurredAt, "occurred-at", "", "the time of what it describes, such as 2026-03-01T09:30:00+01:00")
	optional(c, m.confidence, "confidence", "0 to 1 (default 1)")
	metadataFlag(c, m.metadata)
}

// emptyNamespace refuses an empty namespace, such as from an unset variable of a script.
// Only with --subtree does it have a meaning: all namespaces.
func emptyNamespace(c *cobra.Command) error {
	given, subtree := c.Flags().Lookup("namespace"), c.Flags().Lookup("subtree")
	if given == nil || !given.Changed || given.Value.String() != "" || subtree != nil && subtree.Value.String() == "true" {
		return nil
	}
	return sdk.Errorf(sdk.Invalid, "namespace_invalid", `--namespace "": it is empty`).
		WithHint("write a namespace such as team/mail, or leave the flag out")
}

// orConfigured is a command's namespace: the flag's value, or else the configured
// namespace.
func (a *App) orConfigured(c *cobra.Command, namespace string) string {
	if c.Flags().Changed("namespace") {
		return namespace
	}
	return a.config.Namespace.Value
}

// refuseWith refuses flags that a command with one line per item can't use.
func refuseWith(c *cobra.Command, bulk string, flags ...string) error {
	for _, flag := range flags {
		if c.Flags().Changed(flag) {
			return usageError{sdk.Errorf(sdk.Invalid, "usage", "--%s can't be given with --%s: each line has its own", flag, bulk)}
		}
	}
	return nil
}

// filterFlags adds the flags that select memories.
func filterFlags(c *cobra.Command, f *core.RecallFilter) {
	c.Flags().StringVar(&f.Namespace, "namespace", "", "the namespace to look in (default: the configured one; see config show)")
	c.Flags().BoolVar(&f.Subtree, "subtree", false, "look in the namespaces below as well")
	repeated(c, &f.Kinds, "kind", "only this `kind`; may be repeated")
	c.Flags().StringArrayVar(&f.Tags, "tag", nil, "only memories with this `tag`; may be repeated")
	repeated(c, &f.States, "state", "only memories in this `state`; may be repeated")
	c.Flags().StringVar(&f.AgentID, "by", "", "only memories that this `agent` wrote")
}
