package run

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// unlessTold leaves out an error about a fault in a run, since the run's own check reports
// it.
func unlessTold(err error) error {
	if sdk.ReasonOf(err) == "record_corrupt" || absent(err) {
		return nil
	}
	return err
}

// hours checks the counts by hour against the runs.
func (c *checking) hours(ctx context.Context) error {
	view := func(fn func(core.Reader) error) error { return fn(c.r) }
	return eachHour(ctx, view, func(hour int64) error {
		wrong, err := wrongParts(ctx, c.r, hour)
		for _, part := range wrong {
			c.problem([]byte(part.key), true, "the count of an hour isn't that of its runs")
		}
		return err
	})
}

// wrongPart is a part of a count that disagrees with its runs; right is the correct part,
// nil for none.
type wrongPart struct {
	key   string
	right *hourRecord
}

// wrongParts are the wrong parts of an hour.
func wrongParts(ctx context.Context, r core.Reader, hour int64) (wrong []wrongPart, err error) {
	right, err := counted(ctx, r, hour)
	if err != nil {
		return nil, err
	}
	err = core.ScanPrefix(r, hoursKey(hour), func(key, value []byte) (bool, error) {
		part := right[string(key)]
		if part == nil || !bytes.Equal(value, core.MustJSON(part)) {
			wrong = append(wrong, wrongPart{string(key), part})
		}
		delete(right, string(key))
		return true, nil
	})
	for _, key := range slices.Sorted(maps.Keys(right)) {
		wrong = append(wrong, wrongPart{key, right[key]})
	}
	return wrong, err
}

// rebuildHours makes the counts again from the runs, each hour in its own transaction.
func rebuildHours(ctx context.Context, s core.Store) error {
	view := func(fn func(core.Reader) error) error { return s.View(ctx, fn) }
	return eachHour(ctx, view, func(hour int64) error {
		return s.Update(ctx, func(tx core.Tx) error {
			wrong, err := wrongParts(ctx, tx, hour)
			if err != nil {
				return err
			}
			for _, part := range wrong {
				if part.right == nil {
					part.right = &hourRecord{}
				}
				if err := putHour(tx, []byte(part.key), part.right); err != nil {
					return err
				}
			}
			return nil
		})
	})
}
