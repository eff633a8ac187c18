package cli

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

func memoryCommand(a *App) *cobra.Command {
	return noun("memory", "Write, recall and govern memories", `Write, recall and govern memories. A memory belongs to a namespace, whose settings
limit what may be reflected there (see: reflectory governance). What happens to a memory
depends on how it is used: recall returns it, feedback says how that went, and the gate
decides whether it is purged or becomes knowledge. An ID is a memory's id, or at least
its first 8 characters.`,
		memoryObserveCommand(a), memoryImportCommand(a), memoryReflectCommand(a), memoryRecallCommand(a), memoryFeedbackCommand(a),
		memoryGetCommand(a), memoryListCommand(a), memoryNamespacesCommand(a), memoryLinkCommand(a), memoryExplainCommand(a),
		memoryLineageCommand(a), memoryHistoryCommand(a),
		memoryRestoreCommand(a), memorySweepCommand(a), memoryReembedCommand(a),
		memoryPendingCommand(a), memoryApproveCommand(a), memoryRejectCommand(a),
	)
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

// refuseWith refuses the flags of a command that one with a line per item can't use: all but the
// common ones.
func refuseWith(c *cobra.Command, bulk string, common ...string) (err error) {
	c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		if err == nil && f.Changed && f.Name != bulk && !slices.Contains(common, f.Name) {
			err = usageError{sdk.Errorf(sdk.Invalid, "usage", "--%s can't be given with --%s: each line has its own", f.Name, bulk)}
		}
	})
	return err
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
