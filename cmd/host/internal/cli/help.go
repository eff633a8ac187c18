package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
)

// A help page has only what its command needs: the flags that every command takes are on
// a separate page, and commands are grouped by purpose. Pages have at most 80 columns,
// which fit a terminal, a mail and half a screen.

// helpWidth is the maximum width of a page, in columns.
const helpWidth = 80

// groups are the purposes of commands, in the order in which a newcomer meets them.
var groups = []struct {
	id, title string
	commands  []string
}{
	{"run", "Run workflows", []string{"try", "init", "run", "resume", "replay", "runs", "evaluate", "correct", "workflow", "discover"}},
	{"remember", "Remember what was learnt", []string{"memory", "reflect", "session", "knowledge", "dream", "inject"}},
	{"govern", "Govern what is remembered", []string{"governance", "policy", "decisions", "gate", "evidence"}},
	{"extend", "Extend with plugins", []string{"plugin"}},
	{"operate", "Operate the host", []string{"serve", "hosts", "tenant", "jobs", "mcp", "connect", "hook", "open", "status", "doctor", "stats", "config", "store", "audit", "token", "schema", "version", "verify-release", "completion", "help"}},
}

// flagsTopic is the page of the flags that every command takes.
func flagsTopic() *cobra.Command {
	return &cobra.Command{
		Use: "flags", Short: "The flags that every command takes",
		Long: "These flags can be given to every command, before or after its name. Most can also\nbe set in reflectory.yaml or by an environment variable. To see each setting with its\nvalue and its origin: reflectory config show.",
	}
}

// help prints a command's page.
func help(c *cobra.Command, _ []string) {
	p := newPage(c.OutOrStdout())
	text := c.Long
	if text == "" {
		text = c.Short + "."
	}
	p.paragraphs(text)
	if c.Runnable() || c.HasAvailableSubCommands() {
		p.title("Usage")
		p.usage(c)
	}
	if c.Example != "" {
		p.title("Examples")
		for line := range strings.Lines(c.Example) {
			p.command(strings.TrimSpace(line))
		}
	}
	p.terms(c)
	p.commands(c)
	topic := !c.Runnable() && !c.HasAvailableSubCommands() // a page, not a command
	flags := c.LocalNonPersistentFlags()
	if c.Name() == "flags" {
		flags = c.Root().PersistentFlags()
	}
	if flags.HasAvailableFlags() && (!topic || c.Name() == "flags") {
		p.title("Flags")
		fmt.Fprint(p.w, flags.FlagUsagesWrapped(p.width))
	}
	switch {
	case !c.HasParent():
		p.title("More")
		p.entry("reflectory COMMAND --help", "a command's page, with an example", 27)
		p.entry("reflectory help flags", "the flags that every command takes", 27)
		p.entry("reflectory help terms", "what the names in results mean", 27)
	case !topic:
		fmt.Fprintf(p.w, "\n%s\n", term.Wrap("For the flags that every command takes: reflectory help flags", p.width, "  "))
	}
}

// page writes a help page.
type page struct {
	w     io.Writer
	width int
}

// newPage is a page on w, which a narrow terminal makes narrower.
func newPage(w io.Writer) page {
	if width := term.Width(w); width > 0 {
		return page{w, min(width, helpWidth)}
	}
	return page{w, helpWidth}
}

func (p page) title(text string) {
	text += ":"
	if term.Styled(p.w) {
		text = "\x1b[1m" + text + "\x1b[0m"
	}
	fmt.Fprintf(p.w, "\n%s\n", text)
}

// paragraphs wraps a text again, except indented lines.
func (p page) paragraphs(text string) {
	var block, indent string
	flush := func() {
		if block != "" {
			p.block(block, indent)
		}
		block, indent = "", ""
	}
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		lead := len(line) - len(strings.TrimLeft(line, " "))
		switch {
		case line == "":
			flush()
			fmt.Fprintln(p.w)
		case strings.HasPrefix(line, "\t"): // a command of the library's pages
			flush()
			p.command(strings.TrimSpace(line))
		case block != "" && lead == len(indent) && (lead == 0 || block[:lead] != indent): // it continues
			block += " " + strings.TrimSpace(line)
		default:
			flush()
			block, indent = line, strings.Repeat(" ", column(line))
		}
	}
	flush()
}

