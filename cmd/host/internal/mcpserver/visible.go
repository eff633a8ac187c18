package mcpserver

import (
	"bytes"
	"encoding/json"

	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// visible makes what a person doesn't see in the texts of a JSON value visible ([sdk.Visible]), names
// too: an agent gives a result to a model, and recalled text may come from anybody. Where there is
// nothing hidden, the bytes stay the same. An escape in JSON isn't enough, since a client may decode
// it before the model reads it.
func visible(value json.RawMessage) json.RawMessage {
	if !bytes.ContainsFunc(value, sdk.Hidden) && !bytes.Contains(value, []byte(`\u`)) {
		return value
	}
	var out bytes.Buffer
	for rest := value; len(rest) > 0; {
		text := textIn(rest)
		out.Write(rest[:text.from])
		written := rest[text.from:text.to]
		rest = rest[text.to:]
		var s string
		if json.Unmarshal(written, &s) == nil {
			if shown := sdk.Visible(s); shown != s {
				written = jsontext.MustEncode(shown)
			}
		}
		out.Write(written)
	}
	return out.Bytes()
}

// span is a part of a JSON value, in bytes.
type span struct{ from, to int }

// textIn is the first text in JSON, with its quotes; it is empty, at the end, if there is none.
func textIn(value json.RawMessage) span {
	from := bytes.IndexByte(value, '"')
	if from < 0 {
		return span{len(value), len(value)}
	}
	to := from + 1
	for to < len(value) && value[to] != '"' {
		if value[to] == '\\' {
			to++
		}
		to++
	}
	return span{from, min(to+1, len(value))}
}
