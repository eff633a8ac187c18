package governance

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// Field is something that can be set.
type Field struct {
	Name string `json:"field"`
	// What describes the field.
	What string `json:"what"`
	// Whole is whether it takes whole numbers only.
	Whole    bool    `json:"whole,omitempty"`
	Min, Max float64 `json:"-"`
	// Default applies if no level sets the field; nil means no default.
	Default *Scalar `json:"default"`
	// Choices are the allowed words of a field whose values aren't numbers.
	Choices []string `json:"choices,omitempty"`

	of    func(*Record) *Scalar
	set   func(*Record, *Scalar)
	apply func(*core.Governance, Scalar)
}

// lockedField is the name under which the list of locked fields is set.
const lockedField = "locked"

const (
	// maxDepth is far above any chain of reflections that makes sense.
	maxDepth = 1000
	// maxCount is the largest n such that a float64 represents every integer up to n.
	maxCount = 1 << 53
	// maxWeight bounds weights and thresholds: the weighted values are from 0 to 1, or
	// counts of turns up to some hundreds.
	maxWeight = 100
	// maxHours is a hundred years.
	maxHours = 876_600
	// maxStaleness is an hour: what is right is right by then.
	maxStaleness = 3600
)

// Fields lists what can be set, except the list of locked fields, in display order.
func Fields() []Field {
	w, due := core.DefaultRetentionWeights(), core.DefaultReflectionThresholds()
	return []Field{
		numbers("max_reflection_depth", "maximum depth of a reflection; 0 forbids reflections", true, 0, maxDepth, number(core.DefaultMaxReflectionDepth),
			func(r *Record) **float64 { return &r.MaxReflectionDepth }, func(g *core.Governance, v float64) { g.MaxReflectionDepth = int(v) }),
		numbers("require_approval_above_depth", "deeper reflections wait for approval", true, 0, maxDepth, nil,
			func(r *Record) **float64 { return &r.RequireApprovalAbove }, func(g *core.Governance, v float64) { depth := int(v); g.RequireApprovalAbove = &depth }),
		numbers("retention.w_hit", "weight of hit_rate", false, 0, maxWeight, &w.Hit,
			func(r *Record) **float64 { return &r.Retention.Hit }, func(g *core.Governance, v float64) { g.Retention.Hit = v }),
		numbers("retention.w_utility", "weight of utility_score", false, 0, maxWeight, &w.Utility,
			func(r *Record) **float64 { return &r.Retention.Utility }, func(g *core.Governance, v float64) { g.Retention.Utility = v }),
		numbers("retention.w_miss", "weight of each miss in a row", false, 0, maxWeight, &w.Miss,
			func(r *Record) **float64 { return &r.Retention.Miss }, func(g *core.Governance, v float64) { g.Retention.Miss = v }),
		numbers("retention.w_stale", "weight of each turn of inactivity", false, 0, maxWeight, &w.Stale,
			func(r *Record) **float64 { return &r.Retention.Stale }, func(g *core.Governance, v float64) { g.Retention.Stale = v }),
		numbers("retention.active_threshold", "the lowest score of an active memory", false, -maxWeight, maxWeight, &w.Active,
			func(r *Record) **float64 { return &r.Retention.Active }, func(g *core.Governance, v float64) { g.Retention.Active = v }),
		numbers("retention.revalidate_threshold", "the score below which the gate decides", false, -maxWeight, maxWeight, &w.Revalidate,
			func(r *Record) **float64 { return &r.Retention.Revalidate }, func(g *core.Governance, v float64) { g.Retention.Revalidate = v }),
		numbers("retention.hysteresis", "how much higher the score must be to become active again", false, 0, maxWeight, &w.Hysteresis,
			func(r *Record) **float64 { return &r.Retention.Hysteresis }, func(g *core.Governance, v float64) { g.Retention.Hysteresis = v }),
		numbers("gate.min_confidence", "the lowest confidence for a purge or promotion", false, core.DefaultMinGateConfidence, 1, number(core.DefaultMinGateConfidence),
			func(r *Record) **float64 { return &r.Gate.MinConfidence }, func(g *core.Governance, v float64) { g.MinGateConfidence = v }),
		numbers("limits.max_memories", "maximum number of memories, with the namespaces below; 0 is no limit", true, 0, maxCount, number(0),
			func(r *Record) **float64 { return &r.Limits.Memories }, func(g *core.Governance, v float64) { g.Limits.MaxMemories = int64(v) }),
		numbers("limits.max_bytes", "maximum bytes of memories, with the namespaces below; 0 is no limit", true, 0, maxCount, number(0),
			func(r *Record) **float64 { return &r.Limits.Bytes }, func(g *core.Governance, v float64) { g.Limits.MaxBytes = int64(v) }),
		numbers("limits.max_links_per_memory", "maximum links of a memory; 0 is no limit", true, 0, maxCount, number(0),
			func(r *Record) **float64 { return &r.Limits.Links }, func(g *core.Governance, v float64) { g.Limits.MaxLinksPerMemory = int64(v) }),
		numbers("reflection.importance", "importance observed until a reflection is due; 0 is never", false, 0, maxCount, &due.Importance,
			func(r *Record) **float64 { return &r.Reflection.Importance }, func(g *core.Governance, v float64) { g.Reflection.Importance = v }),
		numbers("reflection.observations", "observations until a reflection is due; 0 is never", true, 0, maxCount, &due.Observations,
			func(r *Record) **float64 { return &r.Reflection.Observations }, func(g *core.Governance, v float64) { g.Reflection.Observations = v }),
		numbers("reflection.hours", "hours until a reflection is due; 0 is never", false, 0, maxHours, &due.Hours,
			func(r *Record) **float64 { return &r.Reflection.Hours }, func(g *core.Governance, v float64) { g.Reflection.Hours = v }),
		words("language", "the language of the texts, for stemming: "+strings.Join(core.Languages(), ", "), core.DefaultLanguage, core.Languages(),
			func(r *Record) **string { return &r.Language }, func(g *core.Governance, v string) { g.Language = v }),
		words("credit", "whose turns count for what a subject recalls: shared, everybody's within bounds; per_subject, its own where it has some", core.CreditShared, []string{core.CreditShared, core.CreditPerSubject},
			func(r *Record) **string { return &r.Credit }, func(g *core.Governance, v string) { g.Credit = v }),
		words("experiment", "whether memories under test are left out of turns by chance, on or off: 4 to 8 successes are lost for each that is decided, and up to a fifth while twenty are", core.ExperimentOff, []string{core.ExperimentOff, core.ExperimentOn},
			func(r *Record) **string { return &r.Experiment }, func(g *core.Governance, v string) { g.Experiment = v }),
		numbers("regret_budget", "how many successes the trial of a memory may cost", false, 0, maxWeight, number(core.DefaultRegretBudget),
			func(r *Record) **float64 { return &r.RegretBudget }, func(g *core.Governance, v float64) { g.RegretBudget = v }),
		numbers("max_staleness", "seconds by which a recall may lag behind other hosts' commits; 0 is no lag", false, 0, maxStaleness, number(0),
			func(r *Record) **float64 { return &r.MaxStaleness },
			func(g *core.Governance, v float64) { g.MaxStaleness = time.Duration(v * float64(time.Second)) }),
		numbers("recall.min_p", "the lowest p of a memory that a recall counts as relevant; 0 counts all", false, 0, 1, number(core.DefaultMinP),
			func(r *Record) **float64 { return &r.Recall.MinP }, func(g *core.Governance, v float64) { g.MinP = v }),
		numbers("recall.cut", "the share of the best one's score and similarity below which a recall returns nothing more; 0 returns all, 0.8 only what is as near", false, 0, 1, number(core.DefaultCut),
			func(r *Record) **float64 { return &r.Recall.Cut }, func(g *core.Governance, v float64) { g.Cut = v }),
		numbers("injection.min_p", "the lowest p of a memory that goes into a prompt; 0 counts all", false, 0, 1, number(core.DefaultInjectionMinP),
			func(r *Record) **float64 { return &r.Injection.MinP }, func(g *core.Governance, v float64) { g.InjectionMinP = v }),
	}
}

