package client

import (
	"encoding/json"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// NewErrorData describes an error; nil gives nil.
func NewErrorData(err error) *ErrorData {
	if err == nil {
		return nil
	}
	e := sdk.AsError(err)
	return &ErrorData{Class: e.Code, Reason: e.Reason, Message: err.Error(), Hint: e.Hint, Try: e.Try, Details: e.Details}
}

// Err is the error that was described, as it would be had it happened here: with its class
// and reason, its words, and its facts in the types that the program looks for. It isn't
// the same error in Go, so that nothing may depend on errors.Is.
func (d *ErrorData) Err() error {
	if d == nil {
		return nil
	}
	return &sdk.Error{Code: d.Class, Reason: d.Reason, Message: d.Message, Hint: d.Hint, Try: d.Try, Details: d.Details}
}

// UnmarshalJSON implements [json.Unmarshaler]. Facts that are no plain values stay as they
// came, so that they are printed with their members in the same order; the problems of an
// error that is several are what core.Together makes.
func (d *ErrorData) UnmarshalJSON(data []byte) error {
	type plain ErrorData
	read := struct {
		*plain
		Details map[string]json.RawMessage `json:"details"`
	}{plain: (*plain)(d)}
	if err := json.Unmarshal(data, &read); err != nil {
		return err
	}
	d.Details = nil
	for name, text := range read.Details {
		value, err := detail(name, text)
		if err != nil {
			return err
		}
		if d.Details == nil {
			d.Details = map[string]any{}
		}
		d.Details[name] = value
	}
	return nil
}

// detail is a fact of an error.
func detail(name string, text json.RawMessage) (any, error) {
	if name == "problems" {
		var list []*problemData
		if json.Unmarshal(text, &list) == nil {
			problems := make([]*core.ErrorInfo, len(list))
			for i, p := range list {
				problems[i] = p.info()
			}
			if same(problems, text) {
				return problems, nil
			}
		}
	}
	if text[0] == '{' || text[0] == '[' {
		return text, nil
	}
	return core.DecodeJSON(text)
}

// problemData is one of several problems.
type problemData struct {
	core.ErrorInfo
	Details map[string]json.RawMessage `json:"details"`
}

func (p *problemData) info() *core.ErrorInfo {
	info := p.ErrorInfo
	for name, text := range p.Details {
		value, err := detail(name, text)
		if err != nil {
			value = text
		}
		if info.Details == nil {
			info.Details = map[string]any{}
		}
		info.Details[name] = value
	}
	return &info
}

// same reports whether a value is printed as it came: problems of another part of the
// program have members of their own.
func same(value any, text json.RawMessage) bool {
	again, err := core.EncodeJSON(value)
	return err == nil && string(again) == string(text)
}
