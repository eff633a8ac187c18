package llmeval

import "slices"

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
