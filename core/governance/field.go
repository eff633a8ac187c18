package governance

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// Field is something that can be set.
type Field struct {
	Name string `json:"field"`
	// What says what it is for.
	What string `json:"what"`
	// Whole is whether it takes whole numbers only.
	Whole    bool    `json:"whole,omitempty"`
	Min, Max float64 `json:"-"`
	// Default holds where no level sets it; nil is none.
	Default *float64 `json:"default"`

	slot  func(*Record) **float64
	apply func(*core.Governance, float64)
}

// lockedField names the list of locked fields where fields are set.
const lockedField = "locked"

const (
	// maxDepth is far above any chain of reflections that makes sense.
	maxDepth = 1000
	// maxCount is the largest number up to which a float64 holds all whole ones.
	maxCount = 1 << 53
	// maxWeight bounds weights and thresholds: what they weigh is 0 to 1, or a
	// count of turns up to some hundreds.
	maxWeight = 100
)

// Fields lists what can be set, but for the list of locked fields, in the order
// in which it is shown.
func Fields() []Field {
	w := core.DefaultRetentionWeights()
	return []Field{
		{"max_reflection_depth", "deepest reflection; 0 forbids all", true, 0, maxDepth, number(core.DefaultMaxReflectionDepth),
			func(r *Record) **float64 { return &r.MaxReflectionDepth }, func(g *core.Governance, v float64) { g.MaxReflectionDepth = int(v) }},
		{"require_approval_above_depth", "deeper reflections wait for an approval", true, 0, maxDepth, nil,
			func(r *Record) **float64 { return &r.RequireApprovalAbove }, func(g *core.Governance, v float64) { depth := int(v); g.RequireApprovalAbove = &depth }},
		{"retention.w_hit", "weight of hit_rate", false, 0, maxWeight, &w.Hit,
			func(r *Record) **float64 { return &r.Retention.Hit }, func(g *core.Governance, v float64) { g.Retention.Hit = v }},
		{"retention.w_utility", "weight of utility_score", false, 0, maxWeight, &w.Utility,
			func(r *Record) **float64 { return &r.Retention.Utility }, func(g *core.Governance, v float64) { g.Retention.Utility = v }},
		{"retention.w_miss", "weight of each miss in a row", false, 0, maxWeight, &w.Miss,
			func(r *Record) **float64 { return &r.Retention.Miss }, func(g *core.Governance, v float64) { g.Retention.Miss = v }},
		{"retention.w_stale", "weight of each turn of inactivity", false, 0, maxWeight, &w.Stale,
			func(r *Record) **float64 { return &r.Retention.Stale }, func(g *core.Governance, v float64) { g.Retention.Stale = v }},
		{"retention.active_threshold", "least score of an active memory", false, -maxWeight, maxWeight, &w.Active,
			func(r *Record) **float64 { return &r.Retention.Active }, func(g *core.Governance, v float64) { g.Retention.Active = v }},
		{"retention.revalidate_threshold", "below it the gate decides", false, -maxWeight, maxWeight, &w.Revalidate,
			func(r *Record) **float64 { return &r.Retention.Revalidate }, func(g *core.Governance, v float64) { g.Retention.Revalidate = v }},
		{"retention.hysteresis", "what it takes more on the way back up", false, 0, maxWeight, &w.Hysteresis,
			func(r *Record) **float64 { return &r.Retention.Hysteresis }, func(g *core.Governance, v float64) { g.Retention.Hysteresis = v }},
		{"gate.min_confidence", "what a purge or promotion needs at least", false, core.DefaultMinGateConfidence, 1, number(core.DefaultMinGateConfidence),
			func(r *Record) **float64 { return &r.Gate.MinConfidence }, func(g *core.Governance, v float64) { g.MinGateConfidence = v }},
		{"limits.max_memories", "memories at most; 0 is no limit", true, 0, maxCount, number(0),
			func(r *Record) **float64 { return &r.Limits.Memories }, func(g *core.Governance, v float64) { g.Limits.MaxMemories = int64(v) }},
		{"limits.max_bytes", "bytes of memories at most; 0 is no limit", true, 0, maxCount, number(0),
			func(r *Record) **float64 { return &r.Limits.Bytes }, func(g *core.Governance, v float64) { g.Limits.MaxBytes = int64(v) }},
		{"limits.max_links_per_memory", "links of a memory at most; 0 is no limit", true, 0, maxCount, number(0),
			func(r *Record) **float64 { return &r.Limits.Links }, func(g *core.Governance, v float64) { g.Limits.MaxLinksPerMemory = int64(v) }},
	}
}

func number(v float64) *float64 { return &v }

// check refuses a value that the field can't have.
func (f *Field) check(v float64) error {
	wrong := math.IsNaN(v) || v < f.Min || v > f.Max || f.Whole && v != math.Trunc(v)
	if !wrong {
		return nil
	}
	kind := "a number"
	if f.Whole {
		kind = "a whole number"
	}
	return invalid(f.Name, "%s must be %s from %s to %s, not %s", f.Name, kind, text(f.Min), text(f.Max), text(v)).
		WithHint("it is for this: %s", f.What)
}

func text(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// names lists the fields, and the groups of them that can be locked together.
func names() []string {
	var list, groups []string
	for _, f := range Fields() {
		list = append(list, f.Name)
		if group, _, grouped := strings.Cut(f.Name, "."); grouped {
			groups = append(groups, group)
		}
	}
	return append(list, slices.Compact(groups)...)
}

// locks is whether a name in a list of locked fields is the field or its group.
func locks(name, field string) bool {
	return name == field || strings.HasPrefix(field, name+".")
}

// invalid is a problem of a field that was to be set.
func invalid(field, format string, args ...any) *sdk.Error {
	return sdk.Errorf(sdk.Invalid, "governance_invalid", format, args...).WithDetail("field", field)
}

// unknown is a field that there isn't.
func unknown(name string, known []string) error {
	e := invalid(name, "there is no field %.80q", name)
	if near := sdk.Nearest(name, known); near != "" {
		return e.WithHint("did you mean %s?", near)
	}
	return e.WithHint("the fields are %s", strings.Join(known, ", "))
}
