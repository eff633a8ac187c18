package abi

import (
	"encoding/json"

	"github.com/reflectory/reflectory/sdk"
)

// Error is an [sdk.Error] as JSON. Code is the class and Reason the stable name.
type Error struct {
	Code    sdk.Code        `json:"code"`
	Reason  string          `json:"reason,omitempty"`
	Op      string          `json:"op,omitempty"`
	Message string          `json:"message"`
	Hint    string          `json:"hint,omitempty"`
	Details json.RawMessage `json:"details,omitempty"`
}

// NewError describes an error. Details that JSON can't hold are lost; the error
// matters more. It returns nil for nil.
func NewError(err error) *Error {
	if err == nil {
		return nil
	}
	e := sdk.AsError(err)
	out := &Error{Code: e.Code, Reason: e.Reason, Op: e.Op, Message: e.Message, Hint: e.Hint}
	if len(e.Details) > 0 {
		if b, err := json.Marshal(e.Details); err == nil {
			out.Details = b
		}
	}
	return out
}

// SDK returns the error as the contract has it, nil for nil. Details that aren't
// an object are dropped.
func (e *Error) SDK() *sdk.Error {
	if e == nil {
		return nil
	}
	out := &sdk.Error{Code: e.Code, Reason: e.Reason, Op: e.Op, Message: e.Message, Hint: e.Hint}
	if len(e.Details) > 0 {
		_ = json.Unmarshal(e.Details, &out.Details)
	}
	return out
}
