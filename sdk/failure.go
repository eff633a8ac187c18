package sdk

import (
	"encoding/json"
	"maps"
	"time"
)

// Details by which a failed call tells whether and when another try may help. A loop
// acts on them in errors of every plugin, shipped or not.
const (
	// PermanentDetail is true if trying again changes nothing: a wrong config, key,
	// model, template or script. See [Permanent].
	PermanentDetail = "permanent"
	// RetryAfterDetail is how long the other side asks to wait, in milliseconds.
	RetryAfterDetail = "retry_after_ms"
	// RawDetail is what a generator received that it couldn't turn into an output, such
	// as a model's reply that isn't JSON. It is any JSON value, which a corrector may
	// still be able to use. All details together must fit into 64 KiB as JSON.
	RawDetail = "raw"
)

// Permanent reports whether the same call can't succeed until somebody changes
// something: a requirement is missing, forbidden or of another version, the config is
// wrong (reason "config_invalid"), or the error has the detail [PermanentDetail].
func Permanent(err error) bool {
	if err == nil {
		return false
	}
	e := AsError(err)
	switch e.Code {
	case Denied, NotFound, Incompatible:
		return true
	}
	said, _ := e.Details[PermanentDetail].(bool)
	return said || e.Reason == "config_invalid"
}

// AsPermanent marks an error with [PermanentDetail]; nil stays nil.
func AsPermanent(err error) error {
	if err == nil || Permanent(err) {
		return err
	}
	e := *AsError(err)
	e.Details, e.Err = maps.Clone(e.Details), err
	return e.WithDetail(PermanentDetail, true)
}

// RetryAfter is how long the other side asks to wait before the next try, according to
// the error, or 0.
func RetryAfter(err error) time.Duration {
	if err == nil {
		return 0
	}
	switch millis := AsError(err).Details[RetryAfterDetail].(type) {
	case int64:
		return max(0, time.Duration(millis)*time.Millisecond)
	case float64: // it crossed a boundary
		const most = float64(24 * time.Hour / time.Millisecond)
		return time.Duration(min(max(0, millis), most)) * time.Millisecond
	}
	return 0
}

// RawOf is what a generator received that it couldn't turn into an output, according to
// its error, or nil. See [RawDetail].
func RawOf(err error) json.RawMessage {
	if err == nil {
		return nil
	}
	raw := AsError(err).Details[RawDetail]
	if raw == nil {
		return nil
	}
	b, err := json.Marshal(raw)
	if err != nil {
		return nil
	}
	return b
}
