package check

import (
	"encoding/json"

	"github.com/reflectory/reflectory/sdk"
)

// Limits for a plugin's questions to the host during one call.
const (
	// MaxHostOpen is how many questions may be open at a time: enough to keep a model's
	// endpoint busy, and cheap to hold.
	MaxHostOpen = 8
	// MaxHostCalls is how many questions one call may ask in total.
	MaxHostCalls = 10_000
	// MaxHostBytes limits one question: the longest prompts that models accept are
	// about this long.
	MaxHostBytes = 1 << 20
)

// HostCalls refuses further questions of a call that has asked [MaxHostCalls].
func HostCalls(asked int) error {
	if asked <= MaxHostCalls {
		return nil
	}
	return sdk.Errorf(sdk.Exhausted, "host_calls_exceeded", "more than %d questions to the host in one call", MaxHostCalls).
		WithHint("ask for more with each question")
}

// HostCall refuses a question that the host can't use.
func HostCall(service sdk.Service, body json.RawMessage) error {
	if len(body) > MaxHostBytes {
		return HostCallTooLarge(service, len(body), MaxHostBytes)
	}
	if err := JSON(body); err != nil {
		return sdk.Errorf(sdk.Invalid, "request_invalid", "the request of host service %.64q %w", service, err).
			WithHint("send one JSON value in the service's shape; package sdk has them all")
	}
	return nil
}

// HostCallTooLarge is the error of a question over a limit in bytes.
func HostCallTooLarge(service sdk.Service, size, limit int) error {
	return sdk.Errorf(sdk.Exhausted, "message_too_large",
		"the request of host service %.64q is %d bytes, over the cap of %d bytes", service, size, limit).
		WithHint("ask for less at a time").
		WithDetail("size", size).WithDetail("limit", limit)
}
