package policy

import (
	"context"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/reflectory/reflectory/core"
)

// maxChanges is how many changed decisions a replay lists: more than anybody
// reads. All are counted.
const maxChanges = 1000

// Replay says what a set would have decided otherwise.
type Replay struct {
	// Decided counts the recorded decisions that were decided again; Skipped those
	// that couldn't be, because inputs are masked, or were too large to keep.
	Decided int `json:"decided"`
	Skipped int `json:"skipped"`
	// Changed counts the decisions with another output, and Failed those of them
	// that no policy could make.
	Changed int `json:"changed"`
	Failed  int `json:"failed"`
	// Changes are the first of them.
	Changes []Change `json:"changes,omitempty"`
}

// Change is a decision that a set would have made otherwise.
type Change struct {
	At        time.Time      `json:"at"`
	Point     core.Point     `json:"point"`
	Namespace string         `json:"namespace,omitempty"`
	Before    map[string]any `json:"before"`
	After     map[string]any `json:"after"`
	// FileBefore and FileAfter are the policies that decided, with the paths of
	// their matches.
	FileBefore string          `json:"file_before"`
	FileAfter  string          `json:"file_after"`
	Failure    *core.ErrorInfo `json:"failure,omitempty"`
}

// Replay decides recorded decisions again, those from a time on, and tells which
// would have come out otherwise. The zero time is all of them.
func (s *Set) Replay(ctx context.Context, records iter.Seq2[*Record, error], since time.Time) (*Replay, error) {
	r := &Replay{}
	for record, err := range records {
		if err != nil {
			return nil, err
		}
		if record.At.Before(since) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := s.replay(ctx, record, r); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (s *Set) replay(ctx context.Context, record *Record, r *Replay) error {
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
	after := d.output(made.fields)
	if made.Failure == nil && sameOutput(record.Output, after) {
		return nil
	}
	r.Changed++
	if made.Failure != nil {
		r.Failed++
	}
	if len(r.Changes) < maxChanges {
		r.Changes = append(r.Changes, Change{
			At: record.At, Point: record.Point, Namespace: record.Namespace, Before: record.Output, After: after,
			FileBefore: at(record.Decision), FileAfter: at(made.Decision), Failure: made.Failure,
		})
	}
	return nil
}

// needs reports whether a policy that may decide goes by an input that is masked in a
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

// at names the match that decided.
func at(d core.Decision) string {
	if d.Path == "" {
		return d.File
	}
	return d.File + " " + d.Path
}

// sameOutput compares outputs of which one went through JSON, where whole
// numbers lose their point.
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
