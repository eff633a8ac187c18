package idempotency

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
)

const (
	prefix       = "idempotency/"
	timePrefix   = "idempotency-time/"
	memoryPrefix = "idempotency-memory/"
)

func recordKey(digest string) []byte { return []byte(prefix + digest) }

func timeKey(at int64, digest string) []byte {
	key := binary.BigEndian.AppendUint64([]byte(timePrefix), uint64(at)) //nolint:gosec // times since 1970
	return append(append(key, '/'), digest...)
}

// timeDigest is the digest in a key of timeKey.
func timeDigest(key []byte) string {
	const skip = len(timePrefix) + 8 + 1
	return string(key[min(skip, len(key)):])
}

func memoryKey(memory, digest string) []byte { return []byte(memoryPrefix + memory + "/" + digest) }

// memoryDigest is the digest in a key of memoryKey.
func memoryDigest(key []byte) string { return string(key[strings.LastIndexByte(string(key), '/')+1:]) }

// state is how far a call got.
type state string

const (
	claimed state = "claimed" // nothing was written
	written state = "written" // something was, and the outcome isn't known
	done    state = "done"
	purged  state = "purged" // it ended, and its outcome is gone with a memory
)

// record is what is stored under a key.
type record struct {
	State state `json:"state"`
	// At is when it was claimed, in Unix nanoseconds. It expires from there.
	At        int64  `json:"at"`
	Operation string `json:"operation"`
	// Owner is the host that claimed it. It has no meaning once the call is done.
	Owner string `json:"owner"`
	// Salt and Request tell one request from another: the second is an HMAC-SHA-256 of
	// the request under the first. They are here only once it is done: until then it isn't
	// known which memory's purge has to remove them.
	Salt    string `json:"salt,omitempty"`
	Request string `json:"request,omitempty"`
	// Memories are the memories whose texts may be in the outcome, sorted.
	Memories []string `json:"memories,omitempty"`
	Outcome
}

// decode returns nil if the value isn't a record.
func decode(value []byte) *record {
	var r record
	if json.Unmarshal(value, &r) != nil || r.At <= 0 || r.Operation == "" || (r.State == done) != (len(r.Data) > 0 && r.Salt != "") ||
		!slices.Contains([]state{claimed, written, done, purged}, r.State) {
		return nil
	}
	return &r
}

// read returns a record, nil if there is none. A record that can't be read counts as none,
// and a check reports it.
func read(r core.Reader, digest string) (*record, error) {
	value, found, err := r.Get(recordKey(digest))
	if err != nil || !found {
		return nil, err
	}
	return decode(value), nil
}

// put writes a record with its indices, and drops the indices of the earlier record first.
func put(tx core.Tx, digest string, r *record) error {
	if err := drop(tx, digest); err != nil {
		return err
	}
	for _, key := range r.indices(digest) {
		if err := tx.Put(key, nil); err != nil {
			return err
		}
	}
	return tx.Put(recordKey(digest), core.MustJSON(r))
}

// drop removes a record with its indices, if it exists.
func drop(tx core.Tx, digest string) error {
	r, err := read(tx, digest)
	if err != nil || r == nil {
		return err
	}
	for _, key := range r.indices(digest) {
		if err := tx.Delete(key); err != nil {
			return err
		}
	}
	return tx.Delete(recordKey(digest))
}

// expired reports whether a record is too old to count.
func (r *record) expired(now time.Time) bool { return now.Sub(time.Unix(0, r.At)) >= Lifetime }

// forgotten is a record without anything that may reveal a memory.
func (r *record) forgotten() *record { return &record{State: purged, At: r.At, Operation: r.Operation} }

// newSalt makes the salt of a request's digest.
func newSalt() string {
	salt := make([]byte, 16)
	_, _ = rand.Read(salt) // it never fails
	return hex.EncodeToString(salt)
}

// digestUnder is a request's digest under a salt.
func digestUnder(salt string, request []byte) string {
	h := hmac.New(sha256.New, []byte(salt))
	h.Write(request)
	return hex.EncodeToString(h.Sum(nil))
}
