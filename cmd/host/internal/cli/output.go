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

// output prints a command's results and messages. It knows no operations: a command gets
// a result, and passes it to a function that prints it.
type output struct {
	Stdout, Stderr io.Writer
	// term shows people progress and messages; nil before the settings are read.
	term *term.Printer
	// json is whether --json is given.
	json bool
	// commands is the tree of the running command, with which hints are rendered.
	commands *cobra.Command
	// result is the command's result as JSON, once there is one.
	result []byte
}

// say prints a line of a result.
func (out *output) say(format string, args ...any) error {
	_, err := fmt.Fprintf(out.Stdout, format+"\n", args...)
	return err
}

// lines prints a text of one or several lines, wrapped between words if the terminal is
// too narrow. Continuation lines begin with indent.
func (out *output) lines(indent, format string, args ...any) {
	fmt.Fprintln(out.Stdout, term.Wrap(fmt.Sprintf(format, args...), term.Width(out.Stdout), indent))
}

// printJSON prints a command's result as indented JSON when the command has ended, so
// that an error until then, such as from closing the store, is in the same value.
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

// prose is table with explanations in the last column, which are wrapped rather than cut.
func (out *output) prose(header []string, rows [][]string) error {
	return term.Prose(out.Stdout, header, rows)
}

// cell prepares an untrusted text for a cell of a table, which cuts it if necessary.
func cell(text string) string { return strings.TrimSpace(term.Clean(text)) }

// printSection shows a title and, below it, names with their texts.
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

// preview is the beginning of a text that may be long: as much as fits on the terminal's
// line after the given number of columns, or 200 characters elsewhere.
func (out *output) preview(after int, text string) string {
	if width := term.Width(out.Stdout); width > 0 {
		return term.Fit(term.Clean(text), max(1, width-after))
	}
	return term.Cut(text, 200)
}

// oneLine makes an untrusted text fit into a line of progress.
func oneLine(text string) string { return term.Cut(strings.TrimSpace(text), 100) }

// plural is a count with its noun.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
