package core

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/reflectory/reflectory/core/jsontext"
)

// Digest is the SHA-256 of data, as "sha256:" and hexadecimal digits.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// NamedID is an id that follows from names: a UUID of version 8.
func NamedID(names ...string) string {
	sum := strings.TrimPrefix(Digest(jsontext.MustEncode(names)), "sha256:")
	return strings.Join([]string{sum[:8], sum[8:12], "8" + sum[13:16], "8" + sum[17:20], sum[20:32]}, "-")
}
