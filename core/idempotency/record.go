package idempotency

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"time"
)

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
	// Salt is random, and names what the call makes. Request is an HMAC-SHA-256 of the request
	// under it, to tell one request from another. It is here only once the call is done: until then
	// it isn't known which memory's purge has to remove it.
	Salt    string `json:"salt,omitempty"`
	Request string `json:"request,omitempty"`
	// Memories are the memories whose texts may be in the outcome, sorted.
	Memories []string `json:"memories,omitempty"`
	Outcome
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
