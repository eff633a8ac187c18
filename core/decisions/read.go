package decisions

import (
	"bytes"
	"context"
	"encoding/hex"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

const prefix = "decision/"

func recordKey(id string) []byte { return []byte(prefix + id) }

// firstKey is a key before all decisions made at a time: a UUIDv7 begins with its
// milliseconds (RFC 9562).
func firstKey(since time.Time) []byte {
	if since.IsZero() || since.UnixMilli() < 0 {
		return []byte(prefix)
	}
	var b [6]byte
	milli := uint64(since.UnixMilli())
	for i := range b {
		b[i] = byte(milli >> (8 * (5 - i)))
	}
	text := hex.EncodeToString(b[:])
	return []byte(prefix + text[:8] + "-" + text[8:])
}

// Stored is a record with the id of its decision.
type Stored struct {
	ID    string
	Value []byte
}

// List yields the records after an id ("" for the start), and from a time on, in the
// order of the decisions, and at most one error, last. A record is valid until the next
// one is yielded.
func List(ctx context.Context, s core.Store, after string, since time.Time) iter.Seq2[Stored, error] {
	return func(yield func(Stored, error) bool) {
		from := firstKey(since)
		if next := append(recordKey(after), 0); after != "" && bytes.Compare(next, from) > 0 {
			from = next
		}
		err := s.View(ctx, func(r core.Reader) error {
			return r.Scan(from, core.PrefixEnd([]byte(prefix)), func(key, value []byte) (bool, error) {
				if err := ctx.Err(); err != nil {
					return false, err
				}
				return yield(Stored{string(key[len(prefix):]), value}, nil), nil
			})
		})
		if err != nil {
			yield(Stored{}, err)
		}
	}
}

// Stores are read in the order of their keys, so the newest records are read in windows of time,
// each before the last one. A window's length is adjusted so that it has some hundred records.
const (
	firstWindow, leastWindow = 10 * time.Second, time.Second
	fewInWindow              = 100
	manyInWindow             = 1000
)

// ListBack yields the records before an id ("" for the end), and from a time on, the newest
// first, and at most one error, last. It begins to look at now.
func ListBack(ctx context.Context, s core.Store, before string, since, now time.Time) iter.Seq2[Stored, error] {
	return func(yield func(Stored, error) bool) {
		to, at := core.PrefixEnd([]byte(prefix)), now
		if before != "" {
			to, at = recordKey(before), timeOf(before, now)
		}
		err := s.View(ctx, func(r core.Reader) error {
			for window, last := firstWindow, false; !last; {
				at = at.Add(-window)
				if at.Before(since) || at.UnixMilli() <= 0 {
					at, last = since, true
				}
				from := firstKey(at)
				var found []Stored
				err := r.Scan(from, to, func(key, value []byte) (bool, error) {
					found = append(found, Stored{string(key[len(prefix):]), bytes.Clone(value)})
					return true, ctx.Err()
				})
				if err != nil {
					return err
				}
				for _, one := range slices.Backward(found) {
					if !yield(one, nil) {
						return nil
					}
				}
				switch to = from; {
				case len(found) < fewInWindow:
					window *= 4
				case len(found) > manyInWindow:
					window = max(window/4, leastWindow)
				}
			}
			return nil
		})
		if err != nil {
			yield(Stored{}, err)
		}
	}
}

// timeOf is the time in an id, or another one for an id without a time.
func timeOf(id string, other time.Time) time.Time {
	digits := strings.ReplaceAll(id, "-", "")
	milli, err := strconv.ParseInt(digits[:min(len(digits), 12)], 16, 64)
	if err != nil {
		return other
	}
	return time.UnixMilli(milli)
}

// MinPrefix is how many characters of a decision's id identify it.
const MinPrefix = 8

// Find returns the record with an id, or the only one whose id begins with a prefix of at
// least [MinPrefix] characters. If there is none, the error is sdk.NotFound, reason
// "decision_not_found"; if there are several, sdk.Conflict, reason "id_ambiguous".
func Find(ctx context.Context, s core.Store, id string) (found Stored, err error) {
	if len(id) < MinPrefix || len(id) > maxIDBytes {
		return Stored{}, NotFound(id)
	}
	err = s.View(ctx, func(r core.Reader) error {
		found = Stored{}
		return core.ScanPrefix(r, recordKey(id), func(key, value []byte) (bool, error) {
			if found.ID != "" {
				return false, sdk.Errorf(sdk.Conflict, "id_ambiguous", "several decisions begin with %s", id).WithHint("give more characters of the id").WithDetail("decision_id", id)
			}
			found = Stored{string(key[len(prefix):]), bytes.Clone(value)}
			return found.ID != id, nil
		})
	})
	if err == nil && found.ID == "" {
		err = NotFound(id)
	}
	return found, err
}

// maxIDBytes is the longest id.
const maxIDBytes = 64

// NotFound is the error for an id that no recorded decision has: the decision may have
// been pruned.
func NotFound(id string) error {
	return sdk.Errorf(sdk.NotFound, "decision_not_found", "there is no recorded decision %q", core.Cut(id)).
		WithHint("list the recorded decisions").WithAction("decisions list").WithDetail("decision_id", core.Cut(id))
}
