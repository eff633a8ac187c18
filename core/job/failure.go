package job

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// A caller that waits for a job gets the error with which the job's work ended, as if the
// work had been done within the call. So a job keeps the whole error, not only its text.

// Failure is the error that a job failed with.
type Failure struct {
	// Class is the error's class, by which programs branch.
	Class sdk.Code `json:"class"`
	core.ErrorInfo
}

// The bounds of what is kept of an error, in bytes. No error of the program itself is
// longer, but an error may quote a plugin.
const (
	maxFailureText    = 16 << 10
	maxFailureDetails = 64 << 10
)

// NewFailure describes an error, without the parts that are too long to be kept.
func NewFailure(err error) *Failure {
	f := &Failure{Class: sdk.CodeOf(err), ErrorInfo: *core.NewErrorInfo(err)}
	f.Message, f.Hint = shorten(f.Message, maxFailureText), shorten(f.Hint, maxFailureText)
	for _, part := range []any{f.Details, f.Try} {
		if data, err := jsontext.Encode(part); err != nil || len(data) > maxFailureDetails {
			f.Details, f.Try = nil, nil
		}
	}
	return f
}

// Err is the error that was described. It isn't the same error in Go.
func (f *Failure) Err() error {
	e := &sdk.Error{Code: f.Class, Message: f.Message, Hint: f.Hint, Try: f.Try, Details: f.Details}
	if f.Code != string(f.Class) {
		e.Reason = f.Code
	}
	return e
}

// EndError is the error of a job that ended without completing.
func EndError(id string, ended Status, reason, message string, f *Failure) error {
	if ended == StatusFailed && f != nil {
		return f.Err()
	}
	class := sdk.Internal
	if ended == StatusCancelled {
		class = sdk.Cancelled
	}
	return sdk.Errorf(class, reason, "job %s: %s", id, cmp.Or(message, reason)).
		WithHint("look at the job").WithAction("jobs show", "job", id)
}

// purged is the failure without the parts that may quote a memory.
func (f *Failure) purged() *Failure {
	return &Failure{Class: f.Class, ErrorInfo: core.ErrorInfo{Code: f.Code, Message: purgedText}}
}

// UnmarshalJSON implements [json.Unmarshaler], with the details as [core.DecodeDetails] has
// them.
func (f *Failure) UnmarshalJSON(data []byte) error {
	type plain Failure
	read := struct {
		*plain
		Details map[string]json.RawMessage `json:"details"`
	}{plain: (*plain)(f)}
	if err := json.Unmarshal(data, &read); err != nil {
		return err
	}
	var err error
	f.Details, err = core.DecodeDetails(read.Details)
	return err
}

// shorten cuts a text to so many bytes of UTF-8.
func shorten(s string, most int) string {
	if len(s) > most {
		s = s[:most]
	}
	return strings.ToValidUTF8(s, "")
}
