package cli

import (
	"context"
	_ "embed" // for results.json
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/sdk"
)

// What commands print with --json is described in the comments of the types, which the program
// doesn't have: a test of cmd/host reads them, and makes this file.
//
//go:embed results.json
var resultsFile []byte

// resultTable is commands with what they print, and the objects in that.
type resultTable struct {
	Commands []resultCommand `json:"commands"`
	Objects  []resultObject  `json:"objects"`
}

type resultCommand struct {
	Command string `json:"command"`
	Does    string `json:"does,omitempty"`
	Prints  string `json:"prints"`
}

type resultObject struct {
	Name   string        `json:"name"`
	Doc    string        `json:"doc,omitempty"`
	Fields []resultField `json:"fields"`
}

type resultField struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Optional bool   `json:"optional,omitempty"`
	Doc      string `json:"doc"`
}

func schemaCommand(out *output) *cobra.Command {
	return &cobra.Command{
		Use: "schema [NAME…]", Short: "Describe what commands print with --json",
		Long: `Describe what commands print with --json: all commands, or the
command or object of a name. Standard output is then one JSON value, and everything else goes to standard error. Over
HTTP the same operation gives the same bytes.

Names are in snake_case. A field marked maybe is left out if it has no value. A time is in the
form of RFC 3339, in UTC. Lists are never null. A later version may add fields. A page has items,
and unless it is the last one next_page_token, which --page-token takes with the same filters.
A failure is {"error": ErrorInfo}: branch on its code, never on its message.`,
		Example: "  reflectory schema memory recall\n  reflectory schema RecalledMemory",
		RunE: func(_ *cobra.Command, args []string) error {
			all, err := results()
			if err != nil {
				return err
			}
			found, err := all.find(strings.Join(args, " "))
			if err != nil {
				return err
			}
			if out.json {
				return out.printJSON(found)
			}
			if len(args) == 0 {
				found.Objects = nil // there are hundreds
			}
			found.write(out)
			return nil
		},
	}
}

func results() (all resultTable, err error) {
	err = json.Unmarshal(resultsFile, &all)
	return all, err
}

// resultNames offers the names that schema takes, of objects and of commands.
var resultNames = offer{values: func(context.Context, *App) []string {
	all, err := results()
	if err != nil {
		return nil
	}
	var names []string
	for _, c := range all.Commands {
		names = append(names, strings.Fields(c.Command)...)
	}
	for _, o := range all.Objects {
		names = append(names, o.Name)
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return strings.ContainsAny(name[:1], "(-") })
}}

// find is what has a name: a command with the objects that it names, or an object; all if it is "".
func (d resultTable) find(name string) (resultTable, error) {
	if name == "" {
		return d, nil
	}
	found := resultTable{[]resultCommand{}, []resultObject{}}
	for _, c := range d.Commands {
		if c.Command == name || strings.HasPrefix(c.Command, name+" ") {
			found.Commands = append(found.Commands, c)
		}
	}
	for _, o := range d.Objects {
		if strings.EqualFold(o.Name, name) || slices.ContainsFunc(found.Commands, func(c resultCommand) bool {
			return slices.Contains(strings.Fields(c.Prints), o.Name)
		}) {
			found.Objects = append(found.Objects, o)
		}
	}
	if len(found.Commands)+len(found.Objects) == 0 {
		return found, sdk.Errorf(sdk.NotFound, "schema_not_found", "no command and no object is named %q", name).
			WithHint("without a name, the command lists all of them")
	}
	return found, nil
}

// write writes the commands and the objects for people.
func (d resultTable) write(out *output) {
	width := newPage(out.Stdout).width
	for _, c := range d.Commands {
		fmt.Fprintln(out.Stdout, c.Command)
		if c.Does != "" {
			fmt.Fprintln(out.Stdout, term.Wrap("    "+plainText(c.Does), width, "    "))
		}
		fmt.Fprintln(out.Stdout, term.Wrap("    It prints "+plainText(c.Prints)+".", width, "    "))
	}
	for _, o := range d.Objects {
		fmt.Fprintf(out.Stdout, "\n%s\n%s\n", o.Name, term.Wrap("  "+plainText(o.Doc), width, "  "))
		for _, f := range o.Fields {
			maybe := ""
			if f.Optional {
				maybe = ", maybe"
			}
			fmt.Fprintln(out.Stdout, term.Wrap("    "+f.Name+" ("+plainText(f.Type)+maybe+"): "+plainText(f.Doc), width, "      "))
		}
	}
}

// plainText is a text without the marks of code.
func plainText(text string) string { return strings.ReplaceAll(text, "`", "") }
