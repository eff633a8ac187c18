package record

import (
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/codec"
	"github.com/reflectory/reflectory/core/jsontext"
)

// stored is a memory's record: the members of [core.Memory] in their order, and the salt.
type stored struct {
	*core.Memory
	Salt string `json:"salt,omitempty"`
}

// encode returns a memory's record. It fails for infinite numbers, which JSON doesn't have.
func encode(m *core.Memory) ([]byte, error) { return jsontext.Encode(stored{m, m.Salt}) }

// decode reads a memory's record.
func decode(value []byte) (*core.Memory, error) {
	s := stored{Memory: &core.Memory{}}
	if err := codec.Decode(value, &s); err != nil {
		return nil, err
	}
	s.Memory.Salt = s.Salt
	return s.Memory, nil
}
