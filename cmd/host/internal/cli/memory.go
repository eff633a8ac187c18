package cli

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

func memoryCommand(a *App) *cobra.Command {
	c := &cobra.Command{
		Use: "memory", Short: "Write, recall and govern memories", RunE: needsCommand,
		Long: `Write, recall and govern memories. A memory belongs to a namespace, whose settings
limit what may be reflected there (see: reflectory governance). What happens to a memory
depends on how it is used: recall returns it, feedback says how that went, and the gate
decides whether it is purged or becomes knowledge. An ID is a memory's id, or at least
its first 8 characters.`,
	}
	c.AddCommand(
		memoryObserveCommand(a), memoryReflectCommand(a), memoryRecallCommand(a), memoryFeedbackCommand(a),
		memoryGetCommand(a), memoryListCommand(a), memoryNamespacesCommand(a), memoryLinkCommand(a), memoryExplainCommand(a),
		memoryLineageCommand(a), memoryHistoryCommand(a),
		memoryRestoreCommand(a), memorySweepCommand(a), memoryReembedCommand(a),
		memoryPendingCommand(a), memoryApproveCommand(a), memoryRejectCommand(a),
	)
	return c
}

// memoryFlags are the fields of a memory that observe and reflect take.
type memoryFlags struct {
	namespace, title, content, kind, metadata string
	tags                                      []string
	priority                                  int
	importance, confidence                    float64
	occurred                                  string
}

func (f *memoryFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.title, "title", "", "one line")
	c.Flags().StringVar(&f.content, "content", "", "the text, or - for standard input")
	c.Flags().StringVar(&f.kind, "kind", "", "what it is: observation, semantic, procedural, notification; reflection if it has sources")
	c.Flags().StringArrayVar(&f.tags, "tag", nil, "a `tag`; may be repeated")
	c.Flags().IntVar(&f.priority, "priority", 0, "1 to 10 (default 5)")
	c.Flags().Float64Var(&f.importance, "importance", 0, "0 to 1 (default 0.5)")
	c.Flags().StringVar(&f.occurred, "occurred-at", "", "the time of what it describes, such as 2026-03-01T09:30:00+01:00")
	c.Flags().Float64Var(&f.confidence, "confidence", 0, "0 to 1 (default 1)")
	c.Flags().StringVar(&f.metadata, "metadata", "", "a `JSON` object")
}

// emptyNamespace refuses an empty namespace, such as from an unset variable of a script.
// Only with --subtree does it have a meaning: all namespaces.
func emptyNamespace(c *cobra.Command) error {
	given, subtree := c.Flags().Lookup("namespace"), c.Flags().Lookup("subtree")
	if given == nil || !given.Changed || given.Value.String() != "" || subtree != nil && subtree.Value.String() == "true" {
		return nil
	}
	return usageError{sdk.Errorf(sdk.Invalid, "namespace_invalid", `--namespace "": it is empty`).
		WithHint("write a namespace such as team/mail, or leave the flag out")}
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

// read reads the content from standard input if that was requested, and the metadata. It
// doesn't check their limits.
func (f *memoryFlags) read(a *App) (content string, metadata json.RawMessage, err error) {
	content = f.content
	if content == "-" {
		data, err := a.input.read("-", maxInputBytes)
		if err != nil {
			return "", nil, err
		}
		content = string(data)
	}
	metadata, err = readMetadata(f.metadata)
	return content, metadata, err
}

// readMetadata parses a flag's text as JSON; "" is none.
func readMetadata(text string) (json.RawMessage, error) {
	if text == "" {
		return nil, nil
	}
	if !json.Valid([]byte(text)) {
		return nil, usageError{sdk.Errorf(sdk.Invalid, "usage", "--metadata is not JSON: %w", json.Unmarshal([]byte(text), new(any))).
			WithHint(`write an object, such as --metadata '{"ticket": 17}'`)}
	}
	return json.RawMessage(text), nil
}

// given is a flag's value if the flag was given, else nil.
func given[T any](c *cobra.Command, flag string, value T) *T {
	if !c.Flags().Changed(flag) {
		return nil
	}
	return &value
}

// filterFlags select memories.
type filterFlags struct {
	namespace, agent    string
	subtree             bool
	kinds, tags, states []string
}

func (f *filterFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.namespace, "namespace", "", "the namespace to look in (default: the configured one; see config show)")
	c.Flags().BoolVar(&f.subtree, "subtree", false, "look in the namespaces below as well")
	c.Flags().StringArrayVar(&f.kinds, "kind", nil, "only this `kind`; may be repeated")
	c.Flags().StringArrayVar(&f.tags, "tag", nil, "only memories with this `tag`; may be repeated")
	c.Flags().StringArrayVar(&f.states, "state", nil, "only memories in this `state`; may be repeated")
	c.Flags().StringVar(&f.agent, "by", "", "only memories that this `agent` wrote")
}

func (f *filterFlags) filter() core.RecallFilter {
	return core.RecallFilter{
		Namespace: f.namespace, Subtree: f.subtree, AgentID: f.agent, Tags: f.tags,
		Kinds: as[core.MemoryKind](f.kinds), States: as[core.MemoryState](f.states),
	}
}

// as converts texts to a named string type.
func as[T ~string](list []string) []T {
	var out []T
	for _, s := range list {
		out = append(out, T(s))
	}
	return out
}
