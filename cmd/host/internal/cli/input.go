package cli

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/workflow/state"
	"github.com/reflectory/reflectory/sdk"
)

// maxInputBytes bounds a file that becomes state or is judged.
const maxInputBytes = state.MaxInput

// stateFlags are the flags that set the initial state.
type stateFlags struct {
	set   []string // k=v
	file  string
	input string
}

// overlay reads the values that the flags put over a workflow's own state.
func (f stateFlags) overlay(in inputs) (o state.Overlay, err error) {
	if f.file != "" {
		if o.State, err = in.read(f.file, maxInputBytes); err != nil {
			return o, err
		}
	}
	if f.input != "" {
		if o.Input, err = in.value(f.input, false); err != nil {
			return o, err
		}
	}
	for _, kv := range f.set {
		path, text, found := strings.Cut(kv, "=")
		if !found {
			return o, usageError{sdk.Errorf(sdk.Invalid, "usage", "--state %q is not key=value", kv).
				WithHint("write --state %s=VALUE, such as --state user.age=36; the value is JSON if it can be parsed, else text", kv)}
		}
		value := jsonOrText([]byte(text))
		if !utf8.ValidString(kv) || jsontext.InvalidText(value) >= 0 {
			return o, usageError{sdk.Errorf(sdk.Invalid, "usage", "--state %q is not UTF-8 text", kv)}
		}
		o.Set = append(o.Set, state.Value{Path: path, Value: value})
	}
	return o, nil
}

// jsonOrText treats data as JSON if it can be parsed, otherwise as a text.
func jsonOrText(data []byte) json.RawMessage {
	if json.Valid(data) {
		return bytes.TrimSpace(data) // a file ends in a line break, a value doesn't
	}
	text, _ := json.Marshal(string(data)) // a text can't fail to encode
	return text
}

// value reads an input as a JSON value. A *.json file is parsed and, with guess, so is
// any input that can be parsed; anything else is a text.
func (in inputs) value(path string, guess bool) (json.RawMessage, error) {
	data, err := in.read(path, maxInputBytes)
	if err != nil {
		return nil, err
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // some editors put it at the start of a file
	if !utf8.Valid(data) {
		return nil, sdk.Errorf(sdk.Invalid, "input_invalid", "%s is not UTF-8 text", path).
			WithHint("convert it first, for example: iconv -f LATIN1 -t UTF-8 FILE | reflectory … --input -")
	}
	if strings.EqualFold(filepath.Ext(path), ".json") && !guess && !json.Valid(data) {
		return nil, sdk.Errorf(sdk.Invalid, "input_invalid", "%s is named .json but is not JSON: %w", path, json.Unmarshal(data, new(any)))
	}
	if guess || strings.EqualFold(filepath.Ext(path), ".json") {
		value := jsonOrText(data)
		if at := jsontext.InvalidText(value); at >= 0 {
			return nil, sdk.Errorf(sdk.Invalid, "input_invalid", "%s has half of a surrogate pair at byte %d", path, at+1).
				WithHint("write the whole character, or \\ufffd")
		}
		return value, nil
	}
	text, _ := json.Marshal(string(data)) // valid UTF-8 can't fail to encode
	return text, nil
}

// content reads a memory's text from standard input if it is "-". It doesn't check its limits.
func (in inputs) content(text *string) error {
	if *text != "-" {
		return nil
	}
	data, err := in.read("-", maxInputBytes)
	*text = string(data)
	return err
}
