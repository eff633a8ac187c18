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

// NewError describes an error. It drops details that JSON can't represent, because the
// error matters more. It returns nil for nil.
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

// SDK returns the error in the contract's form, or nil for nil. It drops details that
// aren't an object.
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
