package llmtest

import (
	"cmp"
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
	// Model, Messages and the others are the fields of chat completions. What other protocols
	// call otherwise is in them too, such as the system message.
	Model               string          `json:"model"`
	Messages            []Message       `json:"messages"`
	Input               []Message       `json:"input"` // in place of Messages, of the responses protocol
	Temperature         *float64        `json:"temperature"`
	MaxTokens           *int64          `json:"max_tokens"`
	MaxCompletionTokens *int64          `json:"max_completion_tokens"`
	ResponseFormat      json.RawMessage `json:"response_format"`
	Stream              bool            `json:"stream"`
}

// Message is one turn of the conversation. Content is its text; of a list of blocks it is their
// texts, with the texts of tools' results.
type Message struct {
	Role    string
	Content string
}

// UnmarshalJSON reads a message, or an item of the responses protocol.
func (m *Message) UnmarshalJSON(raw []byte) error {
	var own struct {
		Role, Type, Output string
		Content            json.RawMessage
	}
	if err := json.Unmarshal(raw, &own); err != nil {
		return err
	}
	m.Role = cmp.Or(own.Role, own.Type)
	if own.Type == "function_call_output" {
		m.Role, m.Content = "tool", own.Output
		return nil
	}
	var blocks []struct{ Text, Content string }
	if json.Unmarshal(own.Content, &m.Content) == nil || json.Unmarshal(own.Content, &blocks) != nil {
		return nil
	}
	for _, b := range blocks {
		m.Content += b.Text + b.Content
	}
	return nil
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
