package llmtest

import (
	"maps"
	"net/http"
)

// Usage of a reply that sets none.
const (
	TokensIn  = 10
	TokensOut = 5
)

// Reply is what the server answers to one request. The zero value is an empty
// text. Its methods return changed copies, so that replies read as sentences.
type Reply struct {
	// Text is what the model says.
	Text string
	// Refusal is said in place of it.
	Refusal string
	// Finish is the finish reason. Default "stop".
	Finish string
	// In and Out are the usage. Default TokensIn and TokensOut; negative numbers
	// are sent as they are.
	In, Out int64
	// Code is the HTTP status. Default 200.
	Code int
	// Raw sends Body as it is, in place of a reply in the protocol.
	Raw  bool
	Body string
	// Headers are sent too, and win over the server's own.
	Headers map[string]string
	// Hold, where not nil, is waited for before the answer, or until the client
	// goes away.
	Hold <-chan struct{}
	// Cut ends the connection in the middle of the body.
	Cut bool
	// Forever gives this reply to all requests from here on.
	Forever bool
}

// Text is a reply of the model.
func Text(text string) Reply { return Reply{Text: text} }

// Status is an answer with an HTTP status and an error in the protocol's form.
func Status(code int) Reply {
	return Reply{Code: code, Raw: true, Body: `{"error":{"message":"` + http.StatusText(code) + `"}}`}
}

// Refuse is a 400 that names the field it refuses, as in param.
func Refuse(param, message string) Reply {
	return Reply{Code: http.StatusBadRequest, Raw: true, Body: encode(map[string]any{
		"error": map[string]any{"message": message, "param": param, "code": "unsupported_value", "type": "invalid_request_error"},
	})}
}

// Body is an answer with any status and body.
func Body(code int, contentType, body string) Reply {
	return Reply{Code: code, Raw: true, Body: body}.Header("Content-Type", contentType)
}

// Header adds a header.
func (r Reply) Header(name, value string) Reply {
	headers := maps.Clone(r.Headers)
	if headers == nil {
		headers = map[string]string{}
	}
	headers[name] = value
	r.Headers = headers
	return r
}

// RetryAfter adds the header of that name: seconds or an HTTP date.
func (r Reply) RetryAfter(value string) Reply { return r.Header("Retry-After", value) }

// Usage sets the tokens that the reply reports.
func (r Reply) Usage(in, out int64) Reply { r.In, r.Out = in, out; return r }

// FinishedBy sets the finish reason.
func (r Reply) FinishedBy(reason string) Reply { r.Finish = reason; return r }

// After holds the reply back until a channel is closed.
func (r Reply) After(hold <-chan struct{}) Reply { r.Hold = hold; return r }

// CutOff ends the connection in the middle of the body.
func (r Reply) CutOff() Reply { r.Cut = true; return r }

// Always gives the reply to all requests from here on.
func (r Reply) Always() Reply { r.Forever = true; return r }
