package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/core/workflow"
	"github.com/reflectory/reflectory/sdk"
)

func workflowCommand(a *App) *cobra.Command {
	return noun("workflow", "Check workflow files, and show what they may contain", "",
		workflowCheckCommand(a), workflowDescribeCommand(a.out),
	)
}

func workflowDescribeCommand(out *output) *cobra.Command {
	var schema bool
	c := &cobra.Command{
		Use: "describe [BLOCK]", Short: "Print the keys of workflow files",
		Long: `Print the keys that a block of a workflow file may have, with what each does and
its default. Without a block, list the blocks. --schema prints the JSON Schema of
workflow files, for editors. Save it, and begin the file with:
# yaml-language-server: $schema=workflow.schema.json`,
		Example: `  reflectory workflow describe
  reflectory workflow describe reflection.loop
  reflectory workflow describe --schema > workflow.schema.json`,
		RunE: func(_ *cobra.Command, args []string) error {
			switch {
			case schema:
				return out.printJSON(workflow.Schema())
			case len(args) == 0:
				return describeBlocks(out)
			}
			return describeBlock(out, args[0])
		},
	}
	c.Flags().BoolVar(&schema, "schema", false, "print the JSON Schema of workflow files")
	return c
}

// describedBlock is a block of workflow files as JSON shows it.
type describedBlock struct {
	Name string         `json:"name"`
	Doc  string         `json:"doc"`
	Keys []describedKey `json:"keys"`
}

// describedKey is a key of a block.
type describedKey struct {
	Name     string           `json:"name"`
	Type     workflow.KeyType `json:"type"`
	Doc      string           `json:"doc"`
	Values   []string         `json:"values,omitempty"`
	Default  string           `json:"default,omitempty"`
	Required bool             `json:"required,omitempty"`
}

func describedBlocks() []describedBlock {
	var all []describedBlock
	for _, b := range workflow.Blocks() {
		d := describedBlock{b.Name, b.Doc, nil}
		for _, k := range b.Keys {
			d.Keys = append(d.Keys, describedKey{k.Name, k.Type, k.Doc, k.Values, k.Default, k.Required})
		}
		all = append(all, d)
	}
	return all
}

// blockNames are the names of the blocks.
func blockNames() []string {
	var names []string
	for _, b := range workflow.Blocks() {
		names = append(names, b.Name)
	}
	return names
}

func describeBlocks(out *output) error {
	all := describedBlocks()
	if out.json {
		return out.printJSON(all)
	}
	var rows [][]string
	for _, b := range all {
		rows = append(rows, []string{b.Name, unquoted(b.Doc)})
	}
	return out.prose([]string{"BLOCK", "WHAT IT IS"}, rows)
}

func describeBlock(out *output, name string) error {
	all := describedBlocks()
	at := slices.IndexFunc(all, func(b describedBlock) bool { return b.Name == name })
	if at < 0 {
		err := sdk.Errorf(sdk.NotFound, "block_not_found", "there is no block %.100q in a workflow file", name)
		if near := sdk.DidYouMean(name, blockNames(), ""); near != "" {
			return err.WithHint("%s", near)
		}
		return err.WithHint("list them").WithAction("workflow describe")
	}
	if out.json {
		return out.printJSON(all[at])
	}
	out.lines("", "%s", unquoted(all[at].Doc))
	fmt.Fprintln(out.Stdout)
	var rows [][]string
	for _, k := range all[at].Keys {
		what := unquoted(k.Doc)
		if len(k.Values) > 0 {
			what += " One of " + strings.Join(k.Values, ", ") + "."
		}
		rows = append(rows, []string{k.Name, string(k.Type), defaultOf(k.Default, k.Required), what})
	}
	return out.prose([]string{"KEY", "TYPE", "DEFAULT", "WHAT"}, rows)
}

// defaultOf describes the default of a key.
func defaultOf(standard string, required bool) string {
	if required {
		return "(required)"
	}
	return unquoted(standard)
}

// unquoted is a text without code marks, which a terminal would show literally.
func unquoted(text string) string { return strings.ReplaceAll(text, "`", "") }

func pluginDescribeCommand(out *output) *cobra.Command {
	var schema bool
	c := &cobra.Command{
		Use: "describe", Short: "Print the keys of plugin.yaml",
		Long: `Print the keys of plugin.yaml, with what each is and its default. --schema prints
the JSON Schema of the file, for editors. Save it, and begin the file with:
# yaml-language-server: $schema=plugin.schema.json`,
		Example: `  reflectory plugin describe
  reflectory plugin describe --schema > plugin.schema.json`,
		RunE: func(*cobra.Command, []string) error {
			if schema {
				return out.printJSON(install.Schema())
			}
			return describePackage(out)
		},
	}
	c.Flags().BoolVar(&schema, "schema", false, "print the JSON Schema of plugin.yaml")
	return c
}

func describePackage(out *output) error {
	var all []install.Key
	for _, group := range []struct {
		below string
		keys  []install.Key
	}{{"", install.PackageKeys()}, {"capabilities.", install.CapabilityKeys()}, {"limits.", install.LimitKeys()}} {
		for _, k := range group.keys {
			k.Name = group.below + k.Name
			all = append(all, k)
		}
	}
	if out.json {
		return out.printJSON(all)
	}
	var rows [][]string
	for _, k := range all {
		what := k.Doc
		if k.Runtime != "" {
			what += " (" + string(k.Runtime) + " only)"
		}
		rows = append(rows, []string{k.Name, defaultOf(k.Default, k.Required), what})
	}
	return out.prose([]string{"KEY", "DEFAULT", "WHAT"}, rows)
}
