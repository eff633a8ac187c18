package policy

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/policy/program"
	"github.com/reflectory/reflectory/sdk"
)

// Record is a decision as decision logs store it. Replays decide it again.
type Record struct {
	At time.Time `json:"at"`
	policypoint.Decision
	// Inputs are by name. Inputs that the policy masks are left out, and Masked lists
	// them.
	Inputs map[string]any `json:"inputs"`
	Masked []string       `json:"masked,omitempty"`
	// Hidden are the texts of the outcome that are left out, because they depend on
	// masked inputs and may quote them: fields of Output, "explanation", "failure".
	Hidden []string `json:"hidden,omitempty"`
	// Omitted is whether all inputs are left out, because they are too large.
	Omitted bool           `json:"omitted,omitempty"`
	Output  map[string]any `json:"output"`
	// Skipped counts the decisions of this point that weren't recorded since its
	// last record.
	Skipped uint64 `json:"skipped,omitempty"`
	// Shadow is the decision of a shadow policy, if it differs.
	Shadow *Shadow `json:"shadow,omitempty"`
}

// Shadow is a shadow policy's decision that differs from the decision in force.
type Shadow struct {
	policypoint.Decision
	Output map[string]any `json:"output"`
}

// MaxRecordBytes is the largest encoded record that keeps its inputs: an attempt of a
// loop with its history is usually far smaller.
const MaxRecordBytes = 1 << 20

// Encode returns the record as JSON, on one line. A record that is too large loses its
// inputs.
func (r *Record) Encode() ([]byte, error) {
	text, err := jsontext.Encode(r)
	if err != nil || len(text) <= MaxRecordBytes {
		return text, err
	}
	short := *r
	short.Inputs, short.Omitted = map[string]any{}, true
	if text, err = jsontext.Encode(&short); err == nil && len(text) > MaxRecordBytes {
		err = sdk.Errorf(sdk.Exhausted, "decision_too_large", "the output of %s has more than %d bytes", r.File, MaxRecordBytes)
	}
	return text, err
}

// Outcome is the part of a record's output that isn't content: numbers, booleans, and
// words of a fixed set.
func (p *Points) Outcome(r *Record) map[string]any {
	d, err := p.find(r.Point)
	if err != nil {
		return nil
	}
	out := map[string]any{}
	for _, f := range d.env.Fields() {
		if v, there := r.Output[f.Name]; there && plain(f) {
			out[f.Name] = v
		}
	}
	return out
}

// sampleEvery is 1 %.
const sampleEvery = 100

// sampler chooses which decisions are recorded: every notable decision, and every
// hundredth of the rest.
type sampler struct {
	every  uint64
	write  func(context.Context, *Record)
	points map[policypoint.Point]*tally
}

// tally counts the decisions of a point that change nothing, and how many of them weren't
// recorded since the last record.
type tally struct{ seen, skipped atomic.Uint64 }

func newSampler(points *Points, o *Options) *sampler {
	s := &sampler{every: o.SampleEvery, write: o.Log, points: map[policypoint.Point]*tally{}}
	if s.every == 0 {
		s.every = sampleEvery
	}
	for _, name := range points.Names() {
		t := &tally{}
		t.seen.Store(o.SampleFrom)
		s.points[name] = t
	}
	return s
}

// Unrecorded counts, for each point, the decisions that weren't recorded since its last
// record. Points without any are left out.
func (p *Policies) Unrecorded() map[policypoint.Point]uint64 {
	counts := map[policypoint.Point]uint64{}
	if p.log == nil {
		return counts
	}
	for name, t := range p.log.points {
		if n := t.skipped.Load(); n > 0 {
			counts[name] = n
		}
	}
	return counts
}

func (s *sampler) log(ctx context.Context, r core.Reader, set *Set, d *definition, made decided, in named, at time.Time) {
	shadow := set.shadowed(ctx, d, made, in)
	t := s.points[d.name]
	keep := made.Failure != nil || shadow != nil || d.notable != nil && d.notable(in, made.fields)
	if !keep && t.seen.Add(1)%s.every != 0 {
		t.skipped.Add(1)
		return
	}
	record := set.record(d, made, shadow, in, at)
	write := func() {
		record.Skipped = t.skipped.Swap(0)
		s.write(ctx, record)
	}
	if tx, is := r.(policypoint.Asking); is {
		tx.AfterEnd(write)
		return
	}
	write()
}

