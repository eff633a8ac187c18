package gateway

import (
	"net/http"

	"github.com/reflectory/reflectory/core/host/gateway"
)

// Parsed is a request that was read.
type Parsed = request

// Parse reads a request of a shape: chat, responses or messages.
func Parse(name string, body []byte, h http.Header) (*Parsed, error) {
	return parse(map[string]shape{"chat": chat{}, "responses": responses{}, "messages": messages{}}[name], body, h)
}

// Edited is the body that goes up.
func (r *request) Edited(e *gateway.Edits) string { return string(r.edited(e, false)) }

// SplitEvents are the events of a stream that arrives in pieces.
func SplitEvents(pieces ...[]byte) (raw, names, data []string) {
	var s splitter
	each := func(e event) error {
		raw, names, data = append(raw, string(e.raw)), append(names, e.name), append(data, string(e.data))
		return nil
	}
	for _, p := range pieces {
		_ = s.add(p, each) // each returns none
	}
	if e, is := s.rest(); is {
		_ = each(e)
	}
	return raw, names, data
}
