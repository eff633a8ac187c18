package state

import (
	"encoding/json"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

const (
	// MaxInput bounds each part of an [Overlay], in bytes of JSON: 8 MiB, the limit of a
	// message to a plugin, each of which contains the state.
	MaxInput = 8 << 20
	// MaxSet bounds how many single values an [Overlay] sets.
	MaxSet = 1000
)

// Overlay is the part of a run's initial state that comes from its caller. Its parts
// override the workflow's own state, in their order here.
type Overlay struct {
	// State is a JSON object, whose members replace those with the same names.
	State json.RawMessage `json:"state,omitempty"`
	// Input becomes state.input.
	Input json.RawMessage `json:"input,omitempty"`
	// Set are single values, up to [MaxSet].
	Set []Value `json:"set,omitempty"`
}

// Value is a value at a path in the state.
type Value struct {
	// Path is the keys to it, the outermost first, separated by dots.
	Path  string          `json:"path"`
	Value json.RawMessage `json:"value"`
}

// Apply applies the overlay to a state. It reports all parts that are wrong, each as the detail
// "field" of its problem.
func (o *Overlay) Apply(state json.RawMessage) (json.RawMessage, error) {
	var problems []error
	part := func(field, what string, value json.RawMessage, apply func() (json.RawMessage, error)) {
		err := CheckInput(what, value)
		if err == nil {
			var after json.RawMessage
			if after, err = apply(); err == nil {
				state = after
				return
			}
		}
		problems = append(problems, sdk.AsError(err).WithDetail("field", field))
	}
	if len(o.State) > 0 {
		part("state", "state", o.State, func() (json.RawMessage, error) { return Merge(state, o.State) })
	}
	if len(o.Input) > 0 {
		part("input", "input", o.Input, func() (json.RawMessage, error) { return Set(state, "input", o.Input) })
	}
	if len(o.Set) > MaxSet {
		problems = append(problems, sdk.Errorf(sdk.Invalid, "set_invalid", "set has %d values (limit %d)", len(o.Set), MaxSet).WithDetail("field", "set"))
	}
	for _, v := range o.Set {
		if len(o.Set) > MaxSet || len(problems) == maxProblems {
			break
		}
		what := "set " + core.Cut(v.Path)
		part("set", what, v.Value, func() (json.RawMessage, error) {
			after, err := Set(state, v.Path, v.Value)
			return after, sdk.Wrap(what, err)
		})
	}
	if err := core.JoinErrors(problems...); err != nil {
		return nil, err
	}
	return state, nil
}

// maxProblems is how many problems of an overlay are reported.
const maxProblems = 64

// CheckInput refuses a value for a state, or to be judged, that is larger than
// [MaxInput]: sdk.Exhausted, reason "input_too_large".
func CheckInput(what string, value json.RawMessage) error {
	if len(value) > MaxInput {
		return sdk.Errorf(sdk.Exhausted, "input_too_large", "%s has %d bytes of JSON (limit %d)", what, len(value), MaxInput).
			WithHint("put into the state only what the workflow needs")
	}
	return nil
}