// words is a field of words, stored in a slot of the record.
func words(name, what, standard string, choices []string, slot func(*Record) **string, apply func(*core.Governance, string)) Field {
	return Field{
		Name: name, What: what, Default: &Scalar{text: standard}, Choices: choices,
		of: func(r *Record) *Scalar {
			if v := *slot(r); v != nil {
				return &Scalar{text: *v}
			}
			return nil
		},
		set: func(r *Record, v *Scalar) {
			if *slot(r) = nil; v != nil {
				*slot(r) = &v.text
			}
		},
		apply: func(g *core.Governance, v Scalar) { apply(g, v.text) },
	}
}

func number(v float64) *float64 { return &v }

// numbers is a field of numbers from least to most, stored in a slot of the record.
func numbers(name, what string, whole bool, least, most float64, standard *float64, slot func(*Record) **float64, apply func(*core.Governance, float64)) Field {
	f := Field{
		Name: name, What: what, Whole: whole, Min: least, Max: most,
		of: func(r *Record) *Scalar {
			if v := *slot(r); v != nil {
				return &Scalar{number: *v}
			}
			return nil
		},
		set: func(r *Record, v *Scalar) {
			if *slot(r) = nil; v != nil {
				*slot(r) = &v.number
			}
		},
		apply: func(g *core.Governance, v Scalar) { apply(g, v.number) },
	}
	if standard != nil {
		f.Default = &Scalar{number: *standard}
	}
	return f
}

