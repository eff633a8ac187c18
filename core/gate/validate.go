package gate

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// Bounds of evidence.
const (
	// MaxNodes and MaxEdges bound a graph: room for any workflow that people draw,
	// and decided on within milliseconds.
	MaxNodes = 10_000
	MaxEdges = 100_000
	// MaxGraphMemories bounds the memories that a graph names, and MaxGraphPlaces
	// their nodes, counted for each memory.
	MaxGraphMemories = 10_000
	MaxGraphPlaces   = 100_000
	// MaxWorkflows is how many workflows may name one memory: a decision reads the
	// graph of each.
	MaxWorkflows = 32
	// MaxRefBytes bounds a reference or a note.
	MaxRefBytes = 512
	// MaxNotes bounds the notes of a decision.
	MaxNotes = 20
	// MaxToolOutcomes bounds the outcomes of one call.
	MaxToolOutcomes = 10_000
	// batch is how many outcomes one transaction records.
	batch = 1_000

	maxNameBytes = 128 // of an id or name
	maxProblems  = 20  // that are listed
	idHint       = "an id is 1 to 128 of A-Z a-z 0-9 _ : . @ - without two dots in a row"
)

// problems collects all that is wrong with an input.
type problems struct {
	listed []error
	more   int
}

func (p *problems) add(hint, format string, args ...any) {
	if len(p.listed) == maxProblems {
		p.more++
		return
	}
	p.listed = append(p.listed, sdk.Errorf(sdk.Invalid, "evidence_invalid", format, args...).WithHint("%s", hint))
}

// err is one error of all problems; nil for none.
func (p *problems) err() error {
	if p.more > 0 {
		p.listed = append(p.listed, sdk.Errorf(sdk.Invalid, "evidence_invalid", "and %d more problems", p.more).
			WithHint("fix those above first"))
		p.more = 0
	}
	return core.JoinErrors(p.listed...)
}

// id refuses what isn't an id of a memory or session. The rest says where it stands.
func (p *problems) id(id, where string, args ...any) {
	if !core.ValidID(id) {
		p.add(idHint, "%s is %.64q, which isn't an id", fmt.Sprintf(where, args...), id)
	}
}

// name refuses what can't name a tool or a workflow.
func (p *problems) name(name, where string, args ...any) {
	if len(name) > maxNameBytes || strings.TrimSpace(name) == "" || !plain(name) {
		p.add("a name has 1 to 128 bytes of text without control characters",
			"%s is %.64q (%d bytes), which can't be a name", fmt.Sprintf(where, args...), name, len(name))
	}
}

// text refuses a reference or note that is too long or not plain.
func (p *problems) text(text, where string, args ...any) {
	if len(text) > MaxRefBytes || !plain(text) {
		p.add("say where the evidence is found, such as a log's line, rather than what it says",
			"%s has %d bytes: it takes up to %d bytes of text without control characters",
			fmt.Sprintf(where, args...), len(text), MaxRefBytes)
	}
}

// atMost refuses too many of something.
func (p *problems) atMost(what string, n, limit int) bool {
	if n > limit {
		p.add("split it, or leave out what no memory has to do with", "%d %s (limit %d)", n, what, limit)
	}
	return n <= limit
}

// factor refuses a factor of omega that is no share.
func (p *problems) factor(name string, factor *float64) {
	if factor != nil && !(*factor >= 0 && *factor <= 1) { // also NaN
		p.add("leave a factor out that isn't known", "%s is %v: a factor is from 0 to 1", name, *factor)
	}
}

// plain reports whether a text is UTF-8 without control characters.
func plain(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}
