package governance

import (
	"encoding/json"

	"github.com/reflectory/reflectory/core"
)

// Scalar is the value of a field: a number, or a word of the field's choices. It is
// either in JSON.
type Scalar struct {
	number float64
	text   string // "" is a number
}

// String is the value as it is given to a command.
func (s Scalar) String() string {
	if s.text != "" {
		return s.text
	}
	return text(s.number)
}

// MarshalJSON implements [json.Marshaler].
func (s Scalar) MarshalJSON() ([]byte, error) {
	if s.text != "" {
		return core.EncodeJSON(s.text)
	}
	return core.EncodeJSON(s.number)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (s *Scalar) UnmarshalJSON(data []byte) error {
	*s = Scalar{}
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, &s.text)
	}
	return json.Unmarshal(data, &s.number)
}
