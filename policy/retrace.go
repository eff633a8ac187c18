package policy

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/policy/program"
)

// A record names the match that decided, but a reader wants to see the rule: the lines that were
// tried before it, each with the values that it saw. The file has the lines, so a record is shown
// with them as long as the file's digest is the same. The values are found by running the policy
// again with the recorded inputs, which gives the same result.

// Bounds of what is shown of a file: as much as a reader looks at.
const (
	// matchesBefore is how many matches are shown before the one that decided, and
	// matchesAfter how many after it.
	matchesBefore, matchesAfter = 10, 2
	// matchLines is how many lines of a match are shown.
	matchLines = 40
	// maxShownLine is how much of a line is shown, and maxShownValue the longest value that is
	// shown, as JSON; both in bytes.
	maxShownLine, maxShownValue = 400, 200
)

// The results of a match.
const (
	MatchDecided    = "decided"     // it decided
	MatchFailed     = "failed"      // it failed, so that the safe outcome decided
	MatchHeld       = "held"        // its condition held, and its nested rule continued
	MatchNotHeld    = "not_held"    // its condition didn't hold
	MatchNotReached = "not_reached" // another match decided, so it wasn't tried
	MatchUnknown    = "unknown"     // its inputs aren't recorded
)

// RecordedMatch is a match of the file that decided.
type RecordedMatch struct {
	// Path is its path in the file, as in [policypoint.Decision].
	Path string `json:"path"`
	// Result is its result: decided, failed, held, not_held, not_reached or unknown.
	Result string         `json:"result"`
	Lines  []RecordedLine `json:"lines"`
	// Comparisons are the comparisons of numbers in its condition, as far as both are known. A match
	// that wasn't reached has them too.
	Comparisons []RecordedComparison `json:"comparisons,omitempty"`
}

// RecordedComparison is a comparison of two numbers in a condition.
type RecordedComparison struct {
	// Name is a recorded input, or a variable, and Value its value.
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	// Op is <, <=, >, >=, == or !=.
	Op string `json:"op"`
	// Limit is what the value is compared with, and LimitName the input or variable that has it;
	// "" if it is a constant of the policy.
	Limit     float64 `json:"limit"`
	LimitName string  `json:"limit_name,omitempty"`
	// Holds is whether the comparison holds.
	Holds bool `json:"holds"`
}

// RecordedLine is a line of a match.
type RecordedLine struct {
	// Line is its number in the file, from 1.
	Line int    `json:"line"`
	Text string `json:"text"`
	// Values are the values of what the line names: recorded inputs, and variables. Long values are
	// left out.
	Values []program.TraceVariable `json:"values,omitempty"`
}

// Retrace returns the matches around the match that made a recorded decision, in the file's
// order, with the policy; nil if this version of the policy isn't in force any more.
func (s *Set) Retrace(ctx context.Context, r *Record) (*Policy, []RecordedMatch) {
	d, err := s.points.find(r.Point)
	if err != nil {
		return nil, nil // of an older version
	}
	for policy := range s.chain(d, r.Namespace) {
		if policy.File() == r.File && policy.Digest() == r.Digest {
			return policy, policy.retrace(ctx, r, r.Omitted || s.needs(d, r))
		}
	}
	return nil, nil
}

// retrace is [Set.Retrace] for the policy that decided. blind is whether inputs that it needs
// aren't recorded.
func (p *Policy) retrace(ctx context.Context, r *Record, blind bool) []RecordedMatch {
	seen := policyView{inputs: r.Inputs, variables: map[string]any{}, results: map[string]string{}}
	in, err := p.point.given(r.Inputs)
	if seen.blind = blind || err != nil; !seen.blind { // an older version had other inputs
		_, trace, _ := p.program.Explain(ctx, in.in) // what failed then fails now: the trace ends there
		seen.add(&trace)
	}
	seen.results[r.Path] = MatchDecided
	if r.Failure != nil {
		seen.results[r.Path] = MatchFailed
	}
	all := p.program.Conditions()
	at := max(slices.IndexFunc(all, func(m program.Match) bool { return m.Path == r.Path }), 0)
	var matches []RecordedMatch
	for i := max(at-matchesBefore, 0); i < min(at+matchesAfter+1, len(all)); i++ {
		result := seen.result(all[i].Path)
		if i < at && result == MatchNotReached { // it is in a rule whose condition didn't hold
			continue
		}
		next := 0
		if i+1 < len(all) {
			next = all[i+1].Line
		}
		matches = append(matches, RecordedMatch{
			Path: all[i].Path, Result: result, Lines: p.linesOf(all[i], next, result, &seen), Comparisons: seen.comparisons(p.program.Comparisons(all[i].Path)),
		})
	}
	return matches
}

