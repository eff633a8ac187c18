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

// Apply applies the overlay to a state. An error has the part that is wrong as its detail
// "field".
func (o *Overlay) Apply(state json.RawMessage) (json.RawMessage, error) {
	var err error
	if len(o.State) > 0 {
		if err = CheckInput("state", o.State); err == nil {
			state, err = Merge(state, o.State)
		}
		if err != nil {
			return nil, ofField("state", err)
		}
	}
	if len(o.Input) > 0 {
		if err = CheckInput("input", o.Input); err == nil {
			state, err = Set(state, "input", o.Input)
		}
		if err != nil {
			return nil, ofField("input", err)
		}
	}
	if len(o.Set) > MaxSet {
		return nil, ofField("set", sdk.Errorf(sdk.Invalid, "set_invalid", "set has %d values (limit %d)", len(o.Set), MaxSet))
	}
	for _, v := range o.Set {
		what := "set " + core.Cut(v.Path)
		if err = CheckInput(what, v.Value); err == nil {
			state, err = Set(state, v.Path, v.Value)
			err = sdk.Wrap(what, err)
		}
		if err != nil {
			return nil, ofField("set", err)
		}
	}
	return state, nil
}

// CheckInput refuses a value for a state, or to be judged, that is larger than
// [MaxInput]: sdk.Exhausted, reason "input_too_large".
func CheckInput(what string, value json.RawMessage) error {
	if len(value) > MaxInput {
		return sdk.Errorf(sdk.Exhausted, "input_too_large", "%s has %d bytes of JSON (limit %d)", what, len(value), MaxInput).
			WithHint("put into the state only what the workflow needs")
	}
	return nil
}

func ofField(field string, err error) error { return sdk.AsError(err).WithDetail("field", field) }
