// Package codec decodes the JSON that the program itself wrote. A get, a page of a list, a check
// and the load of a namespace spend most of their time decoding, and encoding/json takes several
// times as long.
package codec

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// stored leaves out what takes as long as all else: looking for names that are there twice, and
// for text that isn't UTF-8.
var stored = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// Decode decodes a stored value, as the output of [github.com/reflectory/reflectory/jsontext.Encode],
// into v, a pointer. Names of members are compared exactly. JSON from anywhere else is
// encoding/json's, which describes what is wrong with it.
func Decode(value []byte, v any) error { return json.Unmarshal(value, v, stored) }
