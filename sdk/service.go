package sdk

import (
	"context"
	"encoding/json"
	"time"
)

// LLMRequest asks the host's language model.
type LLMRequest struct {
	// Prompt is the one question; or else Messages is the conversation so far.
	Prompt   string       `json:"prompt,omitempty"`
	Messages []LLMMessage `json:"messages,omitempty"`
	// System stands before both.
	System string `json:"system,omitempty"`
	// Temperature is from 0 to 2; nil leaves it to the endpoint.
	Temperature *float64 `json:"temperature,omitempty"`
	// MaxTokens bounds the reply; 0 leaves it to the endpoint.
	MaxTokens int64 `json:"max_tokens,omitempty"`
	// Parse is "json" where the reply is to be a JSON value, whatever prose or
	// code fence the model puts around it; "" takes it as text.
	Parse string `json:"parse,omitempty"`
}

// LLMMessage is one turn of a conversation.
type LLMMessage struct {
	// Role is "system", "user" or "assistant".
	Role    string `json:"role"`
	Content string `json:"content"`
}

// LLMResponse is what the model said and what that took.
type LLMResponse struct {
	// Output is a JSON string, or with Parse any JSON value.
	Output json.RawMessage `json:"output"`
	// Usage is counted by the host already, for the calling run: a plugin must
	// not report it again.
	Usage    Usage             `json:"usage,omitzero"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

// Text is the output as text: what a JSON string says, else the JSON itself.
func (r *LLMResponse) Text() string {
	var text *string
	if json.Unmarshal(r.Output, &text) == nil && text != nil {
		return *text
	}
	return string(r.Output)
}

// Complete asks the host's language model ([ServiceLLM]). The model, its
// endpoint and its key are the operator's; where none is set up the error is
// [Invalid], reason "llm_not_configured".
func Complete(ctx context.Context, r *LLMRequest) (*LLMResponse, error) {
	return ask[LLMRequest, LLMResponse](ctx, ServiceLLM, r)
}

// RecallRequest asks for memories that have to do with a text. The namespace is
// the run's and can't be chosen.
type RecallRequest struct {
	Query string `json:"query"`
	// Limit is how many at most; 0 leaves it to the host.
	Limit int `json:"limit,omitempty"`
	// Kinds and Tags, where set, are what a memory must have one and all of.
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
	// Score is how well it fits, in [0,1].
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
	// Value is what to put: any JSON value.
	Value json.RawMessage `json:"value,omitempty"`
}

// CacheResponse answers a get; that of a put is empty.
type CacheResponse struct {
	Found bool            `json:"found"`
	Value json.RawMessage `json:"value,omitempty"`
}

// CacheGet reads what the plugin put under a key ([ServiceCache]), in whichever
// call and instance. The host drops what wasn't used for long, and everything
// when it ends.
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
	// Fields are facts beside the message.
	Fields map[string]any `json:"fields,omitempty"`
}

// Log writes a line to the host's log ([ServiceLog]), which tags it with the
// plugin and the run. A plugin may as well write to log/slog, which needs no grant.
func Log(ctx context.Context, r *LogRequest) error {
	_, err := ask[LogRequest, struct{}](ctx, ServiceLog, r)
	return err
}
