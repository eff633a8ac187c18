package client

import (
	"encoding/json"
	"net/http"

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

// Err is the described error as if it had happened in this program: with its class, reason,
// message, and details in the types that the program expects. It isn't the same Go error,
// so nothing may depend on errors.Is.
func (d *ErrorData) Err() error {
	if d == nil {
		return nil
	}
	return &sdk.Error{Code: d.Class, Reason: d.Reason, Message: d.Message, Hint: d.Hint, Try: d.Try, Details: d.Details}
}

// Err is the problem as an error of the program. It uses the part that is meant for the
// program instead of the public part, if it exists. That part is missing if the server
// refused before it read the request, for example because of too many connections.
func (p *Problem) Err() error {
	if p.Error != nil {
		return p.Error.Err()
	}
	return &sdk.Error{Code: classOf(p.Status), Reason: p.Code, Message: p.Detail, Hint: route().ReplaceAllString(p.Hint, ""), Try: p.Try, Details: p.Details}
}

// classOf is the class of a refusal by its status.
func classOf(status int) sdk.Code {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return sdk.Denied
	case http.StatusNotFound:
		return sdk.NotFound
	case http.StatusConflict, http.StatusPreconditionFailed:
		return sdk.Conflict
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return sdk.Timeout
	case http.StatusRequestEntityTooLarge, http.StatusTooManyRequests, http.StatusRequestHeaderFieldsTooLarge:
		return sdk.Exhausted
	case http.StatusServiceUnavailable:
		return sdk.Unavailable
	}
	if status >= http.StatusInternalServerError {
		return sdk.Internal
	}
	return sdk.Invalid
}

// UnmarshalJSON implements [json.Unmarshaler], with the details as [core.DecodeDetails] has
// them.
func (d *ErrorData) UnmarshalJSON(data []byte) error {
	type plain ErrorData
	read := struct {
		*plain
		Details map[string]json.RawMessage `json:"details"`
	}{plain: (*plain)(d)}
	if err := json.Unmarshal(data, &read); err != nil {
		return err
	}
	var err error
	d.Details, err = core.DecodeDetails(read.Details)
	return err
}
