package governance

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// prefix is the prefix of the keys.
const prefix = "governance/"

func key(level string) []byte { return []byte(prefix + level) }

// Record is what one level sets. nil means that the field is left to the levels above.
// Fields that take only whole numbers have a whole number.
type Record struct {
	// Namespace is the level: a namespace, or "*".
	Namespace            string     `json:"namespace"`
	MaxReflectionDepth   *float64   `json:"max_reflection_depth,omitempty"`
	RequireApprovalAbove *float64   `json:"require_approval_above_depth,omitempty"`
	Retention            Retention  `json:"retention,omitzero"`
	Gate                 Gate       `json:"gate,omitzero"`
	Limits               Limits     `json:"limits,omitzero"`
	Reflection           Reflection `json:"reflection,omitzero"`
	Language             *string    `json:"language,omitempty"`
	// Credit is whose turns count for what a subject recalls: shared, everybody's within bounds, or
	// per_subject, its own where it has some.
	Credit *string `json:"credit,omitempty"`
	// Experiment is whether memories under test are left out of turns by chance, on or off, and
	// RegretBudget is how many successes a trial may cost.
	Experiment   *string  `json:"experiment,omitempty"`
	RegretBudget *float64 `json:"regret_budget,omitempty"`
	// MaxStaleness is for how many seconds a recall may miss what other hosts commit; 0 misses
	// nothing.
	MaxStaleness *float64 `json:"max_staleness,omitempty"`
	// Recall is for what is recalled, and Injection for what goes into prompts.
	Recall    Recall    `json:"recall,omitzero"`
	Injection Injection `json:"injection,omitzero"`
	// Locked are fields, or groups such as "retention", that no level below may set.
	Locked []string `json:"locked,omitempty"`
}

// Retention are the weights and thresholds that decide a memory's state.
type Retention struct {
	Hit        *float64 `json:"w_hit,omitempty"`
	Utility    *float64 `json:"w_utility,omitempty"`
	Miss       *float64 `json:"w_miss,omitempty"`
	Stale      *float64 `json:"w_stale,omitempty"`
	Active     *float64 `json:"active_threshold,omitempty"`
	Revalidate *float64 `json:"revalidate_threshold,omitempty"`
	Hysteresis *float64 `json:"hysteresis,omitempty"`
}

// Gate is what purges and promotions need in addition to the gate's own conditions.
type Gate struct {
	MinConfidence *float64 `json:"min_confidence,omitempty"`
}

// Limits bound what a namespace holds with everything below it, and how many links a memory has.
type Limits struct {
	Memories *float64 `json:"max_memories,omitempty"`
	Bytes    *float64 `json:"max_bytes,omitempty"`
	Links    *float64 `json:"max_links_per_memory,omitempty"`
}

// Reflection has the thresholds at which a reflection on what was observed is due.
type Reflection struct {
	Importance   *float64 `json:"importance,omitempty"`
	Observations *float64 `json:"observations,omitempty"`
	Hours        *float64 `json:"hours,omitempty"`
}

// Recall is what a recall returns.
type Recall struct {
	// MinP is the lowest p of what is relevant; 0 is all.
	MinP *float64 `json:"min_p,omitempty"`
	// Cut is the share of the best one below which nothing more is returned; 0 returns all.
	Cut *float64 `json:"cut,omitempty"`
}

// Injection is what goes into prompts.
type Injection struct {
	// MinP is the lowest p of it; 0 is all.
	MinP *float64 `json:"min_p,omitempty"`
}

// empty is whether the record sets nothing.
func (r *Record) empty() bool {
	return string(jsontext.MustEncode(r)) == string(jsontext.MustEncode(Record{Namespace: r.Namespace}))
}

// locks is whether the level locks a field.
func (r *Record) locks(field string) bool {
	return r != nil && slices.ContainsFunc(r.Locked, func(name string) bool { return locks(name, field) })
}

// read returns a level's record; nil if it has none. unreadable is why the stored record
// can't be used.
func read(r core.Reader, level string) (record *Record, unreadable, err error) {
	value, found, err := r.Get(key(level))
	if err != nil || !found {
		return nil, nil, err
	}
	record, unreadable = decode(level, value)
	return record, unreadable, nil
}

// decode accepts only what Set writes, byte for byte: anything else, such as an unknown
// field or one that appears twice, might be misread.
func decode(level string, value []byte) (*Record, error) {
	var record Record
	if err := json.Unmarshal(value, &record); err != nil {
		return nil, unreadable(level, "it can't be decoded: "+err.Error())
	}
	if !bytes.Equal(jsontext.MustEncode(record), value) {
		return nil, unreadable(level, "it isn't in the form that this program writes")
	}
	if record.Namespace != level {
		return nil, unreadable(level, "it names another namespace")
	}
	if err := record.check(); err != nil {
		return nil, unreadable(level, err.Error())
	}
	return &record, nil
}

// check reports all values that their fields can't have.
func (r *Record) check() error {
	var problems []error
	for _, f := range Fields() {
		if v := f.of(r); v != nil {
			problems = append(problems, f.check(*v))
		}
	}
	for _, name := range r.Locked {
		if !slices.Contains(names(), name) {
			problems = append(problems, unknown(name, names()))
		}
	}
	return core.JoinErrors(problems...)
}

// unreadable is the error for a stored record that can't be used.
func unreadable(level, problem string) error {
	return sdk.Errorf(sdk.Internal, "governance_unreadable", "the stored settings of %s can't be read: %s", level, problem).
		WithHint("until they can be read, no memory there is reflected on or changes its state; restore a backup, or drop the settings").
		WithAction("governance unset", "namespace", level).
		WithDetail("level", level)
}

// Values lists the fields that the record sets, in the order of [Fields].
func (r *Record) Values() []Value {
	var list []Value
	for _, f := range Fields() {
		if v := f.of(r); v != nil {
			list = append(list, Value{Field: f.Name, Value: v, Level: r.Namespace})
		}
	}
	return list
}
