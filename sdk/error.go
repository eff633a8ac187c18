package sdk

import (
	"context"
	"errors"
	"fmt"
)

// Code is the class of an [Error]. The set is closed: callers branch on it and
// it crosses every boundary (process, WASM, HTTP, CLI) unchanged.
type Code string

// The classes of errors, each with the question that it answers for a caller.
const (
	Invalid      Code = "invalid"      // was the input wrong? then don't retry
	NotFound     Code = "not_found"    // does it exist?
	Conflict     Code = "conflict"     // did the state change meanwhile?
	Denied       Code = "denied"       // did a policy or a lock forbid it?
	Exhausted    Code = "exhausted"    // was a quota, budget or size limit hit?
	Timeout      Code = "timeout"      // did the host stop it at its deadline?
	Cancelled    Code = "cancelled"    // did the caller give up?
	Unavailable  Code = "unavailable"  // did the other side go away? a retry may help
	Incompatible Code = "incompatible" // are two versions incompatible?
	Internal     Code = "internal"     // is it a defect?
)

// Codes lists every class, in the order in which they are documented.
func Codes() []Code {
	return []Code{Invalid, NotFound, Conflict, Denied, Exhausted, Timeout, Cancelled, Unavailable, Incompatible, Internal}
}

// Error is the only error type of Reflectory. Its identity (Code, Reason) and its texts
// (Message, Hint, Details) survive every boundary. These don't: Err (the cause in this process),
// Try (an operation of this host) and FromPlugin.
type Error struct {
	// Code is the class.
	Code Code
	// Reason is a stable snake_case name within the class, such as
	// "depth_exceeded". It is what JSON shows as "code"; empty means the class.
	Reason string
	// Op is what was being done, such as "evaluate with schema-eval".
	Op string
	// Message is one readable line: what went wrong, with names and values.
	Message string
	// Hint is one line on what to do about it, if that is known. It is a complete sentence
	// without a command: commands come from Try.
	Hint string
	// Try is the operation that follows Hint, if there is one. Like Err it stays in the host.
	Try *Action `json:"-"`
	// Details are facts for programs. Values must be encodable as JSON.
	Details map[string]any
	// FromPlugin is whether a plugin chose the code, the reason and the texts. A reason of the
	// host can have a special effect, for example its own status over HTTP. A plugin's reason
	// never has such an effect, even if it has the same name. Like Err it stays in the host.
	FromPlugin bool `json:"-"`
	// Err is the cause, for errors.Is and errors.As.
	Err error
}

// Errorf makes an error of a class with a stable reason. A %w verb sets Err.
func Errorf(code Code, reason, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Reason: reason, Message: err.Error(), Err: errors.Unwrap(err)}
}

// WithHint sets the line on what to do, and returns the error. It removes an earlier
// action, which belonged to the earlier hint.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint, e.Try = fmt.Sprintf(format, args...), nil
	return e
}

// WithAction sets the operation that follows the hint, and returns the error. It takes a
// verb and alternating names and values, like [NewAction].
func (e *Error) WithAction(verb string, pairs ...any) *Error {
	e.Try = NewAction(verb, pairs...)
	return e
}

// WithDetail adds one fact for programs, and returns the error.
func (e *Error) WithDetail(name string, value any) *Error {
	if e.Details == nil {
		e.Details = map[string]any{}
	}
	e.Details[name] = value
	return e
}

// Error renders "op: message".
func (e *Error) Error() string {
	if e.Op == "" {
		return e.Message
	}
	return e.Op + ": " + e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Wrap adds what was being done when err happened, and keeps the error's identity. It
// returns nil for a nil err. Wrap once per layer.
func Wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	e := *AsError(err)
	if e.Op != "" {
		op += ": " + e.Op
	}
	e.Op, e.Err = op, err
	return &e
}

// AsError finds the [Error] in err's chain, or describes err as one: the end of a
// context is Cancelled or Timeout, any other error is Internal. It returns nil for nil.
func AsError(err error) *Error {
	var e *Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &e):
		return e
	case errors.Is(err, context.Canceled):
		return &Error{Code: Cancelled, Message: err.Error(), Err: err}
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Code: Timeout, Message: err.Error(), Err: err}
	}
	return &Error{Code: Internal, Message: err.Error(), Err: err}
}

// CodeOf returns err's class, Internal for an error that isn't an [Error], and "" for
// nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	return AsError(err).Code
}

// ReasonOf returns err's stable name: its Reason or else its class, and "" for nil.
func ReasonOf(err error) string {
	if err == nil {
		return ""
	}
	if e := AsError(err); e.Reason != "" {
		return e.Reason
	}
	return string(CodeOf(err))
}

// Transient reports whether the same call may succeed when repeated, because the other
// side went away. A timeout isn't transient, since a call that ran too long once will
// run too long again. A plugin that meets a temporary fault upstream reports it as
// Unavailable.
func Transient(err error) bool { return CodeOf(err) == Unavailable }
