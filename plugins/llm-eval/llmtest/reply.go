package llmtest

import (
	"maps"
	"net/http"
)

// Usage of a reply that doesn't set it.
const (
	TokensIn  = 10
	TokensOut = 5
)

// NoFinish is a finish reason that isn't sent.
const NoFinish = "-"

// Reply is the server's answer to one request. The zero value is an empty text. Its
// methods return changed copies, so calls can be chained.
type Reply struct {
	// Text is the model's reply.
	Text string
	// Thought is what the model thinks before, in the protocol's field for it.
	Thought string
	// Message, if not "", is sent instead of both: a message of chat completions, as JSON, whose
	// parts the other protocols send in their form.
	Message string
	// Calls are the calls of tools that the model asks for.
	Calls []Call
	// Refusal is sent instead of Text. Ollama has none.
	Refusal string
	// Finish is the finish reason. Default: a whole reply's in the protocol, such as "stop". In
	// the responses protocol any other is the reason why a reply is incomplete.
	Finish string
	// In and Out are the usage. Default TokensIn and TokensOut; negative numbers are
	// sent unchanged.
	In, Out int64
	// Code is the HTTP status. Default 200.
	Code int
	// Raw sends Body unchanged, instead of a reply in the protocol.
	Raw  bool
	Body string
	// Headers are sent too, and override the server's own.
	Headers map[string]string
	// Hold, if not nil, delays the answer until it is closed or the client goes away.
	Hold <-chan struct{}
	// Cut ends the connection in the middle of the body.
	Cut bool
	// Forever gives this reply to all requests from here on.
	Forever bool
}

// Call is a call of a tool. Arguments is JSON.
type Call struct{ ID, Name, Arguments string }

// Calls is a reply that asks for calls of tools.
func Calls(calls ...Call) Reply { return Reply{Calls: calls} }

// Text is a reply of the model.
func Text(text string) Reply { return Reply{Text: text} }

// Status is an answer with an HTTP status and an error in the protocol's form.
func Status(code int) Reply {
	return Reply{Code: code, Raw: true, Body: `{"error":{"message":"` + http.StatusText(code) + `"}}`}
}

// Refuse is a 400 whose param names the refused field.
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

// RetryAfter adds the Retry-After header: seconds or an HTTP date.
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
