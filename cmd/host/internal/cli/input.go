package cli

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core/workflow"
	"github.com/reflectory/reflectory/sdk"
)

// maxInputBytes bounds a file that becomes state. Plugin messages are 8 MiB,
// and the state travels in each.
const maxInputBytes = 4 << 20

// stateFlags are the flags that set the initial state.
type stateFlags struct {
	set   []string // k=v
	file  string
	input string
}

// apply lays the flags over a workflow's own state: the file, then the input,
// then each k=v.
func (f stateFlags) apply(state json.RawMessage, in inputs) (json.RawMessage, error) {
	if f.file != "" {
		data, err := in.read(f.file, maxInputBytes)
		if err != nil {
			return nil, err
		}
		if state, err = workflow.MergeState(state, data); err != nil {
			return nil, sdk.Wrap(f.file, err)
		}
	}
	if f.input != "" {
		value, err := in.value(f.input, false)
		if err != nil {
			return nil, err
		}
		if state, err = workflow.SetState(state, "input", value); err != nil {
			return nil, err
		}
	}
	for _, kv := range f.set {
		key, text, found := strings.Cut(kv, "=")
		if !found {
			return nil, usageError{sdk.Errorf(sdk.Invalid, "usage", "--state %q is not key=value", kv).
				WithHint("write --state name=Ada or --state user.age=36; the value is JSON if it parses, else text")}
		}
		if !utf8.ValidString(kv) {
			return nil, usageError{sdk.Errorf(sdk.Invalid, "usage", "--state %q is not UTF-8 text", kv)}
		}
		var err error
		if state, err = workflow.SetState(state, key, jsonOrText([]byte(text))); err != nil {
			return nil, usageError{sdk.Wrap("--state "+term.Cut(key, 100), err)}
		}
	}
	return state, nil
}

// jsonOrText takes data as JSON if it parses, else as a text.
func jsonOrText(data []byte) json.RawMessage {
	if json.Valid(data) {
		return bytes.TrimSpace(data) // a file ends in a line break, a value doesn't
	}
	text, _ := json.Marshal(string(data)) // a text can't fail to encode
	return text
}

// value reads an input as a JSON value: parsed
// when it is a *.json file or guess is set and it parses, else a text.
func (in inputs) value(path string, guess bool) (json.RawMessage, error) {
	data, err := in.read(path, maxInputBytes)
	if err != nil {
		return nil, err
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // some editors begin a file with it
	if !utf8.Valid(data) {
		return nil, sdk.Errorf(sdk.Invalid, "input_invalid", "%s is not UTF-8 text", path).
			WithHint("convert it first, for example: iconv -f LATIN1 -t UTF-8 FILE | reflectory … --input -")
	}
	if strings.EqualFold(filepath.Ext(path), ".json") && !guess && !json.Valid(data) {
		return nil, sdk.Errorf(sdk.Invalid, "input_invalid", "%s is named .json but is not JSON: %w", path, json.Unmarshal(data, new(any)))
	}
	if guess || strings.EqualFold(filepath.Ext(path), ".json") {
		return jsonOrText(data), nil
	}
	text, _ := json.Marshal(string(data)) // valid UTF-8 can't fail to encode
	return text, nil
}
