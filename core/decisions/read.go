package decisions

import (
	"context"
	"encoding/hex"
	"iter"
	"time"

	"github.com/reflectory/reflectory/core"
)

const prefix = "decision/"

func recordKey(id string) []byte { return []byte(prefix + id) }

// Read yields the records from a time on, in the order of the decisions, and at
// most one error, last. The zero time is all of them. A record is valid until the
// next.
func Read(ctx context.Context, s core.Store, since time.Time) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		err := s.View(ctx, func(r core.Reader) error {
			return r.Scan(firstKey(since), core.PrefixEnd([]byte(prefix)), func(_, value []byte) (bool, error) {
				if err := ctx.Err(); err != nil {
					return false, err
				}
				return yield(value, nil), nil
			})
		})
		if err != nil {
			yield(nil, err)
		}
	}
}

// firstKey is a key before all decisions of a time: a UUIDv7 begins with its
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
