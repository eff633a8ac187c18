package governance

import (
	"encoding/json"

	"github.com/reflectory/reflectory/core/jsontext"
)

// Scalar is the value of a field: a number, or one of the field's words. In JSON it is a
// number or a string.
type Scalar struct {
	number float64
	text   string // "" means a number
}

// String is the value as a command takes it.
func (s Scalar) String() string {
	if s.text != "" {
		return s.text
	}
	return text(s.number)
}

// MarshalJSON implements [json.Marshaler].
func (s Scalar) MarshalJSON() ([]byte, error) {
	if s.text != "" {
		return jsontext.Encode(s.text)
	}
	return jsontext.Encode(s.number)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (s *Scalar) UnmarshalJSON(data []byte) error {
	*s = Scalar{}
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, &s.text)
	}
	return json.Unmarshal(data, &s.number)
}
