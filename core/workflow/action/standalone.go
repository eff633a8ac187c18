package action

import (
	"bytes"
	"encoding/json"

	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// dataOf is the data for an evaluation or correction outside a loop: from its spec, else
// the output that a recorded state or the previous node left in the state.
func dataOf(value Value, state json.RawMessage) (json.RawMessage, error) {
	if value != nil {
		return value.Render(Variables{State: state})
	}
	data, err := firstMember(state, "reflection_output", "output")
	if err == nil && data == nil {
		err = sdk.Errorf(sdk.Invalid, "data_missing", "there is nothing to work on: state has neither reflection_output nor output").
			WithHint(`give data:, such as data: "{{ state.draft.output }}"`)
	}
	return data, err
}

// findingsOf reads a list of findings, or of texts.
func findingsOf(value Value, state json.RawMessage) ([]sdk.Finding, error) {
	if value == nil {
		return nil, nil
	}
	raw, err := value.Render(Variables{State: state})
	if err != nil {
		return nil, err
	}
	return parseFindings(raw)
}

// parseFindings reads a JSON list whose entries are findings or texts. null is
// an empty list.
func parseFindings(raw json.RawMessage) ([]sdk.Finding, error) {
	var entries []json.RawMessage
	if err := json.Unmarshal(raw, &entries); err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "errors_invalid", "errors is %s, not a list of texts or of {message, path, …}", jsontext.Kind(raw))
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

// firstMember returns the first of the named members that an object has; nil if it has
// none.
func firstMember(object json.RawMessage, names ...string) (json.RawMessage, error) {
	var members map[string]json.RawMessage
	if len(object) > 0 {
		if err := json.Unmarshal(object, &members); err != nil {
			return nil, sdk.Errorf(sdk.Invalid, "state_invalid", "the state is not a JSON object: %w", err)
		}
	}
	for _, name := range names {
		if v, ok := members[name]; ok {
			return v, nil
		}
	}
	return nil, nil
}
