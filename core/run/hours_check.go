package run

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// unlessReported leaves out an error about a fault in a run, since the run's own check reports
// it.
func unlessReported(err error) error {
	if sdk.ReasonOf(err) == "record_corrupt" || absent(err) {
		return nil
	}
	return err
}

// hours checks the counts by hour against the runs and the turns.
func (c *checking) hours(ctx context.Context) error {
	return eachWrongPart(ctx, c.r, c.turns, func(part wrongPart) error {
		c.problem([]byte(part.key), true, "the count of an hour doesn't match its runs or turns")
		return nil
	})
}

// wrongPart is a part of a count that disagrees with its runs and turns: was is its value, nil if it
// is missing, and right is the correct part, nil for none.
type wrongPart struct {
	key   string
	was   []byte
	right *hourRecord
}

// eachWrongPart calls fn with each wrong part of a count.
func eachWrongPart(ctx context.Context, r core.Reader, each EachTurn, fn func(wrongPart) error) error {
	turns, err := countedTurns(r, each)
	if err != nil {
		return err
	}
	err = eachHour(ctx, r, func(hour int64) error {
		right, err := counted(ctx, r, hour)
		if err != nil {
			return err
		}
		err = core.ScanPrefix(r, hoursKey(hour), func(key, value []byte) (bool, error) {
			part := right[string(key)]
			if part == nil {
				part = turns[string(key)]
			}
			delete(right, string(key))
			delete(turns, string(key))
			if part == nil || !bytes.Equal(value, jsontext.MustEncode(part)) {
				return true, fn(wrongPart{string(key), bytes.Clone(value), part})
			}
			return true, nil
		})
		return cmp.Or(err, eachMissing(right, fn))
	})
	return cmp.Or(err, eachMissing(turns, fn))
}

// eachMissing calls fn with each part that should exist.
func eachMissing(right map[string]*hourRecord, fn func(wrongPart) error) error {
	for _, key := range slices.Sorted(maps.Keys(right)) {
		if err := fn(wrongPart{key, nil, right[key]}); err != nil {
			return err
		}
	}
	return nil
}

// rebuildHours makes the counts again from the runs and turns, each part in its own transaction. A
// part that changes at the same time, since a run or a turn ends, is computed again.
func rebuildHours(ctx context.Context, s core.Store, each EachTurn) error {
	for {
		var wrong []wrongPart
		err := s.View(ctx, func(r core.Reader) error {
			wrong = nil
			return eachWrongPart(ctx, r, each, func(part wrongPart) error {
				wrong = append(wrong, part)
				return nil
			})
		})
		if err != nil {
			return err
		}
		changed := false
		for _, part := range wrong {
			err := s.Update(ctx, func(tx core.Tx) error {
				value, found, err := tx.Get([]byte(part.key))
				if err != nil {
					return err
				}
				if found != (part.was != nil) || !bytes.Equal(value, part.was) {
					changed = true
					return nil
				}
				return putHour(tx, []byte(part.key), cmp.Or(part.right, &hourRecord{}))
			})
			if err != nil {
				return err
			}
		}
		if !changed {
			return nil
		}
	}
}
