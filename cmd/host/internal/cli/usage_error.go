package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// Errors of a command line use its own terms: arguments by their names, and a field of a
// request by the flag that sets it. The errors of the command library ("accepts 1
// arg(s)") and of operations ("priority is 99") do neither.

// argumentError is the error for too few or too many arguments, which names the arguments that
// the command takes; nil if their number is right. [ARGUMENT] may be left out, and ARGUMENT… be
// given several times.
func argumentError(c *cobra.Command, given []string) error {
	names := operands(c)
	least, most := 0, len(names)
	for _, name := range names {
		if !strings.ContainsAny(name, "[]") {
			least++
		}
		if strings.Contains(name, "…") {
			most = len(given)
		}
	}
	message := fmt.Sprintf("%s takes %s, not %d arguments", c.CommandPath(), strings.Join(names, " "), len(given))
	switch {
	case len(given) < least:
		message = fmt.Sprintf("%s needs %s", c.CommandPath(), strings.Join(names[len(given):least], " "))
	case len(given) <= most:
		return nil
	case len(names) == 0:
		message = fmt.Sprintf("%s takes no arguments, not %q", c.CommandPath(), core.Cut(given[0]))
	}
	err := sdk.Errorf(sdk.Invalid, "usage", "%s", message)
	if example, _, _ := strings.Cut(strings.TrimSpace(c.Example), "\n"); example != "" {
		err = err.WithHint("for example: %s", example)
	}
	return err
}

// usage makes one usage error of several; nil if there are none.
func usage(errs ...error) error {
	if err := core.JoinErrors(errs...); err != nil {
		return usageError{err}
	}
	return nil
}

// missingFlags is the error that names the missing required flags of a command; nil if
// none is missing.
func missingFlags(c *cobra.Command) error {
	var missing []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if _, needed := f.Annotations[cobra.BashCompOneRequiredFlag]; needed && !f.Changed {
			missing = append(missing, "--"+f.Name)
		}
	})
	if len(missing) == 0 {
		return nil
	}
	return sdk.Errorf(sdk.Invalid, "usage", "%s needs %s", c.CommandPath(), strings.Join(missing, " and "))
}

// flagError is the error for a wrong flag: there is no such flag, or its value has the
// wrong type.
func flagError(c *cobra.Command, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, dashed(f.Name)) })
		name := dashed(unknown.GetSpecifiedName())
		return usageError{sdk.Errorf(sdk.Invalid, "usage", "%s has no flag %s", c.CommandPath(), core.Cut(name)).
			WithHint("%s", sdk.DidYouMean(name, names, c.CommandPath()+" --help lists the flags"))}
	}
	if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		kind := map[string]string{
			"bool": "true or false", "int": "a whole number", "int64": "a whole number", "uint64": "a whole number from 0", "float64": "a number", "duration": "a time such as 30s",
		}
		if known, ok := errors.AsType[*sdk.Error](err); ok { // of a flag that reads its value itself
			return usageError{known}
		}
		f, value := bad.GetFlag(), core.Cut(bad.GetValue())
		if errors.Is(err, strconv.ErrRange) {
			return usageError{sdk.Errorf(sdk.Invalid, "usage", "--%s is too large: %s", f.Name, value)}
		}
		return usageError{sdk.Errorf(sdk.Invalid, "usage", "--%s must be %s, not %q", f.Name, cmp.Or(kind[f.Value.Type()], "text"), value)}
	}
	return usageError{err}
}

// checkWord refuses a flag's value that isn't one of the allowed words; "" means not
// given.
func checkWord(flag, value string, words []string) error {
	if value == "" || slices.Contains(words, value) {
		return nil
	}
	return usageError{sdk.Errorf(sdk.Invalid, "usage", "--%s %q is not one of %s", flag, core.Cut(value), strings.Join(words, ", ")).
		WithHint("%s", sdk.DidYouMean(value, words, ""))}
}