// block writes a paragraph, or a name and its description, which is indented by the width
// of indent. A name that fills more than half a line isn't treated as one.
func (p page) block(text, indent string) {
	if len(indent) > p.width/2 {
		fmt.Fprintln(p.w, term.Wrap(text, p.width, "    "))
		return
	}
	name, rest := text[:len(indent)], text[len(indent):]
	rest = term.Wrap(rest, p.width-len(indent), "")
	fmt.Fprintln(p.w, name+strings.ReplaceAll(rest, "\n", "\n"+indent))
}

// column is where the text of a line begins: after the indent and, in a list, after the
// name and the spaces that follow the name. Only an indented line has a name.
func column(line string) int {
	lead := len(line) - len(strings.TrimLeft(line, " "))
	if lead == 0 {
		return 0
	}
	if at := strings.LastIndex(line[lead:], "   "); at >= 0 {
		return lead + at + len("   ")
	}
	if at := strings.Index(line[lead:], "  "); at >= 0 {
		return lead + at + len("  ")
	}
	return lead
}

// usage writes the usage of a command.
func (p page) usage(c *cobra.Command) {
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(p.w, "  %s COMMAND\n", c.CommandPath())
		return
	}
	p.command(c.UseLine())
}

// command writes a command line. A long command line continues on the next line, in the
// syntax of a shell.
func (p page) command(line string) {
	words := quotedWords(line)
	const lead, more = "  ", "      "
	out := lead
	for i, word := range words {
		room := p.width - len(" \\")
		if i == len(words)-1 {
			room = p.width
		}
		switch {
		case i == 0:
			out += word
		case term.WidthOf(out)+1+term.WidthOf(word) > room:
			fmt.Fprintln(p.w, out+" \\")
			out = more + word
		default:
			out += " " + word
		}
	}
	fmt.Fprintln(p.w, out)
}

// quotedWords splits a command line at its spaces, except spaces within quotes; a flag
// stays with its value.
func quotedWords(line string) (words []string) {
	quote := rune(0)
	start := 0
	for i, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote = r
		case quote == 0 && r == ' ':
			words = append(words, line[start:i])
			start = i + 1
		}
	}
	words = append(words, line[start:])
	for i := len(words) - 2; i > 0; i-- {
		if strings.HasPrefix(words[i], "-") && !strings.HasPrefix(words[i+1], "-") || words[i] == ">" {
			words = slices.Replace(words, i, i+2, words[i]+" "+words[i+1])
		}
	}
	return words
}

// commands lists the children of a command.
func (p page) commands(c *cobra.Command) {
	listed := map[string]*cobra.Command{}
	longest := 0
	for _, child := range c.Commands() {
		if child.IsAvailableCommand() || child.Name() == "help" {
			listed[child.Name()] = child
			longest = max(longest, len(child.Name()))
		}
	}
	if len(listed) == 0 {
		return
	}
	if c.HasParent() {
		p.title("Commands")
		for _, child := range c.Commands() {
			if listed[child.Name()] != nil {
				p.entry(child.Name(), child.Short, longest)
			}
		}
		return
	}
	for _, g := range groups {
		p.title(g.title)
		for _, name := range g.commands {
			if child := listed[name]; child != nil {
				p.entry(name, child.Short, longest)
			}
		}
	}
}

// entry writes a name and its description.
func (p page) entry(name, what string, longest int) {
	indent := strings.Repeat(" ", longest+4)
	what = term.Wrap(what, p.width-len(indent), "")
	fmt.Fprintf(p.w, "  %-*s  %s\n", longest, name, strings.ReplaceAll(what, "\n", "\n"+indent))
}
