package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
)

// say prints a line of a result.
func (a *App) say(format string, args ...any) error {
	_, err := fmt.Fprintf(a.Stdout, format+"\n", args...)
	return err
}

// printJSON prints a command's result as indented JSON, once the command has ended: what
// goes wrong until then, as when the store is closed, is in the same value.
func (a *App) printJSON(v any) error {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	a.result = out.Bytes()
	return err
}

// flush prints the result as JSON, if there is one.
func (a *App) flush() error {
	if a.result == nil {
		return nil
	}
	_, err := a.Stdout.Write(term.JSON(a.result))
	return err
}

// printResult prints a result: as JSON, or a line of it.
func (a *App) printResult(result any, format string, args ...any) error {
	if a.flags.json {
		return a.printJSON(result)
	}
	return a.say(format, args...)
}

// showWith shows a result that there is whether or not the command failed, such as a purge
// that is done although files hold what it removed still.
func showWith(err error, show func() error) error {
	if shown := show(); err == nil {
		return shown
	}
	return err
}

// printDone prints what was done: as JSON, or a line for people beside the results.
func (a *App) printDone(result map[string]any, format string, args ...any) error {
	if a.flags.json {
		return a.printJSON(result)
	}
	a.term.Line("%s", term.Clean(fmt.Sprintf(format, args...)))
	return nil
}

// table prints rows in aligned columns.
func (a *App) table(header []string, rows [][]string) error {
	return term.Table(a.Stdout, header, rows)
}

// prose is table where the last column explains, and is broken rather than cut.
func (a *App) prose(header []string, rows [][]string) error {
	return term.Prose(a.Stdout, header, rows)
}

// cell makes a text from outside a cell of a table, which cuts it where it has to.
func cell(text string) string { return strings.TrimSpace(term.Clean(text)) }

// printSection shows a title and, below it, what there is under each name.
func (a *App) printSection(title string, rows [][2]string) {
	fmt.Fprintln(a.Stdout, title)
	const indent = "               " // the width of a name
	width := max(0, term.Width(a.Stdout)-len(indent))
	for _, row := range rows {
		if row[1] != "" {
			fmt.Fprintf(a.Stdout, "  %-12s %s\n", row[0], strings.ReplaceAll(term.Wrap(term.Clean(row[1]), width, ""), "\n", "\n"+indent))
		}
	}
}

// preview is the beginning of a text that may be long, after so many columns: as much as
// the terminal's line holds, or 200 characters elsewhere.
func (a *App) preview(after int, text string) string {
	if width := term.Width(a.Stdout); width > 0 {
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
