package llmeval

import "github.com/reflectory/reflectory/sdk/modeltext"

// chatProtocol is OpenAI's chat completions (as published in November 2026).
func chatProtocol() *protocol {
	return &protocol{
		replies: modeltext.ChatCompletions, path: "/chat/completions", authorize: bearer, request: chat, files: "any", noFileURLs: true,
		base: "an OpenAI-compatible endpoint; it usually ends in /v1",
	}
}

// chatRequest is the body of POST {base}/chat/completions. What is absent is left to the
// endpoint.
type chatRequest struct {
	Model               string          `json:"model"`
	Messages            []chatMessage   `json:"messages"`
	Temperature         *float64        `json:"temperature,omitempty"`
	MaxTokens           int64           `json:"max_tokens,omitempty"`
	MaxCompletionTokens int64           `json:"max_completion_tokens,omitempty"`
	TopP                *float64        `json:"top_p,omitempty"`
	Seed                *int64          `json:"seed,omitempty"`
	Stop                []string        `json:"stop,omitempty"`
	ReasoningEffort     string          `json:"reasoning_effort,omitempty"`
	ResponseFormat      *responseFormat `json:"response_format,omitempty"`
	Stream              bool            `json:"stream,omitempty"`
	StreamOptions       *streamOptions  `json:"stream_options,omitempty"`
	Tools               []chatTool      `json:"tools,omitempty"`
	ToolChoice          any             `json:"tool_choice,omitempty"`
	ParallelToolCalls   *bool           `json:"parallel_tool_calls,omitempty"`
}

type responseFormat struct {
	Type string `json:"type"`
	Form *form  `json:"json_schema,omitempty"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

func chat(x *exchange, stream bool) any {
	s := x.sampling()
	r := &chatRequest{
		Model: x.endpoint.model, Messages: chatMessages(x.messages()), Stream: stream, ReasoningEffort: x.effort(),
		Temperature: s.temperature, TopP: s.topP, Seed: s.seed, Stop: s.stop,
		Tools: x.chatTools(), ToolChoice: x.question.tools.chatChoice(), ParallelToolCalls: x.question.tools.parallel,
	}
	if stream {
		r.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	if x.dialect.tokens == maxCompletionTokens {
		r.MaxCompletionTokens = s.maxTokens
	} else {
		r.MaxTokens = s.maxTokens
	}
	if f, kind := x.form(); kind != "" {
		r.ResponseFormat = &responseFormat{Type: kind, Form: f}
	}
	return r
}
