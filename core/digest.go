package core

import (
	"crypto/sha256"
	"encoding/hex"
)

// Digest is the SHA-256 of data, as "sha256:" and hexadecimal digits.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}