// check refuses a value that the field can't have.
func (f *Field) check(value Scalar) error {
	if len(f.Choices) > 0 {
		return f.checkChoice(value.text)
	}
	v := value.number
	wrong := math.IsNaN(v) || v < f.Min || v > f.Max || f.Whole && v != math.Trunc(v)
	if !wrong {
		return nil
	}
	kind := "a number"
	if f.Whole {
		kind = "a whole number"
	}
	return invalid(f.Name, "%s must be %s from %s to %s, not %s", f.Name, kind, text(f.Min), text(f.Max), text(v)).
		WithHint("the field is: %s", f.What)
}

func (f *Field) checkChoice(word string) error {
	if slices.Contains(f.Choices, word) {
		return nil
	}
	return invalid(f.Name, "%s can't be %.80q", f.Name, word).WithHint("it is one of %s", strings.Join(f.Choices, ", "))
}

// parse reads a value as it is given on a command line.
func (f *Field) parse(value string) (Scalar, error) {
	if len(f.Choices) > 0 {
		return Scalar{text: value}, nil
	}
	v, err := strconv.ParseFloat(value, 64)
	if err != nil || math.IsInf(v, 0) {
		return Scalar{}, invalid(f.Name, "%s must be a number, not %.80q", f.Name, value).
			WithHint("to leave it to the levels above, unset it").WithAction("governance unset", "namespace", nil, "field", f.Name)
	}
	if v == 0 {
		v = 0 // no negative zero, which JSON would keep
	}
	return Scalar{number: v}, nil
}

func text(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// names lists the fields, and the groups of fields that can be locked together.
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

// invalid is a problem of a field in a change.
func invalid(field, format string, args ...any) *sdk.Error {
	return sdk.Errorf(sdk.Invalid, "governance_invalid", format, args...).WithDetail("field", field)
}

// unknown is the error for a field that doesn't exist.
func unknown(name string, known []string) error {
	e := invalid(name, "there is no field %.80q", name)
	if near := sdk.Nearest(name, known); near != "" {
		return e.WithHint("did you mean %s?", near)
	}
	return e.WithHint("the fields are %s", strings.Join(known, ", "))
}
