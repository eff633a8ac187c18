package journal

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// Streams calls fn for each stream that has entries, by name, until it returns false or
// an error. It doesn't check the heads.
func Streams(r core.Reader, fn func(StreamHead) (more bool, err error)) error {
	return StreamsUnder(r, "", fn)
}

// StreamsUnder is Streams for names with a prefix.
func StreamsUnder(r core.Reader, prefix string, fn func(StreamHead) (more bool, err error)) error {
	return scanStreams(r, headKey(prefix), core.PrefixEnd(headKey(prefix)), fn)
}

// StreamsAfter is Streams for names that come after a name.
func StreamsAfter(r core.Reader, after string, fn func(StreamHead) (more bool, err error)) error {
	from := headKey(after)
	if after != "" {
		from = append(from, 0)
	}
	return scanStreams(r, from, core.PrefixEnd([]byte(headPrefix)), fn)
}

// CheckStreams calls fn for each stream whose name begins with prefix, with the rest of the name.
// It is for checks: where the journal is damaged it ends without an error, since the journal's own
// check reports that.
func CheckStreams(ctx context.Context, r core.Reader, prefix string, fn func(rest string, s StreamHead) error) error {
	return unlessBroken(StreamsUnder(r, prefix, func(s StreamHead) (bool, error) {
		return true, cmp.Or(ctx.Err(), fn(s.Stream[len(prefix):], s))
	}))
}

// CheckEntries is [Read] for checks: see [CheckStreams].
func CheckEntries(ctx context.Context, r core.Reader, stream string, fn func(Entry) error) error {
	return unlessBroken(Read(r, stream, func(e Entry) error { return cmp.Or(ctx.Err(), fn(e)) }))
}

func unlessBroken(err error) error {
	if IsBroken(err) {
		return nil
	}
	return err
}

// UpdateStreams is [core.UpdateEach] for the streams whose names have a prefix.
func UpdateStreams(ctx context.Context, s core.Store, prefix string, fn func(tx core.Tx, stream string) error) error {
	return core.UpdateEach(ctx, s, string(headKey(prefix)), func(tx core.Tx, key string) error { return fn(tx, key[len(headPrefix):]) })
}

func scanStreams(r core.Reader, from, to []byte, fn func(StreamHead) (more bool, err error)) error {
	return r.Scan(from, to, func(key, value []byte) (bool, error) {
		s := StreamHead{Stream: string(key[len(headPrefix):])}
		var err error
		if s.Head, err = decodeHead(s.Stream, value); err != nil {
			return false, err
		}
		return fn(s)
	})
}

// String is the text form of the head, such as "12:sha256:…".
func (h Head) String() string { return fmt.Sprintf("%d:%s", h.Seq, h.Hash) }

// ParseHead reads what [Head.String] wrote.
func ParseHead(text string) (Head, error) {
	number, hash, ok := strings.Cut(strings.TrimSpace(text), ":")
	seq, err := strconv.ParseUint(number, 10, 64)
	wellFormed := hash == "" && seq == 0 || len(hash) == len(core.Digest(nil)) && strings.HasPrefix(hash, "sha256:")
	if !ok || err != nil || !wellFormed {
		return Head{}, sdk.Errorf(sdk.Invalid, "head_invalid", "%.100q isn't a head of the journal", text).
			WithHint("give the head of a journal, such as 12:sha256:…")
	}
	return Head{seq, hash}, nil
}
