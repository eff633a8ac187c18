package gateway

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"strings"

	"github.com/reflectory/reflectory/core"
)

// What a client sends again in its next request finds the session and the contexts. A client may
// write an assistant's message in its own form, so only its trimmed text and the ids of its calls
// count; of its own messages everything does.

// chain are the digests of the first messages of a conversation, the first of no message.
type chain []string

// last is the digest of all messages.
func (c chain) last() string { return c[len(c)-1] }

// digestsOf are the digests of a request's messages. previous is the response that they follow.
func digestsOf(r *Request) chain {
	c := chain{""}
	if r.Previous != "" {
		c[0] = sum("previous", r.Previous)
	}
	for i := range r.Messages {
		m := &r.Messages[i]
		if m.Role == Assistant {
			c = append(c, sum("assistant", c.last(), answerDigest(m.Text, m.Calls)))
		} else {
			c = append(c, sum("message", c.last(), string(m.Role), string(m.Canonical)))
		}
	}
	return c
}

// answerDigest is the digest of an answer.
func answerDigest(text string, calls []Call) string {
	parts := []string{"answer", strings.TrimSpace(text)}
	for _, c := range calls {
		parts = append(parts, c.ID)
	}
	return sum(parts...)
}

// sum is the digest of parts.
func sum(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		writePart(h, p)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// writePart adds a part with its length, so that two lists of parts don't have the same bytes.
func writePart(h hash.Hash, part string) {
	var n [8]byte
	for i, l := 0, len(part); i < 8; i, l = i+1, l>>8 {
		n[i] = byte(l)
	}
	h.Write(n[:]) // never fails
	h.Write([]byte(part))
}

// chosenName is a session's name as a client chose it: a name that can't be a session's is replaced by
// its digest.
func chosenName(name string) string {
	if core.ValidID(name) && len(name) <= maxSessionName {
		return name
	}
	return "s-" + sum("session", name)[:32]
}

// maxSessionName leaves place for the mark of the subject.
const maxSessionName = 64
