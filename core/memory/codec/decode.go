package codec

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/reflectory/reflectory/core"
)

// stored are the rules for JSON that the program itself wrote. Looking for names that are there
// twice, and for text that isn't UTF-8, would take as long as all else.
var stored = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// Decode reads a memory's record: the output of [Encode], or any other JSON form of it.
func Decode(value []byte) (*core.Memory, error) {
	var record struct {
		core.Memory
		Salt string `json:"salt"`
	}
	if err := json.Unmarshal(value, &record, stored); err != nil {
		return nil, err
	}
	record.Memory.Salt = record.Salt
	return &record.Memory, nil
}
