package main

import (
	"fmt"
	"strings"
)

// The model and the parcel service stand for real ones, so that the example needs neither a
// key nor a network: the model knows only what its prompt says, and the service knows where
// each kind of parcel belongs.

const instructions = "You sort parcels. Say where a parcel belongs, as one word. If nothing tells you, say unknown."

// task is a parcel to sort.
type task struct{ kind, question string }

// shelves are where kinds of parcels belong, which the agent isn't told beforehand.
var shelves = []struct{ kind, shelf string }{
	{"glassware", "padded"}, {"medicine", "cooled"}, {"newspapers", "doorstep"}, {"furniture", "ramp"}, {"seedlings", "greenhouse"},
}

// parcel is the parcel of a turn.
func parcel(n int) task {
	kind := shelves[n%len(shelves)].kind
	return task{kind, fmt.Sprintf("Where does parcel %d with %s belong?", n+1, kind)}
}

// judge returns "" for a right answer, else what is right.
func (t task) judge(answer string) (correction string) {
	for _, s := range shelves {
		if s.kind == t.kind && s.shelf != answer {
			return fmt.Sprintf("For %s, say %s.", s.kind, s.shelf)
		}
	}
	return ""
}

// model answers by what the prompt says about the task's kind.
func model(prompt string, t task) string {
	_, rest, told := strings.Cut(prompt, "For "+t.kind+", say ")
	answer, _, ended := strings.Cut(rest, ".")
	if !told || !ended {
		return "unknown"
	}
	return answer
}
