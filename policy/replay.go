package policy

import (
	"context"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/policypoint"
)

// maxChanges is how many changed decisions a replay lists: more than people read. All
// changed decisions are counted.
const maxChanges = 1000

// Replay is what a set would have decided differently.
type Replay struct {
	// Decided counts the recorded decisions that were decided again; Skipped counts the
	// decisions that couldn't be, because inputs are masked, or were too large to keep.
	Decided int `json:"decided"`
	Skipped int `json:"skipped"`
	// Changed counts the decisions that would have had another effect, and Failed the ones
	// among them in which the policy fails.
	Changed int `json:"changed"`
	Failed  int `json:"failed"`
	// Refused counts the decisions for which the policy has another output, but the host's
	// own conditions prevent its effect.
	Refused int `json:"refused"`
	// Outcomes count the decisions that were decided again, by their outcomes before and after,
	// in the order of the points.
	Outcomes []ReplayedOutcome `json:"outcomes"`
	// Changes are the first of them, changed and refused.
	Changes []Change `json:"changes,omitempty"`
}

// Change is a decision that a set would have made differently.
type Change struct {
	At        time.Time         `json:"at"`
	Point     policypoint.Point `json:"point"`
	Namespace string            `json:"namespace,omitempty"`
	// Subject is what the decision is about: a memory's id, a plugin, a workflow.
	Subject string `json:"subject,omitempty"`
	// Before and After are the effects of the recorded and the new decision, after the
	// host's own conditions.
	Before map[string]any `json:"before"`
	After  map[string]any `json:"after"`
	// Wanted is the candidate's output if the host refuses it, and Unmet names the
	// conditions that it doesn't meet.
	Wanted map[string]any `json:"wanted,omitempty"`
	Unmet  []string       `json:"unmet,omitempty"`
	// FileBefore and FileAfter are the policies that decided, with the paths of their
	// matches.
	FileBefore string          `json:"file_before"`
	FileAfter  string          `json:"file_after"`
	Failure    *core.ErrorInfo `json:"failure,omitempty"`
}

// Engine returns the effect of a policy's output after the host's own conditions, and the
// names of the conditions that it doesn't meet.
type Engine func(point policypoint.Point, inputs, output map[string]any) (effect map[string]any, unmet []string)

// ReplayOptions determine which decisions are decided again, and how.
type ReplayOptions struct {
	// Since leaves out earlier decisions. The zero time selects all.
	Since time.Time
	// Engine is applied to outputs; nil uses them unchanged.
	Engine Engine
}

// Replay decides recorded decisions again, and reports which would have been different.
func (s *Set) Replay(ctx context.Context, records iter.Seq2[*Record, error], o ReplayOptions) (*Replay, error) {
	if o.Engine == nil {
		o.Engine = func(_ policypoint.Point, _, output map[string]any) (map[string]any, []string) { return output, nil }
	}
	r, counts := &Replay{Outcomes: []ReplayedOutcome{}}, outcomes{}
	for record, err := range records {
		if err != nil {
			return nil, err
		}
		if record.At.Before(o.Since) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := s.replay(ctx, record, o.Engine, r, counts); err != nil {
			return nil, err
		}
	}
	r.Outcomes = append(r.Outcomes, counts.list()...)
	return r, nil
}

func (s *Set) replay(ctx context.Context, record *Record, engine Engine, r *Replay, counts outcomes) error {
	d, err := s.points.find(record.Point)
	if err != nil {
		return err
	}
	if record.Omitted || s.needs(d, record) {
		r.Skipped++
		return nil
	}
	in, err := d.given(record.Inputs)
	if err != nil {
		return err
	}
	made := s.decide(ctx, d, record.Namespace, in)
	r.Decided++
	output := d.output(made.fields)
	before, _ := engine(record.Point, record.Inputs, record.Output)
	if made.Failure == nil && sameOutput(record.Output, output) {
		counts.add(record, before, before, nil)
		return nil
	}
	c := Change{
		At: record.At, Point: record.Point, Namespace: record.Namespace,
		FileBefore: at(record.Decision), FileAfter: at(made.Decision), Failure: made.Failure,
	}
	c.Subject, _ = record.Inputs[d.subject].(string)
	c.Before = before
	if c.After, c.Unmet = engine(record.Point, record.Inputs, output); len(c.Unmet) > 0 {
		c.Wanted = output
	}
	counts.add(record, c.Before, c.After, made.Failure)
	switch {
	case made.Failure != nil:
		r.Failed++
		r.Changed++
	case !sameOutput(c.Before, c.After):
		r.Changed++
	case len(c.Unmet) > 0:
		r.Refused++
	default: // the difference has no effect
		return nil
	}
	if len(r.Changes) < maxChanges {
		r.Changes = append(r.Changes, c)
	}
	return nil
}

// needs reports whether a policy that may decide depends on an input that is masked in a
// record.
func (s *Set) needs(d *definition, record *Record) bool {
	if len(record.Masked) == 0 {
		return false
	}
	for policy := range s.chain(d, record.Namespace) {
		if slices.ContainsFunc(record.Masked, policy.program.Names) {
			return true
		}
	}
	return false
}

// at identifies the match that decided.
func at(d policypoint.Decision) string {
	if d.Path == "" {
		return d.File
	}
	return d.File + " " + d.Path
}

// sameOutput compares two outputs. One of them went through JSON, where whole numbers
// lose their decimal point.
func sameOutput(a, b map[string]any) bool {
	return maps.EqualFunc(a, b, sameValue)
}

func sameValue(a, b any) bool {
	x, xNumber := asFloat(a)
	y, yNumber := asFloat(b)
	if xNumber && yNumber {
		return x == y
	}
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, sameValue)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, sameValue)
	}
	return a == b
}

func asFloat(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case int64:
		return float64(v), true
	}
	return 0, false
}
