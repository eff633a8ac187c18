package cli

import (
	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
)

func knowledgeSupersedeCommand(a *App) *cobra.Command {
	in := &operation.KnowledgeSupersede{}
	return verb[core.Knowledge]{
		Use: "supersede ID BY", Short: "Replace an entry with another",
		Long: `Mark the entry ID as superseded by the entry BY of the same namespace. ID stays, but
lists and recalls leave it out.`,
		Example:   "  reflectory knowledge supersede 01939f43 01939f44",
		Operation: "knowledge_supersede", In: in, Args: []*string{&in.ID, &in.By},
		Print: func(out *output, k *core.Knowledge) error {
			return out.say("knowledge %s is superseded by %s", k.ID, k.SupersededBy)
		},
	}.command(a)
}
