package sdk

import (
	"context"
	"encoding/json"
	"time"
)

// LLMRequest asks the host's language model.
type LLMRequest struct {
	// Prompt is a single question. Set either Prompt or Messages, the conversation so
	// far.
	Prompt   string       `json:"prompt,omitempty"`
	Messages []LLMMessage `json:"messages,omitempty"`
	// System is put before Prompt or Messages.
	System string `json:"system,omitempty"`
	// Temperature is from 0 to 2; nil means the endpoint's default.
	Temperature *float64 `json:"temperature,omitempty"`
	// MaxTokens limits the reply; 0 means the endpoint's default.
	MaxTokens int64 `json:"max_tokens,omitempty"`
	// Parse is "json" if the reply must contain a JSON value; prose or a code fence
	// around it is ignored. "" means that the reply is text.
	Parse string `json:"parse,omitempty"`
}

// LLMMessage is one turn of a conversation.
type LLMMessage struct {
	// Role is "system", "user" or "assistant".
	Role    string `json:"role"`
	Content string `json:"content"`
}

// LLMResponse is the model's reply and the usage.
type LLMResponse struct {
	// Output is a JSON string, or with Parse any JSON value.
	Output json.RawMessage `json:"output"`
	// Usage has already been counted by the host for the calling run: a plugin must not
	// report it again.
	Usage    Usage             `json:"usage,omitzero"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

// Text is the output as text: the content of a JSON string, or else the JSON itself.
func (r *LLMResponse) Text() string {
	var text *string
	if json.Unmarshal(r.Output, &text) == nil && text != nil {
		return *text
	}
	return string(r.Output)
}

// Complete asks the host's language model ([ServiceLLM]). The operator chooses the
// model, its endpoint and its key; without them the error is [Invalid], reason
// "llm_not_configured".
func Complete(ctx context.Context, r *LLMRequest) (*LLMResponse, error) {
	return ask[LLMRequest, LLMResponse](ctx, ServiceLLM, r)
}

// RecallRequest asks for memories related to a text. The namespace is always the run's.
type RecallRequest struct {
	Query string `json:"query"`
	// Limit is the maximum number of memories; 0 means the host's default.
	Limit int `json:"limit,omitempty"`
	// Kinds and Tags filter memories, if set: a memory must have one of the kinds and
	// all of the tags.
	Kinds []string `json:"kinds,omitempty"`
	Tags  []string `json:"tags,omitempty"`
}

// RecallResponse holds the memories, the best first.
type RecallResponse struct {
	Memories []RecalledMemory `json:"memories"`
}

// RecalledMemory is a memory as plugins see it.
type RecalledMemory struct {
	ID        string    `json:"id"`
	Namespace string    `json:"namespace"`
	Kind      string    `json:"kind"`
	Title     string    `json:"title"`
	Content   string    `json:"content"`
	Tags      []string  `json:"tags,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	// Score is how well the memory matches, in [0,1].
	Score float64 `json:"score"`
}

// Recall reads memories ([ServiceRecall]). A host without a memory answers
// [Unavailable], reason "memory_not_available".
func Recall(ctx context.Context, r *RecallRequest) (*RecallResponse, error) {
	return ask[RecallRequest, RecallResponse](ctx, ServiceRecall, r)
}

// Operations of a [CacheRequest].
const (
	CacheOpGet = "get"
	CacheOpPut = "put"
)

// CacheRequest reads or writes one value of the plugin's own cache.
type CacheRequest struct {
	// Op is [CacheOpGet] or [CacheOpPut].
	Op string `json:"op"`
	// Key is 1 to 256 bytes.
	Key string `json:"key"`
	// Value is the value to put: any JSON value.
	Value json.RawMessage `json:"value,omitempty"`
}

// CacheResponse answers a get; the answer to a put is empty.
type CacheResponse struct {
	Found bool            `json:"found"`
	Value json.RawMessage `json:"value,omitempty"`
}

// CacheGet reads what the plugin put under a key ([ServiceCache]), in any call and
// instance. The host drops values that haven't been used for a long time, and all
// values when it ends.
func CacheGet(ctx context.Context, key string) (value json.RawMessage, found bool, err error) {
	r, err := ask[CacheRequest, CacheResponse](ctx, ServiceCache, &CacheRequest{Op: CacheOpGet, Key: key})
	if err != nil {
		return nil, false, err
	}
	return r.Value, r.Found, nil
}

// CachePut keeps a JSON value under a key ([ServiceCache]).
func CachePut(ctx context.Context, key string, value json.RawMessage) error {
	_, err := ask[CacheRequest, CacheResponse](ctx, ServiceCache, &CacheRequest{Op: CacheOpPut, Key: key, Value: value})
	return err
}

// LogRequest is a line for the host's log.
type LogRequest struct {
	// Level is "trace", "debug", "info", "warn" or "error"; "" is "info".
	Level   string `json:"level,omitempty"`
	Message string `json:"message"`
	// Fields are facts in addition to the message.
	Fields map[string]any `json:"fields,omitempty"`
}

// Log writes a line to the host's log ([ServiceLog]), which tags it with the plugin and
// the run. A plugin can also write to log/slog, which needs no grant.
func Log(ctx context.Context, r *LogRequest) error {
	_, err := ask[LogRequest, struct{}](ctx, ServiceLog, r)
	return err
}
