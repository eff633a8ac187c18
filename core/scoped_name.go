package core

import (
	"crypto/sha256"
	"encoding/base64"
)

// Callers choose ids of memories and names of sessions. If all callers of a store shared these names,
// a caller that is refused one would learn that another has it, and could take names away before
// others use them. So a chosen name is stored with a mark of the scope in which it counts: name, @,
// mark. The mark is a digest, since the scope may have characters that a key can't, and may itself be
// nobody else's business.

// ScopeMarkBytes is the length of a mark, in characters: 12 bytes of a digest, so that nobody finds a
// second scope with the same mark.
const ScopeMarkBytes = 16

// ScopeMark is the mark of a scope.
func ScopeMark(scope string) string {
	sum := sha256.Sum256([]byte(scope))
	return base64.RawURLEncoding.EncodeToString(sum[:ScopeMarkBytes*3/4])
}

// ScopedName is a chosen name with a mark, or the beginning of one. A name that would be longer than
// [MaxIDBytes] with a mark is replaced by its digest.
func ScopedName(name, mark string) string {
	if len(name)+1+ScopeMarkBytes > MaxIDBytes {
		sum := sha256.Sum256([]byte(name))
		name = base64.RawURLEncoding.EncodeToString(sum[:])
	}
	return name + "@" + mark
}
