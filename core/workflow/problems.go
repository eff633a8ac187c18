package workflow

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// maxProblems bounds what one error lists: more than anybody reads.
const maxProblems = 100

// Problem is one thing wrong with a workflow. Line and column count from 1.
type Problem struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

func (p Problem) String() string {
	text := fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Message)
	if p.Hint != "" {
		text += " (" + p.Hint + ")"
	}
	return text
}

// pos is a place in the workflow file, from 1.
type pos struct{ line, column int }

// problems collects what is wrong with one file.
type problems struct {
	file string
	list []Problem
	seen map[Problem]bool
}

func (p *problems) add(at pos, hint, format string, args ...any) {
	found := Problem{File: p.file, Line: max(1, at.line), Column: max(1, at.column), Message: fmt.Sprintf(format, args...), Hint: hint}
	if p.seen[found] {
		return
	}
	if p.seen == nil {
		p.seen = map[Problem]bool{}
	}
	p.seen[found] = true
	p.list = append(p.list, found)
}

// err is the one error that lists every problem in the file's order, or nil.
func (p *problems) err() error {
	if len(p.list) == 0 {
		return nil
	}
	slices.SortStableFunc(p.list, func(a, b Problem) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	shown := p.list[:min(len(p.list), maxProblems)]
	lines := make([]string, len(shown))
	for i, problem := range shown {
		lines[i] = problem.String()
	}
	if more := len(p.list) - len(shown); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return sdk.Errorf(sdk.Invalid, "workflow_invalid", "%s", strings.Join(lines, "\n")).WithDetail("problems", shown)
}

// didYouMean is a hint that names the nearest of the known names, or lists them.
func didYouMean(word string, known []string) string {
	if near := core.Nearest(word, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	if len(known) == 0 {
		return ""
	}
	return "there are " + strings.Join(known, ", ")
}
