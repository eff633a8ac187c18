package modeltext

import (
	"encoding/json"
	"errors"
	"strings"
)

// Protocol is the form of an endpoint's replies. Each has a file, which turns a reply or an event
// of it into a [piece]; what a piece means is the same for all.
type Protocol int

// The protocols, as their public descriptions had them in November 2026.
const (
	// ChatCompletions is OpenAI's chat completions, which most endpoints speak.
	ChatCompletions Protocol = iota
	// Messages is Anthropic's messages, of version 2023-06-01.
	Messages
	// Responses is OpenAI's responses.
	Responses
	// OllamaChat is Ollama's own /api/chat.
	OllamaChat
)

// decode reads a reply or an event.
func (p Protocol) decode(data []byte) (*piece, error) {
	switch p {
	case Messages:
		return decodeMessages(data)
	case Responses:
		return decodeResponses(data)
	case OllamaChat:
		return decodeOllama(data)
	}
	var all struct {
		piece
		// Of Groq's streams the last piece has the usage, or why the reply ended early, here.
		Groq struct {
			Usage counted         `json:"usage"`
			Error json.RawMessage `json:"error"`
		} `json:"x_groq"`
	}
	err := unmarshal(data, &all)
	all.Usage.latest(all.Groq.Usage)
	if present(all.Groq.Error) && !present(all.Error) {
		all.Error = all.Groq.Error
	}
	return &all.piece, err
}

// EndsWithReason reports whether a stream of the protocol always ends with a finish reason, so
// that one without it was cut off on its way.
func (p Protocol) EndsWithReason() bool { return p != ChatCompletions }

// unmarshal distinguishes JSON that is cut off from what isn't a reply at all.
func unmarshal(data []byte, into any) error {
	err := json.Unmarshal(data, into)
	var syntax *json.SyntaxError
	var mismatch *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax) && syntax.Offset >= int64(len(data)):
		return ErrTruncated
	case errors.As(err, &mismatch) && strings.HasPrefix(mismatch.Field, "choices."):
		return &FieldError{mismatch.Field}
	case mismatch != nil && mismatch.Field != "":
		// Another field of a wrong type counts as absent.
	case err != nil:
		return ErrNotReply
	}
	return nil
}

// answering is a piece with a choice.
func answering(c *choice) *piece { return &piece{Choices: [1]*choice{c}} }
