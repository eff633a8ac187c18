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

// hint is an error's hint, with the command that follows it; "" if there is none.
func (out *output) hint(info *core.ErrorInfo) string {
	return hintLine(out.commands, info.Hint, info.Try)
}

// hintLine appends the command of an action to a hint. root is the program's command; nil
// is a program without commands.
func hintLine(root *cobra.Command, hint string, try *sdk.Action) string {
	switch {
	case try == nil:
		return hint
	case hint == "":
		return commandLine(root, try)
	}
	return hint + ": " + commandLine(root, try)
}

// commandLine writes an action as a command for a POSIX shell, with the arguments in the
// action's order. A value that the user has to choose is a word in capitals. An argument
// that the command doesn't have, because another version of the program stored the
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

// flagFor is the flag of a command that takes an argument's value, or nil.
func flagFor(c *cobra.Command, name string) *pflag.Flag {
	if c == nil {
		return nil
	}
	return flagOf(c, name)
}

// positional is the word in a command's usage that an argument replaces, such as WORKFLOW
// of "run WORKFLOW", or "".
func positional(c *cobra.Command, name string) string {
	if c == nil || c.Annotations[namespaceGiven] == byPosition { // a hint has the flag, which says what it is
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

// operands are the words of a command's usage that are neither flags nor values of flags,
// as they are written there: [STREAM] is optional.
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

// wordOf is a value as a shell word, or the word in capitals if the value isn't known.
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