// record makes the record of a decision, with the shadow policy's decision if it differs.
func (s *Set) record(d *definition, made decided, shadow *Shadow, in named, at time.Time) *Record {
	record := &Record{At: at, Decision: made.Decision, Inputs: map[string]any{}, Output: d.output(made.fields), Shadow: shadow}
	for i, v := range d.env.Variables() {
		record.Inputs[v.Name] = in.in.Input(i).Go()
	}
	for _, mask := range s.masks(d, made.Namespace) {
		if masked(record.Inputs, mask) {
			record.Masked = append(record.Masked, mask)
		}
	}
	record.Hidden = hide(made.policy, &record.Decision, record.Output, record.Masked)
	if shadow != nil {
		hide(s.shadow(d, made.Namespace), &shadow.Decision, shadow.Output, record.Masked)
	}
	return record
}

// hide removes the texts that depend on masked inputs from a decision and its output, and
// lists them. The message of a failure is removed if any part of the policy names such an
// input, since it may quote it.
func hide(policy *Policy, made *policypoint.Decision, output map[string]any, masked []string) (hidden []string) {
	quotes := func(part string) bool {
		return slices.ContainsFunc(masked, func(mask string) bool { return policy.program.Reads(made.Path, part, mask) })
	}
	for _, f := range policy.point.env.Fields() {
		if _, there := output[f.Name]; there && made.Failure == nil && !plain(f) && quotes(f.Name) {
			delete(output, f.Name)
			hidden = append(hidden, f.Name)
		}
	}
	if made.Explanation != "" && quotes(program.Explanation) {
		made.Explanation = ""
		hidden = append(hidden, program.Explanation)
	}
	if made.Failure != nil && slices.ContainsFunc(masked, policy.program.Names) {
		made.Failure = &core.ErrorInfo{Code: made.Failure.Code, Message: made.File + " failed; its message isn't recorded, because inputs are masked"}
		hidden = append(hidden, "failure")
	}
	return hidden
}

// plain reports whether a field can't have content: a number, a bool, or a word of a
// fixed set.
func plain(f program.Field) bool {
	return f.Type == "bool" || f.Type == "int" || f.Type == "double" || len(f.Values) > 0
}

// masks are the masks of every policy that applies to the namespace, including shadows:
// an input that one policy hides isn't revealed by another.
func (s *Set) masks(d *definition, namespace string) []string {
	var masks []string
	add := func(policy *Policy) {
		for _, mask := range policy.program.Policy().Mask {
			masks = append(masks, mask.Value)
		}
	}
	for policy := range s.chain(d, namespace) {
		add(policy)
	}
	if shadow := s.shadow(d, namespace); shadow != nil {
		add(shadow)
	}
	slices.Sort(masks)
	return slices.Compact(masks)
}

// masked removes the value at a path, and reports whether there was one. The objects on
// the way are copied, because they belong to the caller.
func masked(inputs map[string]any, path string) bool {
	name, rest, deeper := strings.Cut(path, ".")
	v, there := inputs[name]
	if !there || !deeper {
		delete(inputs, name)
		return there
	}
	object, ok := v.(map[string]any)
	if !ok { // the value isn't an object: it is removed completely
		delete(inputs, name)
		return true
	}
	copied := map[string]any{}
	for k, v := range object {
		copied[k] = v
	}
	inputs[name] = copied
	return masked(copied, rest)
}

// output is the outcome's fields by name.
func (d *definition) output(fields []any) map[string]any {
	out := map[string]any{}
	for i, f := range d.env.Fields() {
		if fields[i] != nil {
			out[f.Name] = fields[i]
		}
	}
	return out
}

// shadowed returns the decision of the shadow policy, if it differs. A shadow policy
// without an output agrees.
func (s *Set) shadowed(ctx context.Context, d *definition, live decided, in named) *Shadow {
	policy := s.shadow(d, live.Namespace)
	if policy == nil {
		return nil
	}
	made, ok := policy.decide(ctx, live.Namespace, in)
	if !ok || made.Failure == nil && sameFields(made.fields, live.fields) {
		return nil
	}
	return &Shadow{Decision: made.Decision, Output: d.output(made.fields)}
}

func sameFields(a, b []any) bool { return reflect.DeepEqual(a, b) }
