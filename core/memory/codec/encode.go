// Package codec writes and reads the records of memories: plain JSON, with the members
// and order of [core.Memory], and the salt at the end. A get, a page of a list, a sweep and the load of a
// namespace spend most of their time decoding, so the decoder isn't encoding/json's,
// which takes several times as long.
package codec

import "github.com/reflectory/reflectory/core"

// Encode returns a memory's record. It fails for infinite numbers, which JSON doesn't
// have.
func Encode(m *core.Memory) ([]byte, error) {
	return core.EncodeJSON(struct {
		*core.Memory
		Salt string `json:"salt,omitempty"`
	}{m, m.Salt})
}
