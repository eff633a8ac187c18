package gate

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/sdk"
)

// Bounds of evidence.
const (
	// MaxNodes and MaxEdges bound a graph: room for any workflow that people draw, while
	// a decision takes milliseconds.
	MaxNodes = 10_000
	MaxEdges = 100_000
	// MaxGraphMemories bounds the memories that a graph names, and MaxGraphPlaces the
	// total of their nodes.
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
	maxProblems  = 20  // how many are listed
	idHint       = "an id is 1 to 128 of A-Z a-z 0-9 _ : . @ - without two dots in a row"
)

// problems collects everything that is wrong with an input.
type problems struct {
	listed []error
	more   int
	// list and item name the entry of a list that is being checked; "" is no list. field is the
	// checked field.
	list  string
	item  int
	field string
}

// in names the field that is checked next.
func (p *problems) in(field string) *problems {
	p.field = field
	return p
}

// place is the name of the checked field, such as outcomes[3].tool.
func (p *problems) place() string {
	if p.list == "" {
		return p.field
	}
	return strings.TrimSuffix(fmt.Sprintf("%s[%d].%s", p.list, p.item, p.field), ".")
}

func (p *problems) add(hint, format string, args ...any) {
	p.addError(sdk.Errorf(sdk.Invalid, "evidence_invalid", format, args...).WithHint("%s", hint).WithDetail("field", p.place()))
}

// inField makes a field the place of an error.
func inField(field string, err error) error { return sdk.AsError(err).WithDetail("field", field) }

func (p *problems) addError(err error) {
	if len(p.listed) == maxProblems {
		p.more++
		return
	}
	p.listed = append(p.listed, err)
}

// err is all problems as one error; nil if there are none.
func (p *problems) err() error {
	if p.more > 0 {
		p.listed = append(p.listed, sdk.Errorf(sdk.Invalid, "evidence_invalid", "and %d more problems", p.more).
			WithHint("fix those above first"))
		p.more = 0
	}
	return core.JoinErrors(p.listed...)
}

// id refuses a text that isn't the id of a memory or session. where and args name its
// position.
func (p *problems) id(id, where string, args ...any) {
	if !core.ValidID(id) {
		p.add(idHint, "%s is %.64q, which isn't an id", fmt.Sprintf(where, args...), id)
	}
}

// name refuses a text that isn't a valid name of a tool or a workflow.
func (p *problems) name(name, where string, args ...any) {
	if len(name) > maxNameBytes || strings.TrimSpace(name) == "" || !plain(name) {
		p.add("a name has 1 to 128 bytes of text without control characters",
			"%s is %.64q (%d bytes), which can't be a name", fmt.Sprintf(where, args...), name, len(name))
	}
}

// text refuses a reference or note that is too long or has control characters.
func (p *problems) text(text, where string, args ...any) {
	if len(text) > MaxRefBytes || !plain(text) {
		p.add("say where the evidence is, such as a line of a log, rather than what it says",
			"%s has %d bytes: it takes up to %d bytes of text without control characters",
			fmt.Sprintf(where, args...), len(text), MaxRefBytes)
	}
}

// atMost refuses too many of something.
func (p *problems) atMost(what string, n, limit int) bool {
	if n > limit {
		p.add("split it, or leave out what involves no memory", "%d %s (limit %d)", n, what, limit)
	}
	return n <= limit
}

// factors refuses factors of omega outside 0 to 1.
func (p *problems) factors(f policypoint.OmegaFactors) {
	for _, factor := range []struct {
		field string
		value *float64
	}{
		{"upstream_status", f.UpstreamStatus},
		{"codebase_verification", f.CodebaseVerification},
		{"runtime_utility_trend", f.RuntimeUtilityTrend},
	} {
		if v := factor.value; v != nil && !(*v >= 0 && *v <= 1) { // also NaN
			p.addError(sdk.Errorf(sdk.Invalid, "evidence_invalid", "%s is %v, not a number from 0 to 1", factor.field, *v).
				WithHint("leave out a factor that isn't known").WithDetail("field", factor.field))
		}
	}
}

// plain reports whether a text is UTF-8 without control characters.
func plain(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}
