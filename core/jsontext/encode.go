package jsontext

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Encode encodes a value without escaping <, > and &: nothing here is put into a web
// page unescaped, and people read it.
func Encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// MustEncode encodes a value that can't fail to encode, such as a struct of ours.
func MustEncode(v any) json.RawMessage {
	data, err := Encode(v)
	if err != nil {
		panic(fmt.Sprintf("jsontext.MustEncode(%T): %v", v, err))
	}
	return data
}
