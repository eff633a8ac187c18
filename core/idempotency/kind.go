package idempotency

import (
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
	Part: "idempotency", Prefix: prefix,
	Doc:   "digest | the outcome of a call with an idempotency key: `{state, at, operation, owner, salt?, request?, memories?, outcome?, namespaces?}`; `state` is `claimed`, `written`, `done` or `purged`, `at` is in Unix nanoseconds, `request` is an HMAC-SHA-256 of the request under the salt. The digest is the SHA-256, in hexadecimal, of the JSON list `[subject, key]`. An outcome that is a run or a snapshot has only its id. It is removed after a day",
	Valid: invalid, Passing: true,
	Indices: []table.Index[record]{
		table.ByNumber(timePrefix, "at(8) `/` digest | index by age: empty", func(r *record) uint64 { return uint64(r.At) }),
		{Prefix: memoryPrefix,
			Doc:    "memory `/` digest | index: empty; one for each memory in the outcome, so that a purge finds it",
			Quotes: func(r *record) []string { return r.Memories }},
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

// timeDigest is the digest in a key of the index by time.
var timeDigest = table.AfterNumber(timePrefix, 1)

// Checker proves that the records and their indices agree. A rebuild makes the indices from
// the records, and drops records that can't be read: a call whose key is lost is done
// again, as it would be a day later. See FORMAT.md.
func Checker() core.Rebuilder { return table.Part{&records} }
