package cli

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A hint about the command line names what to type next, made of what was typed: the same words in
// the order that is meant, a text in quotes, the command that lists what an argument may be.

// listing are the commands that list what arguments may be, by the arguments' names. A name that
// stands for different things has its command's noun before it.
var listing = map[string]string{
	"RUN": "runs list", "JOB": "jobs list", "MEMORY": "memory list", "FROM": "memory list", "TO": "memory list", "memory ID": "memory list",
	"PENDING": "memory pending", "TOKEN": "token list", "SESSION": "session list", "plugin NAME": "plugin list", "knowledge ID": "knowledge list", "knowledge BY": "knowledge list",
	"inject ID": "inject list", "SNAPSHOT": "inject list", "decisions ID": "decisions list", "PLAN": "dream list NAMESPACE", "dream RUN": "dream list NAMESPACE", "STREAM": "audit show",
	"NAMESPACE": "memory namespaces", "HOST": "hosts list", "POINT": "policy describe",
}

// lackingHint is the hint for an argument that is missing.
func lackingHint(c *cobra.Command, name string) string {
	root := c.Root().Name() + " "
	if name == "WORKFLOW" {
		if found, _ := filepath.Glob("*.y*ml"); slices.Contains(found, "workflow.yaml") {
			return c.CommandPath() + " workflow.yaml"
		}
	}
	lists := listing[name]
	if noun := c.Parent(); noun != nil && listing[noun.Name()+" "+name] != "" {
		lists = listing[noun.Name()+" "+name]
	}
	if lists == "" {
		return ""
	}
	return root + lists + " lists what it may be"
}

// surplusHint is the hint for arguments that are too many, of which the first is given[at].
func surplusHint(c *cobra.Command, given []string, at int) string {
	names, root := operands(c), c.Root()
	switch text := c.Flags().Lookup("content"); {
	case given[at] == "help":
		return c.CommandPath() + " --help"
	case at == 0 && childOf(root, given[0]) != nil:
		return root.Name() + " " + given[0]
	case at == 0 && text != nil && !text.Changed:
		return c.CommandPath() + " --content " + shellWord(strings.Join(given, " "))
	case at == 1 && slices.Contains([]string{"[QUERY]", "QUERY", "TEXT", "TEXT|-", "INTENT"}, names[0]):
		return "a text with spaces needs quotes: " + c.CommandPath() + " " + shellWord(strings.Join(given, " "))
	}
	hint := ""
	c.Flags().Visit(func(f *pflag.Flag) { // a text without quotes after a flag
		if hint == "" && f.Value.Type() == "string" && slices.Contains([]string{"content", "query", "reason", "title", "note", "summary", "text"}, f.Name) {
			hint = "a text with spaces needs quotes: --" + f.Name + " " + shellWord(f.Value.String()+" "+strings.Join(given[at:], " "))
		}
	})
	return hint
}

// rearranged is the command that is meant by a word that isn't a command, with the words after it:
// a verb before its noun, a workflow's file without its verb, or a command in capitals.
func rearranged(parent *cobra.Command, word string, rest []string) string {
	root := parent.Root()
	if c := childOf(parent, strings.ToLower(word)); c != nil {
		return "commands are in small letters: " + c.CommandPath()
	}
	if parent != root {
		return ""
	}
	if extension := filepath.Ext(word); extension == ".yaml" || extension == ".yml" {
		return root.Name() + " run " + shellWord(word)
	}
	if len(rest) == 0 {
		return ""
	}
	for _, noun := range root.Commands() {
		if name := noun.Name(); noun.HasSubCommands() && (name == rest[0] || name == rest[0]+"s" || name+"s" == rest[0] || strings.TrimSuffix(name, "y")+"ies" == rest[0]) {
			if c := childOf(noun, word); c != nil {
				return "did you mean: " + strings.TrimSuffix(c.UseLine(), " [flags]")
			}
			return meant(noun, word)
		}
	}
	return ""
}

// elsewhereCommand is the only command of that name in a group, as a hint; "" if there is none, or
// several.
func elsewhereCommand(root *cobra.Command, word string) string {
	var found []string
	for _, noun := range root.Commands() {
		if c := childOf(noun, strings.ToLower(word)); c != nil {
			found = append(found, strings.TrimSuffix(c.UseLine(), " [flags]"))
		}
	}
	if len(found) != 1 {
		return ""
	}
	return "did you mean: " + found[0]
}

// elsewhereFlag is the hint for a flag that other commands have: of the same group, if one of them
// does.
func elsewhereFlag(c *cobra.Command, name string) string {
	name = strings.TrimLeft(name, "-")
	for _, operand := range operands(c) {
		if strings.EqualFold(strings.Trim(operand, "[]…"), name) {
			return "it is an argument, not a flag: " + strings.TrimSuffix(c.UseLine(), " [flags]")
		}
	}
	var found []string
	for at := c.Parent(); at != nil && len(found) == 0 && name != ""; at = at.Parent() {
		for _, other := range at.Commands() {
			if other.LocalNonPersistentFlags().Lookup(name) != nil {
				found = append(found, other.CommandPath())
			}
		}
	}
	if len(found) == 0 || len(found) > 3 {
		return ""
	}
	return "this flag is for " + strings.Join(found, ", ") + ": " + found[0] + " --" + name
}
