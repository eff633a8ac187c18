package core

import (
	"context"
	"encoding/json"
)

// Reply is what a language model made of a call, as it is kept for calls that would
// ask the same: without its usage, since to give it again costs nothing.
type Reply struct {
	Output   json.RawMessage   `json:"output"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

// Replies keeps replies of language models by a digest of everything that they
// depend on. It is a cache: any reply may be gone at any time.
// It is safe for concurrent use.
type Replies interface {
	// Reply returns the reply of a digest, nil where none is kept. memories are
	// those that the call may have been given: the reply leaves with any of them.
	Reply(ctx context.Context, digest string, memories []string) (*Reply, error)
	// KeepReply keeps a reply. One of a memory that was purged meanwhile, or that is
	// too large, isn't kept.
	KeepReply(ctx context.Context, digest string, r *Reply, memories []string) error
}
