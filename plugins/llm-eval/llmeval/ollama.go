package llmeval

import (
	"cmp"
	"encoding/json"

	"github.com/reflectory/reflectory/sdk/modeltext"
)

// ollamaProtocol is Ollama's own /api/chat (as published in November 2026). Unlike its
// OpenAI-compatible path, it takes the length of the context with each request.
func ollamaProtocol() *protocol {
	return &protocol{
		replies: modeltext.OllamaChat, path: "/api/chat", lines: true, authorize: bearer, request: ollama, noURLs: true,
		base:  "Ollama, such as http://127.0.0.1:11434",
		lacks: dialect{tokens: ownTokens},
	}
}

// How long the context of a request is, in tokens. Ollama loads a model again if it changes, so
// it is one of a few lengths: smallestContext doubled.
const (
	smallestContext = 4096
	// bytesPerToken is how many bytes a token has at least: English has 4, code 3, and of
	// Chinese and Japanese one character is 3 bytes.
	bytesPerToken = 3
	// tokensPerMessage is what a model's template adds to a message.
	tokensPerMessage = 16
	// replyRoom is left for a reply without max_tokens, which may begin with a thought.
	replyRoom = 4096
)

// ollamaRequest is the body of POST {base}/api/chat. Without truncate and shift, it is an error
// if the prompt doesn't fit the context, and a cut if the reply doesn't; Ollama otherwise leaves
// out the beginning of the prompt without a word.
type ollamaRequest struct {
	Model    string          `json:"model"`
	Messages []chatMessage   `json:"messages"`
	Tools    []chatTool      `json:"tools,omitempty"`
	Format   json.RawMessage `json:"format,omitempty"`
	Think    any             `json:"think,omitempty"`
	Options  ollamaOptions   `json:"options"`
	Stream   bool            `json:"stream"`
	Truncate bool            `json:"truncate"`
	Shift    bool            `json:"shift"`
}

type ollamaOptions struct {
	NumCtx      int64    `json:"num_ctx"`
	NumPredict  int64    `json:"num_predict,omitempty"`
	Temperature *float64 `json:"temperature,omitempty"`
	TopP        *float64 `json:"top_p,omitempty"`
	Seed        *int64   `json:"seed,omitempty"`
	Stop        []string `json:"stop,omitempty"`
}

func ollama(x *exchange, stream bool) any {
	s := x.sampling()
	r := &ollamaRequest{Model: x.endpoint.model, Messages: ollamaMessages(x.messages()), Tools: x.chatTools(), Stream: stream, Options: ollamaOptions{
		NumPredict: s.maxTokens, Temperature: s.temperature, TopP: s.topP, Seed: s.seed, Stop: s.stop,
	}}
	r.Options.NumCtx = contextFor(x.messages(), s.maxTokens, x.endpoint.maxContext)
	switch f, kind := x.form(); {
	case f != nil:
		r.Format = f.Schema
	case kind != "":
		r.Format = json.RawMessage(`"json"`)
	}
	switch effort := x.effort(); effort {
	case "":
	case "none":
		r.Think = false
	case "minimal":
		r.Think = "low"
	case "xhigh", "max":
		r.Think = "high"
	default:
		r.Think = effort
	}
	return r
}

// contextFor is the length of the context for messages and a reply, at most most.
func contextFor(messages []message, reply, most int64) int64 {
	need := cmp.Or(reply, replyRoom)
	for _, m := range messages {
		need += int64(len(m.Content)/bytesPerToken + tokensPerMessage)
	}
	length := int64(smallestContext)
	for length < need && length < most {
		length *= 2
	}
	return min(length, most)
}
