package idempotency

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/table"
)

const (
	prefix       = "idempotency/"
	timePrefix   = "idempotency-time/"
	memoryPrefix = "idempotency-memory/"
)

// records are the records by the digest of their key.
var records = table.Kind[record]{
	Part: "idempotency", Prefix: prefix, Valid: invalid, Passing: true,
	Indices: []table.Index[record]{
		{Prefix: timePrefix, ID: timeDigest, Entries: func(digest string, r *record) []table.Entry {
			return []table.Entry{{Key: timeKey(r.At, digest)}}
		}},
		{Prefix: memoryPrefix, Quotes: func(r *record) []string { return r.Memories }},
	},
}

// invalid describes what is wrong with a record; "" if nothing is.
func invalid(_ string, r *record) string {
	if r.At <= 0 || r.Operation == "" || (r.State == done) != (len(r.Data) > 0 && r.Salt != "") ||
		!slices.Contains([]state{claimed, written, done, purged}, r.State) {
		return "it isn't a call"
	}
	return ""
}

func recordKey(digest string) []byte { return []byte(prefix + digest) }

func timeKey(at int64, digest string) []byte {
	key := binary.BigEndian.AppendUint64([]byte(timePrefix), uint64(at)) //nolint:gosec // times since 1970
	return append(append(key, '/'), digest...)
}

// timeDigest is the digest in a key of timeKey.
var timeDigest = table.AfterNumber(timePrefix, 1)

// Checker proves that the records and their indices agree. A rebuild makes the indices from
// the records, and drops records that can't be read: a call whose key is lost is done
// again, as it would be a day later. See FORMAT.md.
type Checker struct{}

var _ core.Rebuilder = Checker{}

// Derived implements [core.Rebuilder]. Exports leave all of it out.
func (Checker) Derived() []string { return records.Derived() }

// Check implements [core.Checker].
func (Checker) Check(ctx context.Context, r core.Reader, report func(core.Problem)) error {
	return records.Check(ctx, r, report, nil)
}

// Rebuild implements [core.Rebuilder].
func (Checker) Rebuild(ctx context.Context, s core.Store) error { return records.Rebuild(ctx, s) }
