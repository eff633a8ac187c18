package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core"
)

// say prints a line of a result.
func (a *App) say(format string, args ...any) error {
	_, err := fmt.Fprintf(a.Stdout, format+"\n", args...)
	return err
}

// printJSON prints one value as indented JSON.
func printJSON(w io.Writer, v any) error {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(term.JSON(out.Bytes()))
	return err
}

// printResult prints a result: as JSON, or a line of it.
func (a *App) printResult(result any, format string, args ...any) error {
	if a.flags.json {
		return printJSON(a.Stdout, result)
	}
	return a.say(format, args...)
}

// showWith shows a result that there is whether or not the command failed, such as a purge
// that is done although files hold what it removed still. With --json the result is in the
// same object as the error.
func (a *App) showWith(err error, result any, show func() error) error {
	if err != nil && a.flags.json {
		var members map[string]json.RawMessage
		_ = json.Unmarshal(core.MustJSON(result), &members) // results are objects
		done := map[string]any{}
		for name, value := range members {
			done[name] = value
		}
		return partial{err, done}
	}
	if shown := show(); err == nil {
		return shown
	}
	return err
}

// printDone prints what was done: as JSON, or a line for people beside the results.
func (a *App) printDone(result map[string]any, format string, args ...any) error {
	if a.flags.json {
		return printJSON(a.Stdout, result)
	}
	a.term.Line("%s", term.Clean(fmt.Sprintf(format, args...)))
	return nil
}

// table prints rows in aligned columns.
func (a *App) table(header []string, rows [][]string) error {
	return term.Table(a.Stdout, header, rows)
}

// printSection shows a title and, below it, what there is under each name.
func (a *App) printSection(title string, rows [][2]string) {
	fmt.Fprintln(a.Stdout, title)
	for _, row := range rows {
		if row[1] != "" {
			fmt.Fprintf(a.Stdout, "  %-12s %s\n", row[0], term.Clean(row[1]))
		}
	}
}

// orEmpty makes a list that is nil an empty one, which JSON shows as [].
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// oneLine makes a text from outside fit a line of progress.
func oneLine(text string) string { return term.Cut(strings.TrimSpace(text), 100) }

// size is a number of bytes for people.
func size(bytes int64) string {
	switch {
	case bytes < 1<<10:
		return fmt.Sprintf("%d B", bytes)
	case bytes < 1<<20:
		return fmt.Sprintf("%d KiB", bytes>>10)
	}
	return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
}

// plural is a count with its noun.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