// dashed is a flag as it is written on a command line.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// unknownCommand suggests the command whose name is nearest to an unknown word.
func unknownCommand(parent *cobra.Command, word string) error {
	var names []string
	for _, c := range parent.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	hint := sdk.DidYouMean(word, names, parent.CommandPath()+" --help lists the commands")
	if parent.Name() == "memory" && slices.Contains([]string{"delete", "forget", "remove", "rm", "purge"}, word) {
		hint = "only the gate removes a memory, because of its use or on request: reflectory gate request MEMORY --erase --reason WHY"
	}
	return usageError{sdk.Errorf(sdk.Invalid, "usage", "%s has no command %q", parent.CommandPath(), core.Cut(word)).WithHint("%s", hint)}
}

// unknownWord is the error of a command line in which a word isn't a command, or nil. The
// command library prints a page of help instead where --help is somewhere in the line, and
// where the word is empty or a dash.
func unknownWord(root *cobra.Command, args []string) error {
	if len(args) == 0 || strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		return nil
	}
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd(args...)
	switch args[0] {
	case "help":
		return unknownRest(root, args[1:])
	case "completion":
		return unknownRest(root, args)
	}
	c, rest, err := root.Find(args)
	if err != nil {
		c, rest = root, args
	}
	c.InitDefaultHelpFlag()
	if !c.HasSubCommands() || c.ParseFlags(rest) != nil || c.Flags().NArg() == 0 {
		return nil // the library reports this better
	}
	return unknownCommand(c, c.Flags().Arg(0))
}

// unknownRest is the error for the first word that isn't a command, of words that are all
// commands; nil if each is. The command library doesn't check these words.
func unknownRest(root *cobra.Command, words []string) error {
	if len(words) == 0 {
		return nil
	}
	c, rest, err := root.Find(words)
	switch {
	case err != nil:
		return unknownCommand(root, words[0])
	case len(rest) > 0 && (rest[0] == "-" || !strings.HasPrefix(rest[0], "-")):
		return unknownCommand(c, rest[0])
	}
	return nil
}

// inFlags rewrites an error about a request's fields with the flags that set them, and
// reports whether the whole error is about flags: then the command line is wrong. A field
// in a file that a flag names keeps its name.
func (a *App) inFlags(c *cobra.Command, info *core.ErrorInfo) (message string, all bool) {
	if f := c.Flags().Lookup("file"); f != nil && f.Changed {
		return info.Message, false
	}
	problems, _ := info.Details["problems"].([]*core.ErrorInfo)
	if len(problems) == 0 {
		problems = []*core.ErrorInfo{info}
	}
	all = true
	var lines []string
	for _, p := range problems {
		field, _ := p.Details["field"].(string)
		field = strings.TrimPrefix(field, "options.") // of a pass
		line := p.Message
		_, rest, named := strings.Cut(": "+line, ": "+field) // after what was being done
		if flag := flagOf(c, field); flag != nil && named && !strings.HasPrefix(rest, ".") {
			line = "--" + flag.Name + rest
		} else {
			all = false
		}
		if hint := a.out.hint(p); hint != "" && len(problems) > 1 {
			line += " (" + hint + ")"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n"), all
}

// flagOf is the flag that sets a field, or nil: content is set by --content, agent_id by
// --agent, states, which may be several, by --state. If a flag names the file of a state,
// --state sets single values in it.
func flagOf(c *cobra.Command, field string) *pflag.Flag {
	if field == "" {
		return nil
	}
	name := strings.ReplaceAll(field, "_", "-")
	if file := c.Flags().Lookup("state-file"); file != nil {
		switch name {
		case "state":
			return file
		case "set":
			name = "state"
		}
	}
	for _, candidate := range []string{name, strings.TrimSuffix(name, "s"), strings.TrimSuffix(name, "-hours"), strings.TrimSuffix(name, "-ids"), strings.TrimSuffix(name, "-id")} {
		if f := c.Flags().Lookup(candidate); f != nil {
			return f
		}
	}
	return nil
}
