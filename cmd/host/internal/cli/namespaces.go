package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// A namespace may be given by its position and by --namespace, whichever the command's help names:
// people who learnt one command by its position, or by its flag, type the next one like it. The
// exceptions are commands whose first argument is something else, such as a text: they have the
// flag only.

// namespaceGiven is the annotation of a command whose namespace may be given in both ways. Its value
// says which of them was added: byFlag or byPosition.
const namespaceGiven, byFlag, byPosition = "namespace", "flag", "position"

// namespaceBothWays adds --namespace to a command with the argument NAMESPACE, and the argument to a
// list with the flag.
func namespaceBothWays(c *cobra.Command) {
	if !c.Runnable() || c.HasSubCommands() {
		return
	}
	names, flag, way := operands(c), c.Flags().Lookup("namespace"), ""
	switch {
	case flag == nil && len(names) > 0 && strings.Trim(names[0], "[]") == "NAMESPACE":
		c.Flags().String("namespace", "", "the namespace, in place of NAMESPACE")
		way = byFlag
	case flag != nil && flag.Value.Type() == "string" && len(names) == 0 && c.Flags().Lookup("page-token") != nil:
		c.Use += " [NAMESPACE]"
		way = byPosition
	default:
		return
	}
	c.Annotations = map[string]string{namespaceGiven: way}
}

// placed are a command's arguments as the command expects them: with the namespace of the added flag
// in its position, or without the position that was added.
func placed(c *cobra.Command, args []string) []string {
	switch flag := c.Flags().Lookup("namespace"); {
	case c.Annotations[namespaceGiven] == byPosition:
		return nil
	case c.Annotations[namespaceGiven] == byFlag && flag.Changed:
		return slices.Concat([]string{flag.Value.String()}, args)
	}
	return args
}

// takeNamespace sets --namespace from the position that was added, and refuses a second one.
func takeNamespace(c *cobra.Command, args []string) error {
	if c.Annotations[namespaceGiven] != byPosition || len(args) != 1 {
		return nil
	}
	flag := c.Flags().Lookup("namespace")
	if flag.Changed && flag.Value.String() != args[0] {
		return sdk.Errorf(sdk.Invalid, "usage", "the namespace is given twice: %q, and --namespace %q", core.Cut(args[0]), core.Cut(flag.Value.String()))
	}
	return c.Flags().Set("namespace", args[0])
}
