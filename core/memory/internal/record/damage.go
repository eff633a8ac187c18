package record

import "github.com/reflectory/reflectory/sdk"

// damageReason is the reason of records that aren't what the store wrote.
const damageReason = "record_corrupt"

// Corrupt reports that a record of a memory isn't what the store wrote.
func Corrupt(id, key, problem string) *sdk.Error {
	return sdk.Errorf(sdk.Internal, damageReason, "memory %s, record %q: %s", id, key, problem).
		WithHint("the data is damaged at this memory; check the store").WithAction("store check").
		WithDetail("memory_id", id).WithDetail("key", key)
}

// Damaged reports that a record which belongs to no memory isn't what the store wrote.
func Damaged(key string, err error) error {
	return sdk.Errorf(sdk.Internal, damageReason, "record %q can't be decoded: %w", key, err).
		WithHint("check the store for more damage").WithAction("store check").WithDetail("key", key)
}

// IsDamage reports whether a record isn't what the store wrote.
func IsDamage(err error) bool { return sdk.ReasonOf(err) == damageReason }

// IsLost reports whether an error means that a record is missing, or isn't what the store
// wrote. Any other error comes from the store, and says nothing about the record.
func IsLost(err error) bool { return IsGone(err) || IsDamage(err) }

// IsGone reports whether an error means that a memory was purged, or never existed.
func IsGone(err error) bool { return sdk.CodeOf(err) == sdk.NotFound }
