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
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/sdk"
)

// Errors of a command line use its own terms: arguments by their names, and a field of a
// request by the flag that sets it. The errors of the command library ("accepts 1
// arg(s)") and of operations ("priority is 99") do neither.

// argumentError is the error for too few or too many arguments, which names the arguments that
// the command takes; nil if their number is right. [ARGUMENT] may be left out, and ARGUMENT… be
// given several times.
func argumentError(c *cobra.Command, given []string) error {
	if c.Annotations[namespaceGiven] == byFlag {
		given = placed(c, given)
	}
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
	var message, hint string
	switch {
	case len(given) < least:
		message = fmt.Sprintf("%s needs %s", c.CommandPath(), strings.Join(names[len(given):least], " "))
		hint = lackingHint(c, strings.Trim(names[len(given)], "…"))
	case len(given) <= most:
		return nil
	case len(names) == 0:
		message = fmt.Sprintf("%s takes no arguments, not %q", c.CommandPath(), core.Cut(given[0]))
		hint = surplusHint(c, given, 0)
	default:
		message = fmt.Sprintf("%s takes %s, not %d arguments: %q is too many", c.CommandPath(), strings.Join(names, " "), len(given), core.Cut(given[most]))
		hint = surplusHint(c, given, most)
	}
	if example, _, _ := strings.Cut(strings.TrimSpace(c.Example), "\n"); hint == "" && example != "" {
		hint = "for example: " + example
	}
	return sdk.Errorf(sdk.Invalid, "usage", "%s", message).WithHint("%s", hint)
}

// usage makes one usage error of several; nil if there are none.
func usage(errs ...error) error {
	if err := core.JoinErrors(errs...); err != nil {
		return usageError{err}
	}
	return nil
}

// missingFlags is the error that names the required flags of a command that are missing, except
// the given ones, whose values are wrong; nil if none is missing.
func missingFlags(c *cobra.Command, given map[*pflag.Flag]bool) error {
	var missing []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if _, needed := f.Annotations[cobra.BashCompOneRequiredFlag]; needed && !f.Changed && !given[f] {
			missing = append(missing, "--"+f.Name)
		}
	})
	if len(missing) == 0 {
		return nil
	}
	return sdk.Errorf(sdk.Invalid, "usage", "%s needs %s", c.CommandPath(), strings.Join(missing, " and "))
}

// mistakeFlag is the name of a flag that stands for a word of the command line that can't be
// parsed. Its value is the number of the mistake.
const mistakeFlag = "\x00"

// line is a command line that can't be parsed, of which all mistakes are looked for.
type line struct {
	command  *cobra.Command
	words    []string
	replaced []error // the mistakes of the words that were replaced
	errs     []error // of the last round, in the order of the words
	wrong    map[*pflag.Flag]bool
}

// mistakes are all mistakes of a command line, in which cause was found first. The command library
// stops at the first one. So the line is parsed again and again, with each word at which it stops
// replaced, until it is parsed to its end.
func (a *App) mistakes(c *cobra.Command, cause error) error {
	_, words, err := c.Root().Find(a.args)
	if err != nil {
		return usage(flagError(c, cause))
	}
	l := &line{command: c, words: slices.Clone(words), wrong: map[*pflag.Flag]bool{}}
	c.Flags().Var(&parsed{kind: "string", parse: func(number string) error {
		n, err := strconv.Atoi(number)
		l.errs = append(l.errs, l.replaced[n])
		return err
	}}, mistakeFlag, "")
	for again := true; again; {
		l.errs = nil
		stop := c.Flags().ParseAll(l.words, l.set)
		again = stop != nil && l.replace(stop)
	}
	if given := c.Flags().Args(); !c.HasSubCommands() {
		if len(l.replaced) > 0 { // the value of an unknown flag looks like an argument: nobody knows which are too many
			given = given[:min(len(given), len(operands(c)))]
		}
		l.errs = append(l.errs, argumentError(c, given), missingFlags(c, l.wrong))
	}
	l.errs = append(l.errs, emptyNamespace(c))
	if err := a.loadConfig(); config.OutsideFile(err) {
		l.errs = append(l.errs, err)
	}
	return usage(l.errs...)
}

// set sets a flag. A value that isn't right is noted, unless the flag was given without a value
// and this is the next flag: that is returned.
func (l *line) set(f *pflag.Flag, value string) error {
	err := l.command.Flags().Set(f.Name, value)
	if err == nil {
		return nil
	}
	l.wrong[f] = true
	if name, isFlag := strings.CutPrefix(value, "--"); isFlag {
		if name, _, _ = strings.Cut(name, "="); l.command.Flags().Lookup(name) != nil {
			return noValue{f, value}
		}
	}
	l.errs = append(l.errs, flagError(l.command, err))
	return nil
}

// noValue is the error of a flag that is followed by another flag in place of its value.
type noValue struct {
	flag *pflag.Flag
	next string
}

func (e noValue) Error() string { return "--" + e.flag.Name + " has no value" }

