package loop

import (
	"bytes"
	"encoding/json"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// A plugin that is called outside a loop gets the same input as in the first iteration of
// a loop: the same call, and the same reserved keys in its state. So an evaluator works
// in reflection.evaluate as it does in a loop. Only this package decides what those keys
// hold, and how a call is identified.

// Call identifies the call of a node's iteration, with its idempotency key. visit counts
// the nodes that the run has started, from 1. Without a run there is no key.
func Call(runID string, visit int, node string, iteration int, role sdk.Role) sdk.Call {
	return sdk.Call{
		RunID: runID, Node: node, Iteration: iteration, Role: role,
		IdempotencyKey: idempotencyKey(runID, visit, iteration, role),
	}
}

// StandaloneState is the state that a plugin sees outside a loop: a JSON object with the
// reserved keys of a first iteration, whose output has these findings. Reserved keys in
// the state are replaced. A state that isn't an object is sdk.Invalid, reason
// "state_invalid".
func StandaloneState(state, output json.RawMessage, findings []sdk.Finding) (json.RawMessage, error) {
	v, err := newView(state)
	if err != nil {
		return nil, err
	}
	return v.state(reflection{iteration: 1, output: output, errors: jsontext.MustEncode(nonNil(findings))}), nil
}

// RecordedState is [StandaloneState] of a state that may have been recorded in a loop. It
// keeps the existing reserved keys, so that an evaluator sees the same history as in that
// loop, except that it judges the given output. It also returns the iteration. A
// workflow's own state never has such keys.
func RecordedState(recorded, output json.RawMessage) (state json.RawMessage, iteration int, err error) {
	if state, err = StandaloneState(recorded, output, nil); err != nil {
		return nil, 0, err
	}
	if !bytes.Contains(recorded, []byte(`"`+core.ReservedPrefix)) {
		return state, 1, nil
	}
	members := map[string]json.RawMessage{}
	for _, object := range []json.RawMessage{state, recorded} {
		if err := json.Unmarshal(object, &members); err != nil {
			return nil, 0, sdk.Errorf(sdk.Invalid, "state_invalid", "the state is not a JSON object: %w", err)
		}
	}
	members[keyOutput] = output
	iteration = 1
	if err := json.Unmarshal(members[core.ReservedPrefix+"iteration"], &iteration); err != nil {
		return nil, 0, sdk.Errorf(sdk.Invalid, "state_invalid", "the state's reflection_iteration is not a whole number")
	}
	return jsontext.MustEncode(members), iteration, nil
}

// SameOutput reports whether two outputs are the same value: the order of keys and the
// space between tokens don't matter.
func SameOutput(a, b json.RawMessage) bool { return canonical(a) == canonical(b) }
