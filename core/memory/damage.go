package memory

import "github.com/reflectory/reflectory/sdk"

// damageReason is the reason of records that aren't what the store wrote.
const damageReason = "record_corrupt"

// corrupt says that a record of a memory isn't what the store wrote.
func corrupt(id, key, problem string) *sdk.Error {
	return sdk.Errorf(sdk.Internal, damageReason, "memory %s, record %q: %s", id, key, problem).
		WithHint("the data is damaged at this memory; check the store").WithAction("store check").
		WithDetail("memory_id", id).WithDetail("key", key)
}

// damaged says that a record which belongs to no memory isn't what the store
// wrote.
func damaged(key string, err error) error {
	return sdk.Errorf(sdk.Internal, damageReason, "record %q can't be decoded: %w", key, err).
		WithHint("look for more").WithAction("store check").WithDetail("key", key)
}

// isDamage reports whether a record isn't what the store wrote.
func isDamage(err error) bool { return sdk.ReasonOf(err) == damageReason }

// isLost reports whether a record isn't there, or isn't what the store wrote. Any
// other error is the store's, and says nothing of the record.
func isLost(err error) bool { return isGone(err) || isDamage(err) }
