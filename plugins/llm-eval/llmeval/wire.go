package llmeval

import (
	"encoding/json"
	"slices"
	"strings"
)

// chatRequest is the body of POST {base}/chat/completions. What is absent is left to the
// endpoint.
type chatRequest struct {
	Model               string          `json:"model"`
	Messages            []message       `json:"messages"`
	Temperature         *float64        `json:"temperature,omitempty"`
	MaxTokens           int64           `json:"max_tokens,omitempty"`
	MaxCompletionTokens int64           `json:"max_completion_tokens,omitempty"`
	TopP                *float64        `json:"top_p,omitempty"`
	Seed                *int64          `json:"seed,omitempty"`
	Stop                []string        `json:"stop,omitempty"`
	ResponseFormat      *responseFormat `json:"response_format,omitempty"`
	Stream              bool            `json:"stream,omitempty"`
	StreamOptions       *streamOptions  `json:"stream_options,omitempty"`
}

type responseFormat struct {
	Type string `json:"type"`
	Form *form  `json:"json_schema"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

// request writes the question in the exchange's dialect.
func (x *exchange) request(stream bool) *chatRequest {
	q := x.question
	r := &chatRequest{
		Model: x.endpoint.model, Messages: q.messages,
		Stream: stream,
	}
	if stream {
		r.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	if !x.dialect.noTemperature {
		r.Temperature = q.sampling.temperature
	}
	if !x.dialect.noTopP {
		r.TopP = q.sampling.topP
	}
	if !x.dialect.noSeed {
		r.Seed = q.sampling.seed
	}
	if !x.dialect.noStop {
		r.Stop = q.sampling.stop
	}
	switch x.dialect.tokens {
	case maxTokens:
		r.MaxTokens = q.sampling.maxTokens
	case maxCompletionTokens:
		r.MaxCompletionTokens = q.sampling.maxTokens
	}
	switch {
	case q.form == nil:
	case !x.dialect.noFormat:
		r.ResponseFormat = &responseFormat{Type: "json_schema", Form: q.form}
	case q.form.words != "":
		r.Messages = slices.Concat(q.messages, []message{{roleUser, q.form.words}})
	}
	return r
}

// chatReply is a reply, or a piece of a streamed one, with only the parts that this
// plugin reads. Decoding skips the others without allocating memory for them. A hostile
// endpoint can send JSON that takes 280 times its size if all of it becomes values.
type chatReply struct {
	// Error is set instead of the rest. It isn't if it is null.
	Error *json.RawMessage `json:"error"`
	Model text             `json:"model"`
	// Choices has the first choice, since only one is requested, or nil.
	Choices [1]*choice `json:"choices"`
	Usage   usage      `json:"usage"`
}

type choice struct {
	Finish  text `json:"finish_reason"`
	Message said `json:"message"` // of a whole reply
	Delta   said `json:"delta"`   // of a piece
}

type said struct {
	Content text `json:"content"`
	Refusal text `json:"refusal"`
}

type usage struct {
	In  count `json:"prompt_tokens"`
	Out count `json:"completion_tokens"`
}

// text is a JSON string, or any other value as its JSON. null is "".
type text string

// UnmarshalJSON accepts any value.
func (t *text) UnmarshalJSON(raw []byte) error {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		s = strings.ToValidUTF8(string(raw), "\uFFFD")
	}
	*t = text(s)
	return nil
}

// count is a number of tokens, from 0 to maxCount. What isn't a number is 0, and of a
// fraction the whole part counts.
type count int64

// maxCount keeps a lying endpoint from overflowing a budget.
const maxCount = 1 << 40

// UnmarshalJSON accepts any value.
func (c *count) UnmarshalJSON(raw []byte) error {
	var n json.Number
	if json.Unmarshal(raw, &n) != nil {
		return nil
	}
	f, _ := n.Float64() // infinite if it is too large
	*c = count(min(max(f, 0), maxCount))
	return nil
}
