package cli

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// hint is what an error says to do, with the command that does it; "" where there is none.
func (out *output) hint(info *core.ErrorInfo) string {
	return hintLine(out.commands, info.Hint, info.Try)
}

// hintLine puts the command of an action behind a hint. root is the program's command; nil
// is taken for one that has no such command.
func hintLine(root *cobra.Command, hint string, try *sdk.Action) string {
	switch {
	case try == nil:
		return hint
	case hint == "":
		return commandLine(root, try)
	}
	return hint + ": " + commandLine(root, try)
}

// commandLine spells an action as a command for a POSIX shell, its arguments in the order
// in which the action has them. What has yet to be chosen is a word in capitals. An
// argument that the command doesn't know, since another version of the program stored the
// action, is written as a flag.
func commandLine(root *cobra.Command, try *sdk.Action) string {
	words := []string{"reflectory", try.Verb}
	c := commandOf(root, try.Verb)
	for _, arg := range try.Args {
		if place := positional(c, arg.Name); place != "" {
			words = append(words, wordOf(arg.Value, place))
			continue
		}
		name, meta := strings.ReplaceAll(arg.Name, "_", "-"), strings.ToUpper(arg.Name)
		if f := flagFor(c, arg.Name); f != nil {
			name = f.Name
			if called, _ := pflag.UnquoteUsage(f); strings.Contains(f.Usage, "`") {
				meta = strings.ToUpper(called)
			}
		}
		switch on, isBool := arg.Value.(bool); {
		case isBool && on:
			words = append(words, "--"+name)
		case isBool:
			words = append(words, "--"+name+"=false")
		default:
			words = append(words, "--"+name, wordOf(arg.Value, meta))
		}
	}
	return strings.Join(words, " ")
}

// commandOf is the command of a verb, or nil.
func commandOf(root *cobra.Command, verb string) *cobra.Command {
	if root == nil {
		return nil
	}
	c, rest, err := root.Find(strings.Fields(verb))
	if err != nil || len(rest) > 0 || c == root {
		return nil
	}
	return c
}

// flagFor is the flag of a command that an argument is the value of, or nil.
func flagFor(c *cobra.Command, name string) *pflag.Flag {
	if c == nil {
		return nil
	}
	return flagOf(c, name)
}

// positional is the word of a command's usage that an argument takes the place of, such as
// WORKFLOW of "run WORKFLOW", or "".
func positional(c *cobra.Command, name string) string {
	if c == nil {
		return ""
	}
	for _, word := range operands(c) {
		for _, alternative := range strings.FieldsFunc(word, func(r rune) bool { return !unicode.IsUpper(r) }) {
			if strings.EqualFold(alternative, name) {
				return alternative
			}
		}
	}
	return ""
}

// operands are the words of a command's usage that are no flags and no values of flags,
// as they are written there: [STREAM] needn't be given.
func operands(c *cobra.Command) []string {
	var words []string
	flag := false
	for _, word := range strings.Fields(c.Use)[1:] {
		if !flag && !strings.HasPrefix(word, "-") {
			words = append(words, word)
		}
		flag = strings.HasPrefix(word, "-")
	}
	return words
}

// wordOf is a value as a shell takes it, or the word in capitals for one that isn't known.
func wordOf(value any, unknown string) string {
	if value == nil {
		return unknown
	}
	return shellWord(fmt.Sprint(value))
}

// shellWord writes a word for a POSIX shell, in quotes where it needs them.
func shellWord(word string) string {
	plain := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_@%+=:,./-…", r)
	}
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool { return !plain(r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