// linesOf are the lines of a match, up to the line on which the next match begins; 0 means that
// there is no next match.
func (p *Policy) linesOf(m program.Match, next int, result string, seen *policyView) (lines []RecordedLine) {
	all, paths := p.program.Policy().Lines(), p.program.Inputs(m.Path)
	if next == 0 {
		next = len(all) + 1
	}
	for n := m.Line; n < min(next, m.Line+matchLines); n++ {
		line := RecordedLine{Line: n, Text: cutLine(strings.TrimRight(all[n-1], " \t\r"))}
		if result != MatchNotReached {
			line.Values = seen.values(line.Text, paths)
		}
		lines = append(lines, line)
	}
	for len(lines) > 1 && lines[len(lines)-1].Text == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// cutLine is the part of a line that is shown.
func cutLine(line string) string {
	if len(line) <= maxShownLine {
		return line
	}
	return strings.ToValidUTF8(line[:maxShownLine], "") + "…"
}

// policyView is what a policy saw, and the results of its matches.
type policyView struct {
	inputs, variables map[string]any
	results           map[string]string
	blind             bool
}

func (s *policyView) add(t *program.Trace) {
	for _, step := range t.Steps {
		s.results[step.Path] = MatchNotHeld
		if step.Holds {
			s.results[step.Path] = MatchHeld
		}
	}
	for _, v := range t.Variables {
		s.variables[v.Name] = v.Value
	}
}

func (s *policyView) result(path string) string {
	if result := s.results[path]; result != "" {
		return result
	}
	if s.blind {
		return MatchUnknown
	}
	return MatchNotReached
}

// namedIn finds a name in an expression, with what is selected from it.
var namedIn = core.Pattern(`[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*`)

// values are what a line names: variables, and the inputs at some paths, on which its match
// depends.
func (s *policyView) values(line string, paths []string) (values []program.TraceVariable) {
	for _, name := range namedIn().FindAllString(line, -1) {
		var value any
		var known bool
		if own, is := strings.CutPrefix(name, program.VariablePrefix); is {
			name, _, _ = strings.Cut(own, ".")
			value, known = s.variables[name]
		} else if i := slices.IndexFunc(paths, func(path string) bool { return strings.HasPrefix(name+".", path+".") }); i >= 0 {
			name = paths[i]
			value, known = valueAt(s.inputs, name)
		}
		twice := slices.ContainsFunc(values, func(v program.TraceVariable) bool { return v.Name == name })
		if text, err := json.Marshal(value); known && !twice && err == nil && len(text) <= maxShownValue {
			values = append(values, program.TraceVariable{Name: name, Value: value})
		}
	}
	return values
}

// comparisons are comparisons with what they compared, without those whose numbers aren't known.
func (s *policyView) comparisons(all []program.Comparison) (list []RecordedComparison) {
	for _, c := range all {
		name, value, known := s.number(c.Name)
		limitName, limit := "", c.Limit
		if c.With != "" && known {
			limitName, limit, known = s.number(c.With)
		}
		if known {
			list = append(list, RecordedComparison{name, value, c.Op, limit, limitName, compares(value, c.Op, limit)})
		}
	}
	return list
}

// number is the number that an input or a variable had, with its name as it is shown.
func (s *policyView) number(name string) (shown string, n float64, known bool) {
	value, there := any(nil), false
	if own, is := strings.CutPrefix(name, program.VariablePrefix); is {
		name = own
		value, there = s.variables[own]
	} else {
		value, there = valueAt(s.inputs, name)
	}
	n, is := asFloat(value)
	return name, n, there && is
}

// compares reports whether a comparison holds.
func compares(a float64, op string, b float64) bool {
	switch op {
	case "<":
		return a < b
	case "<=":
		return a <= b
	case ">":
		return a > b
	case ">=":
		return a >= b
	case "==":
		return a == b
	}
	return a != b
}

// valueAt is the value at a path of selected fields.
func valueAt(in map[string]any, path string) (any, bool) {
	name, rest, deeper := strings.Cut(path, ".")
	value, there := in[name]
	if !there || !deeper {
		return value, there
	}
	object, is := value.(map[string]any)
	if !is {
		return nil, false
	}
	return valueAt(object, rest)
}
