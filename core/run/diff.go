package run

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// This file finds what changed from one attempt to another. Outputs are compared line by
// line: a text by its own lines, any other value by the lines of its indented form, so
// that one changed field is one changed line.

// maxDiffCells bounds the work of a comparison: the product of the numbers of differing
// lines on the two sides. Above it, all these lines are shown as removed and added.
const maxDiffCells = 4_000_000

// AttemptsDiff is what changed from one attempt to another.
type AttemptsDiff struct {
	From AttemptMark `json:"from"`
	To   AttemptMark `json:"to"`
	// Output has the lines of both outputs, in order.
	Output []DiffLine `json:"output"`
	// Fixed are the errors that only the first attempt has, and New the errors that only
	// the second has.
	Fixed []sdk.Finding `json:"fixed"`
	New   []sdk.Finding `json:"new"`
	// Prompts are the messages to language models that differ, where plugins report them.
	Prompts []PromptDiff `json:"prompts"`
}

// AttemptMark identifies an attempt, with its judgement.
type AttemptMark struct {
	Iteration int     `json:"iteration"`
	Judged    bool    `json:"judged"`
	Score     float64 `json:"score"`
	Valid     bool    `json:"valid"`
	Accepted  bool    `json:"accepted"`
}

// DiffLine is a line of one or both outputs.
type DiffLine struct {
	// Side is "both", "from" or "to".
	Side string `json:"side"`
	Text string `json:"text"`
}

// The sides of a [DiffLine].
const (
	SideBoth = "both"
	SideFrom = "from"
	SideTo   = "to"
)

// DiffAttempts compares two attempts.
func DiffAttempts(from, to *core.Attempt) *AttemptsDiff {
	return &AttemptsDiff{
		From: markOf(from), To: markOf(to), Output: DiffLines(outputLines(from.Output), outputLines(to.Output)),
		Fixed: without(from.Errors, to.Errors), New: without(to.Errors, from.Errors), Prompts: DiffPrompts(from.Prompts, to.Prompts),
	}
}

func markOf(a *core.Attempt) AttemptMark {
	return AttemptMark{a.Iteration, a.Judged, a.Score, a.Valid, a.Accepted}
}

// without is the findings in list that other doesn't have.
func without(list, other []sdk.Finding) []sdk.Finding {
	var had []string
	for i := range other {
		had = append(had, string(jsontext.MustEncode(&other[i])))
	}
	rest := []sdk.Finding{}
	for i := range list {
		if !slices.Contains(had, string(jsontext.MustEncode(&list[i]))) {
			rest = append(rest, list[i])
		}
	}
	return rest
}

// outputLines are the lines of an output; none if there is no output.
func outputLines(output json.RawMessage) []string {
	if len(output) == 0 {
		return nil
	}
	var text string
	if json.Unmarshal(output, &text) != nil {
		var indented bytes.Buffer
		if json.Indent(&indented, output, "", "  ") != nil {
			return []string{string(output)}
		}
		text = indented.String()
	}
	return textLines(text)
}

func textLines(text string) []string { return strings.Split(strings.TrimSuffix(text, "\n"), "\n") }

// DiffLines lists the lines of two texts, of which the longest common subsequence counts
// as shared.
func DiffLines(from, to []string) []DiffLine {
	out := make([]DiffLine, 0, len(from)+len(to))
	add := func(side string, lines ...string) {
		for _, text := range lines {
			out = append(out, DiffLine{side, text})
		}
	}
	head := 0
	for head < len(from) && head < len(to) && from[head] == to[head] {
		head++
	}
	tail := 0
	for tail < len(from)-head && tail < len(to)-head && from[len(from)-1-tail] == to[len(to)-1-tail] {
		tail++
	}
	a, b := from[head:len(from)-tail], to[head:len(to)-tail]
	add(SideBoth, from[:head]...)
	if len(a)*len(b) > maxDiffCells {
		add(SideFrom, a...)
		add(SideTo, b...)
	} else {
		// common[i*width+j] is how many lines a[i:] and b[j:] share.
		width := len(b) + 1
		common := make([]int32, (len(a)+1)*width)
		for i := len(a) - 1; i >= 0; i-- {
			for j := len(b) - 1; j >= 0; j-- {
				if a[i] == b[j] {
					common[i*width+j] = common[(i+1)*width+j+1] + 1
				} else {
					common[i*width+j] = max(common[(i+1)*width+j], common[i*width+j+1])
				}
			}
		}
		i, j := 0, 0
		for i < len(a) && j < len(b) {
			switch {
			case a[i] == b[j]:
				add(SideBoth, a[i])
				i, j = i+1, j+1
			case common[(i+1)*width+j] >= common[i*width+j+1]:
				add(SideFrom, a[i])
				i++
			default:
				add(SideTo, b[j])
				j++
			}
		}
		add(SideFrom, a[i:]...)
		add(SideTo, b[j:]...)
	}
	add(SideBoth, from[len(from)-tail:]...)
	return out
}
