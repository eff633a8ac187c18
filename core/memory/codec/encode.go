// Package codec writes and reads the records of memories: plain JSON, in the members and
// order of [core.Memory], with the salt at the end. Reading is written out by hand, since
// a get, a page of a list, a sweep and the load of a namespace are mostly that.
package codec

import "github.com/reflectory/reflectory/core"

// Encode is a memory's record. It fails for numbers that JSON hasn't, infinite ones.
func Encode(m *core.Memory) ([]byte, error) {
	return core.EncodeJSON(struct {
		*core.Memory
		Salt string `json:"salt,omitempty"`
	}{m, m.Salt})
}
