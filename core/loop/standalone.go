package loop

import (
	"bytes"
	"encoding/json"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// standalone returns the data that an evaluation or correction outside a loop
// works on, and the state that its plugin sees.
func standalone(req *core.ActionRequest, value core.Value, findings []sdk.Finding) (data, state json.RawMessage, err error) {
	if value != nil {
		data, err = value.Render(core.Variables{State: req.State})
	} else if data, err = firstMember(req.State, "reflection_output", "output"); err == nil && data == nil {
		err = sdk.Errorf(sdk.Invalid, "data_missing", "there is nothing to work on: state has neither reflection_output nor output").
			WithHint(`give data:, such as data: "{{ state.draft.output }}"`)
	}
	if err != nil {
		return nil, nil, err
	}
	v, err := newView(req.State)
	if err != nil {
		return nil, nil, err
	}
	return data, v.state(reflection{iteration: 1, output: data, errors: core.MustJSON(nonNil(findings))}), nil
}

// withRecorded puts the reserved keys of a recorded state back, so that an evaluator
// sees the history that it would have seen then; but what it judges is the output at
// hand. It returns the iteration too. A workflow's own state never has such keys.
func withRecorded(state, recorded, output json.RawMessage) (json.RawMessage, int, error) {
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
	iteration := 1
	if err := json.Unmarshal(members[core.ReservedPrefix+"iteration"], &iteration); err != nil {
		return nil, 0, sdk.Errorf(sdk.Invalid, "state_invalid", "the state's reflection_iteration is not a whole number")
	}
	return core.MustJSON(members), iteration, nil
}

// findingsOf reads a list of findings, or of texts.
func findingsOf(value core.Value, state json.RawMessage) ([]sdk.Finding, error) {
	if value == nil {
		return nil, nil
	}
	raw, err := value.Render(core.Variables{State: state})
	if err != nil {
		return nil, err
	}
	return ParseFindings(raw)
}

// ParseFindings reads a JSON list whose entries are findings or texts. null is
// an empty list.
func ParseFindings(raw json.RawMessage) ([]sdk.Finding, error) {
	var entries []json.RawMessage
	if err := json.Unmarshal(raw, &entries); err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "errors_invalid", "errors is %s, not a list of texts or of {message, path, …}", kindOf(raw))
	}
	findings := make([]sdk.Finding, len(entries))
	for i, e := range entries {
		var err error
		if bytes.HasPrefix(bytes.TrimSpace(e), []byte(`"`)) {
			err = json.Unmarshal(e, &findings[i].Message)
		} else {
			err = json.Unmarshal(e, &findings[i])
		}
		if err != nil || findings[i].Message == "" {
			return nil, sdk.Errorf(sdk.Invalid, "errors_invalid", "errors[%d] is neither a text nor an object with a message", i)
		}
	}
	return findings, nil
}
