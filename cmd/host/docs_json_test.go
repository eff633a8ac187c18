package main

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
)

// commandRow is a command and what it prints with --json.
type commandRow struct{ Command, Doc, Result string }

func jsonPage(t *testing.T) any {
	s := newShapes(newSources(t), readFieldTexts(t))
	var rows []commandRow
	for _, o := range operation.Table() {
		result := s.typeOf(o.Out())
		if command := commandOf(t, o); command != "" {
			rows = append(rows, commandRow{command, o.Doc, result})
		}
	}
	slices.SortFunc(rows, func(a, b commandRow) int { return strings.Compare(a.Command, b.Command) })
	return map[string]any{"Commands": rows, "Objects": s.sorted()}
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
