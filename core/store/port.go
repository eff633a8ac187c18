package store

import (
	"context"

	"github.com/reflectory/reflectory/sdk"
)

// Limits that every engine enforces, so that every engine can store the same data.
const (
	// MaxKeyBytes is the longest key. The layout's longest is under 300 bytes.
	MaxKeyBytes = 4 << 10
	// MaxValueBytes is the largest value: room for a loop's result, which holds two
	// attempts, with plugin messages of 8 MiB each.
	MaxValueBytes = 64 << 20
	// MaxTxBytes is the most that one transaction writes, keys included.
	MaxTxBytes = 128 << 20
	// MaxTries is how often a transaction runs before it gives up with
	// tx_conflict. From the second try on, conflicted transactions run one
	// after the other (see [Retries]), so that only first tries can still conflict with
	// them. A transaction that conflicts this often does so by design, not by chance.
	MaxTries = 100
)

// CheckKey refuses a key that is empty or too long.
func CheckKey(key []byte) error {
	if len(key) == 0 || len(key) > MaxKeyBytes {
		return sdk.Errorf(sdk.Invalid, "store_key_invalid", "a key of %d bytes: keys are 1 to %d bytes", len(key), MaxKeyBytes)
	}
	return nil
}

// CheckWrite refuses a write that breaks a limit. size is what the transaction has
// written so far.
func CheckWrite(key, value []byte, size int) error {
	if err := CheckKey(key); err != nil {
		return err
	}
	if len(value) > MaxValueBytes {
		return sdk.Errorf(sdk.Exhausted, "store_value_too_large", "the value of %q has %d bytes (limit %d)",
			key, len(value), MaxValueBytes).WithHint("store less at once: shorten the outputs")
	}
	if size+len(key)+len(value) > MaxTxBytes {
		return sdk.Errorf(sdk.Exhausted, "store_tx_too_large", "the transaction writes more than %d bytes at %q",
			MaxTxBytes, key).WithHint("split the work into several transactions")
	}
	return nil
}

// ErrEnded is the error of a reader or transaction that is used after its View or Update
// returned, which is a defect of the caller.
func ErrEnded() error {
	return sdk.Errorf(sdk.Internal, "tx_ended", "the transaction is over: a reader is valid only inside its View or Update")
}

// ErrClosed is what a closed store returns.
func ErrClosed() error {
	return sdk.Errorf(sdk.Unavailable, "store_closed", "the store is closed")
}

// Retries orders the retries of conflicting transactions: the first try of each
// transaction runs at once, and every later try waits until no other retry runs.
// Otherwise, among many transactions on one key, the slowest would conflict with all
// others and never commit. It is safe for concurrent use.
type Retries struct{ running chan struct{} }

// NewRetries returns an empty queue.
func NewRetries() *Retries { return &Retries{running: make(chan struct{}, 1)} }

// Run calls try until the result isn't a conflict, at most [MaxTries] times; then it
// fails with sdk.Conflict, reason "tx_conflict".
func (r *Retries) Run(ctx context.Context, try func() (conflict bool, err error)) error {
	if conflict, err := try(); !conflict {
		return err
	}
	select {
	case r.running <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-r.running }()
	for range MaxTries - 1 {
		if err := ctx.Err(); err != nil {
			return err
		}
		if conflict, err := try(); !conflict {
			return err
		}
	}
	return ErrConflict()
}

// ErrConflict is the error of a transaction that conflicted [MaxTries] times.
func ErrConflict() error {
	return sdk.Errorf(sdk.Conflict, "tx_conflict", "the transaction conflicted with other writes %d times in a row", MaxTries).
		WithHint("try again; if it persists, let fewer callers write the same keys")
}
