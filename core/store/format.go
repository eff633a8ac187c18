package store

import (
	"context"
	"strconv"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// Format is the version of the key layout and of the records that this program writes.
// FORMAT.md describes each version, and says when the number is raised.
const Format = 2

const (
	metaPrefix = "meta/"
	formatKey  = metaPrefix + "format"
)

// migration converts a store from one format to the next, in one transaction that also
// writes the new version.
type migration func(core.Tx) error

// migrations returns the step from format n to n+1 at index n-1.
func migrations() []migration { return []migration{toFormat2} }

// Prepare makes a store ready for this program, and must have succeeded before
// anything else uses it: an empty store is stamped with the format, one of an
// older format is migrated, and one of a newer format is refused with
// sdk.Incompatible, reason "store_format_newer".
func Prepare(ctx context.Context, s core.Store) error {
	return prepare(ctx, s, Format, migrations())
}

func prepare(ctx context.Context, s core.Store, format int, steps []migration) error {
	for {
		var at int
		err := s.View(ctx, func(r core.Reader) (err error) {
			at, err = readFormat(r)
			return err
		})
		if err != nil {
			return sdk.Wrap("check the store's format", err)
		}
		switch {
		case at == format:
			return nil
		case at > format:
			return sdk.Errorf(sdk.Incompatible, "store_format_newer", "the store has format %d, this program knows formats up to %d", at, format).
				WithHint("use a newer reflectory, or another data folder").
				WithDetail("store_format", at).WithDetail("program_format", format)
		}
		if err := migrate(ctx, s, at, format, steps); err != nil {
			return err
		}
	}
}

// migrate runs one step from the format at; 0 is an empty store.
func migrate(ctx context.Context, s core.Store, at, format int, steps []migration) error {
	next := at + 1
	if at == 0 {
		next = format
	}
	err := s.Update(ctx, func(tx core.Tx) error {
		if now, err := readFormat(tx); err != nil || now != at {
			return err // another caller was faster
		}
		if at > 0 {
			if err := steps[at-1](tx); err != nil {
				return err
			}
		}
		return tx.Put([]byte(formatKey), strconv.AppendInt(nil, int64(next), 10))
	})
	return sdk.Wrap("migrate the store from format "+strconv.Itoa(at)+" to "+strconv.Itoa(next), err)
}

// readFormat returns the store's format, or 0 if the store is empty.
func readFormat(r core.Reader) (int, error) {
	value, found, err := r.Get([]byte(formatKey))
	if err != nil {
		return 0, err
	}
	if found {
		n, err := strconv.Atoi(string(value))
		if err != nil || n < 1 {
			return 0, unknownFormat("its marker %s is %.20q", formatKey, value)
		}
		return n, nil
	}
	err = r.Scan(nil, nil, func(key, _ []byte) (bool, error) {
		return false, unknownFormat("it has keys, such as %.80q, but no marker %s", key, formatKey)
	})
	return 0, err
}

func unknownFormat(format string, args ...any) error {
	return sdk.Errorf(sdk.Incompatible, "store_format_unknown", "not a store of this program: "+format, args...).
		WithHint("choose another data folder, or restore this one from a backup")
}
