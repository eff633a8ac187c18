package main

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/core/jsontext"
)

// commandRow is a command and what it prints with --json.
type commandRow struct {
	Command string `json:"command"`
	Does    string `json:"does,omitempty"`
	Prints  string `json:"prints"`
}

// linked is a link of a page: what the program prints has none.
var linked = regexp.MustCompile(`\[([^]]+)\]\([^)]*\)`)

func unlinked(text string) string { return linked.ReplaceAllString(text, "$1") }

// TestDocs_ResultsAreMadeFromTheOperations makes what reflectory schema prints.
func TestDocs_ResultsAreMadeFromTheOperations(t *testing.T) {
	s := newShapes(newSources(t), readFieldTexts(t))
	var rows []commandRow
	for _, o := range operation.Table() {
		result := unlinked(s.typeOf(o.Out()))
		if command := commandOf(t, o); command != "" {
			rows = append(rows, commandRow{command, o.Doc, result})
		}
	}
	others, err := os.ReadFile("testdata/docs/commands.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(others)) {
		if command, prints, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && !strings.HasPrefix(line, "#") {
			rows = append(rows, commandRow{Command: command, Prints: prints})
		}
	}
	slices.SortStableFunc(rows, func(a, b commandRow) int { return strings.Compare(a.Command, b.Command) })
	objects := s.sorted()
	for _, o := range objects {
		for i := range o.Fields {
			o.Fields[i].Type = unlinked(o.Fields[i].Type)
		}
	}
	coretest.Golden(t, "../internal/cli/results.json", `{"commands":[`+inLines(rows)+`],"objects":[`+inLines(objects)+"]}\n")
}

// inLines is a list as JSON, with a line for each item.
func inLines[T any](items []T) string {
	lines := make([]string, len(items))
	for i, item := range items {
		lines[i] = "\n" + string(jsontext.MustEncode(item))
	}
	return strings.Join(lines, ",")
}

var commandWord = regexp.MustCompile(`^[a-z]+$`)

// commandOf is the command of an operation, as surfaces_test.go has it; "" is none.
func commandOf(t *testing.T, o operation.Operation) string {
	line := commandLines[o.Name]
	if line == nil {
		return ""
	}
	var words []string
	for _, word := range line(&operationtest.World{T: t, Folder: t.TempDir()}, reflect.New(o.In()).Interface()) {
		if !commandWord.MatchString(word) || word == "candidate" {
			break
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}