// replace replaces the word at which the parser stopped, and reports whether it found it.
func (l *line) replace(stop error) bool {
	at := -1
	if unknown, is := errors.AsType[*pflag.NotExistError](stop); is {
		letters := unknown.GetSpecifiedShortnames()
		at = slices.IndexFunc(l.words, func(word string) bool {
			if letters == "" {
				name, _, _ := strings.Cut(word, "=")
				return name == "--"+unknown.GetSpecifiedName()
			}
			return strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "--") && strings.HasSuffix(word, letters)
		})
	} else if syntax, is := errors.AsType[*pflag.InvalidSyntaxError](stop); is {
		at = slices.Index(l.words, syntax.GetSpecifiedFlag())
	} else if missing, is := errors.AsType[*pflag.ValueRequiredError](stop); is {
		at, l.wrong[missing.GetFlag()] = len(l.words)-1, true
	} else if missing, is := errors.AsType[noValue](stop); is {
		at = slices.Index(l.words, missing.next) - 1
	}
	if at < 0 {
		l.errs = append(l.errs, flagError(l.command, stop))
		return false
	}
	l.words[at] = fmt.Sprintf("--%s=%d", mistakeFlag, len(l.replaced))
	l.replaced = append(l.replaced, flagError(l.command, stop))
	return true
}

// valueKinds are what flags take, by their types.
var valueKinds = map[string]string{
	"bool": "true or false", "int": "a whole number", "int64": "a whole number", "uint64": "a whole number from 0", "float64": "a number", "duration": "a time such as 30s",
}

// flagError is the error for a wrong flag: there is no such flag, or it has no value, or one of the
// wrong type.
func flagError(c *cobra.Command, err error) error {
	if known, ok := errors.AsType[*sdk.Error](err); ok { // of a flag that reads its value itself
		return known
	}
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Name != mistakeFlag {
				names = append(names, dashed(f.Name))
			}
		})
		name := dashed(unknown.GetSpecifiedName())
		if letters := unknown.GetSpecifiedShortnames(); c.Flags().Lookup(letters) != nil {
			return sdk.Errorf(sdk.Invalid, "usage", "%s has no flag -%s", c.CommandPath(), letters).WithHint("did you mean %q?", "--"+letters)
		}
		near := sdk.DidYouMean(name, names, "")
		return sdk.Errorf(sdk.Invalid, "usage", "%s has no flag %s", c.CommandPath(), core.Cut(name)).
			WithHint("%s", cmp.Or(meantFlag(c, name), near, elsewhereFlag(c, name), c.CommandPath()+" --help lists the flags"))
	}
	if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		f, value := bad.GetFlag(), core.Cut(bad.GetValue())
		if errors.Is(err, strconv.ErrRange) {
			return sdk.Errorf(sdk.Invalid, "usage", "--%s is too large: %s", f.Name, value)
		}
		return sdk.Errorf(sdk.Invalid, "usage", "--%s must be %s, not %q", f.Name, cmp.Or(valueKinds[f.Value.Type()], "text"), value)
	}
	var f *pflag.Flag
	if missing, ok := errors.AsType[noValue](err); ok {
		f = missing.flag
	} else if missing, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		f = missing.GetFlag()
	} else {
		return sdk.Errorf(sdk.Invalid, "usage", "%w", err)
	}
	name, _ := pflag.UnquoteUsage(f)
	return sdk.Errorf(sdk.Invalid, "usage", "--%s needs a value: %s", f.Name, cmp.Or(valueKinds[f.Value.Type()], name))
}

// dashed is a flag as it is written on a command line.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// unknownCommand suggests what an unknown word means in other tools, else the command whose name is
// nearest to it. rest are the words after it.
func unknownCommand(parent *cobra.Command, word string, rest ...string) error {
	var names []string
	for _, c := range parent.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	hint := cmp.Or(rearranged(parent, word, rest), meant(parent, word), sdk.DidYouMean(word, names, ""), elsewhereCommand(parent.Root(), word), parent.CommandPath()+" --help lists the commands")
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
	if at := firstWord(c, rest); at >= 0 && c.HasSubCommands() {
		return unknownCommand(c, rest[at], rest[at+1:]...)
	}
	return nil
}

// firstWord is the place of the first word of a command line that is neither a flag nor the value of
// one; -1 if there is none. A word after an unknown flag may be its value, so then there is none.
func firstWord(c *cobra.Command, words []string) int {
	for i := 0; i < len(words); i++ {
		word := words[i]
		if word == "" || word == "-" || word[0] != '-' {
			return i
		}
		if word == "--" {
			if i+1 < len(words) {
				return i + 1
			}
			return -1
		}
		name, _, hasValue := strings.Cut(strings.TrimLeft(word, "-"), "=")
		f := c.Flags().Lookup(name)
		if f == nil && word[1] != '-' {
			f = c.Flags().ShorthandLookup(word[len(word)-1:])
		}
		if f == nil {
			f = c.InheritedFlags().Lookup(name)
		}
		switch {
		case f == nil:
			return -1
		case f.NoOptDefVal == "" && !hasValue:
			i++
		}
	}
	return -1
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
			if candidate == "namespace" && c.Annotations[namespaceGiven] == byFlag && !f.Changed {
				return nil // it was given by its position
			}
			return f
		}
	}
	return nil
}
