package abi

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/reflectory/reflectory/sdk"
)

// Evaluated is an evaluator's response as JSON. Only in JSON can a response leave out
// whether a verdict is valid. A zero value would then count as "no", and something that
// isn't a verdict, such as {}, would count as one.
type Evaluated struct {
	sdk.EvaluateResponse
	// Instead is what arrived if a verdict, or one of its children, doesn't have the field
	// valid: its JSON, or "nothing". It is "" if all of them have it.
	Instead string `json:"-"`
}

// UnmarshalJSON reads a response, and finds out what it leaves out.
func (e *Evaluated) UnmarshalJSON(b []byte) error {
	if err := json.Unmarshal(b, &e.EvaluateResponse); err != nil {
		return err
	}
	var response struct {
		Verdict json.RawMessage `json:"verdict"`
	}
	if err := json.Unmarshal(b, &response); err != nil {
		return err
	}
	e.Instead = instead(response.Verdict)
	return nil
}

func instead(verdict json.RawMessage) string {
	var v struct {
		Valid    *bool                      `json:"valid"`
		Children map[string]json.RawMessage `json:"children"`
	}
	switch {
	case len(verdict) == 0:
		return "nothing"
	case json.Unmarshal(verdict, &v) != nil || v.Valid == nil:
		return string(verdict)
	}
	for _, name := range slices.Sorted(maps.Keys(v.Children)) {
		if text := instead(v.Children[name]); text != "" {
			return text
		}
	}
	return ""
}
