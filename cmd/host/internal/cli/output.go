package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
)

// output is where a command's results and messages go, and how they are printed. It knows
// no operation: a noun's file asks for a result, and gives it to a function that prints it.
type output struct {
	Stdout, Stderr io.Writer
	// term is what people see while a command works; nil before its settings are read.
	term *term.Printer
	// json is --json.
	json bool
	// commands is the command tree that runs, which hints are spelled with.
	commands *cobra.Command
	// result is the command's as JSON, once there is one.
	result []byte
}

// say prints a line of a result.
func (out *output) say(format string, args ...any) error {
	_, err := fmt.Fprintf(out.Stdout, format+"\n", args...)
	return err
}

// lines prints a text of one or several lines, broken between words where the terminal is
// too narrow, and whole elsewhere. What goes on in the next line begins with the indent.
func (out *output) lines(indent, format string, args ...any) {
	fmt.Fprintln(out.Stdout, term.Wrap(fmt.Sprintf(format, args...), term.Width(out.Stdout), indent))
}

// printJSON prints a command's result as indented JSON, once the command has ended: what
// goes wrong until then, as when the store is closed, is in the same value.
func (out *output) printJSON(v any) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	out.result = text.Bytes()
	return err
}

// flush prints the result as JSON, if there is one.
func (out *output) flush() error {
	if out.result == nil {
		return nil
	}
	_, err := out.Stdout.Write(term.JSON(out.result))
	return err
}

// printResult prints a result: as JSON, or a line of it.
func (out *output) printResult(result any, format string, args ...any) error {
	if out.json {
		return out.printJSON(result)
	}
	return out.say(format, args...)
}

// showWith shows a result that there is whether or not the command failed, such as a purge
// that is done although files hold what it removed still.
func showWith(err error, show func() error) error {
	if shown := show(); err == nil {
		return shown
	}
	return err
}

// printDone prints what was done: as JSON, or a line for people on standard error.
func (out *output) printDone(result any, format string, args ...any) error {
	if out.json {
		return out.printJSON(result)
	}
	out.term.Line("%s", term.Clean(fmt.Sprintf(format, args...)))
	return nil
}

// table prints rows in aligned columns.
func (out *output) table(header []string, rows [][]string) error {
	return term.Table(out.Stdout, header, rows)
}

// prose is table where the last column explains, and is broken rather than cut.
func (out *output) prose(header []string, rows [][]string) error {
	return term.Prose(out.Stdout, header, rows)
}

// cell makes a text from outside a cell of a table, which cuts it where it has to.
func cell(text string) string { return strings.TrimSpace(term.Clean(text)) }

// printSection shows a title and, below it, what there is under each name.
func (out *output) printSection(title string, rows [][2]string) {
	fmt.Fprintln(out.Stdout, title)
	const indent = "               " // the width of a name
	width := max(0, term.Width(out.Stdout)-len(indent))
	for _, row := range rows {
		if row[1] != "" {
			fmt.Fprintf(out.Stdout, "  %-12s %s\n", row[0], strings.ReplaceAll(term.Wrap(term.Clean(row[1]), width, ""), "\n", "\n"+indent))
		}
	}
}

// preview is the beginning of a text that may be long, after so many columns: as much as
// the terminal's line holds, or 200 characters elsewhere.
func (out *output) preview(after int, text string) string {
	if width := term.Width(out.Stdout); width > 0 {
		return term.Fit(term.Clean(text), max(1, width-after))
	}
	return term.Cut(text, 200)
}

// oneLine makes a text from outside fit a line of progress.
func oneLine(text string) string { return term.Cut(strings.TrimSpace(text), 100) }

// plural is a count with its noun.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
