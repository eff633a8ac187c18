package sdk

import (
	"encoding/json"
	"maps"
	"time"
)

// Details by which a failed call says what may come of another try. A loop acts on
// them no matter who sets them: a built-in plugin has no other way to say it.
const (
	// PermanentDetail is true where nothing changes by trying again: a wrong
	// config, key, model, template or script. See [Permanent].
	PermanentDetail = "permanent"
	// RetryAfterDetail is how long the other side asks to wait, in milliseconds.
	RetryAfterDetail = "retry_after_ms"
	// RawDetail is what a generator was given in place of an output, such as a
	// model's reply that isn't JSON: any JSON value, of which a corrector may still
	// make something. With the other details it must fit into 64 KiB as JSON.
	RawDetail = "raw"
)

// Permanent reports whether the same call can't succeed before somebody changes
// something: what it needs is missing, forbidden or of another version, its config
// is wrong (reason "config_invalid"), or it says so (see [PermanentDetail]).
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

// AsPermanent says in an error that nothing changes by trying again; nil stays nil.
func AsPermanent(err error) error {
	if err == nil || Permanent(err) {
		return err
	}
	e := *AsError(err)
	e.Details, e.Err = maps.Clone(e.Details), err
	return e.WithDetail(PermanentDetail, true)
}

// RetryAfter is how long the other side asks to wait before the next try, as the
// error says; 0 where it doesn't.
func RetryAfter(err error) time.Duration {
	if err == nil {
		return 0
	}
	switch millis := AsError(err).Details[RetryAfterDetail].(type) {
	case int64:
		return max(0, time.Duration(millis)*time.Millisecond)
	case float64: // it came over a boundary
		const most = float64(24 * time.Hour / time.Millisecond)
		return time.Duration(min(max(0, millis), most)) * time.Millisecond
	}
	return 0
}

// RawOf is what a generator was given in place of an output, as its error says;
// nil where it doesn't. See [RawDetail].
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
