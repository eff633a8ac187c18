package llmtest

import (
	"encoding/json"
	"net/http"
)

// Request is a request that the server received.
type Request struct {
	// Path is the request's path, such as "/v1/chat/completions".
	Path   string
	Header http.Header
	// Body is the request as it arrived; the fields below are decoded from it.
	Body []byte
	// Model, Messages and the others are the protocol's fields.
	Model               string          `json:"model"`
	Messages            []Message       `json:"messages"`
	Temperature         *float64        `json:"temperature"`
	MaxTokens           *int64          `json:"max_tokens"`
	MaxCompletionTokens *int64          `json:"max_completion_tokens"`
	ResponseFormat      json.RawMessage `json:"response_format"`
	Stream              bool            `json:"stream"`
}

// Message is one turn of the conversation.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Prompt is the last message's content.
func (r *Request) Prompt() string {
	if len(r.Messages) == 0 {
		return ""
	}
	return r.Messages[len(r.Messages)-1].Content
}

// System is the content of the first message if its role is system.
func (r *Request) System() string {
	if len(r.Messages) == 0 || r.Messages[0].Role != "system" {
		return ""
	}
	return r.Messages[0].Content
}
