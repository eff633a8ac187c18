package inject

import (
	"encoding/json"

	"github.com/reflectory/reflectory/core"
)

// The canonical JSON of a snapshot has its keys sorted by their bytes, and no spaces. To
// sort the keys of 200 dropped blocks for each snapshot would take longer than assembling
// it, so these structs have their fields in that order already. A test compares them with
// what sorting gives.

type canonical struct {
	BlocksUsed      []canonicalUsed      `json:"blocks_used"`
	CharsInjected   int                  `json:"chars_injected"`
	DroppedBlocks   []canonicalDropped   `json:"dropped_blocks"`
	Namespace       string               `json:"namespace"`
	PolicyApplied   json.RawMessage      `json:"policy_applied"`
	Prefix          canonicalPrefix      `json:"prefix"`
	RoleMix         json.RawMessage      `json:"role_mix,omitempty"`
	Route           string               `json:"route,omitempty"`
	SessionID       string               `json:"session_id"`
	TokensInjected  *int                 `json:"tokens_injected,omitempty"`
	TruncatedBlocks []canonicalTruncated `json:"truncated_blocks"`
	TurnID          int64                `json:"turn_id"`
}

type canonicalUsed struct {
	Anchor        bool     `json:"anchor,omitempty"`
	BlockID       string   `json:"block_id"`
	Category      Category `json:"category"`
	Chars         int      `json:"chars"`
	Format        Format   `json:"format"`
	MemoryID      string   `json:"memory_id,omitempty"`
	PayloadDigest string   `json:"payload_digest"`
	Priority      int      `json:"priority"`
	Source        string   `json:"source,omitempty"`
	Stable        bool     `json:"stable,omitempty"`
	Tags          []string `json:"tags,omitempty"`
}

type canonicalDropped struct {
	BlockID  string   `json:"block_id"`
	Category Category `json:"category"`
	Reason   Reason   `json:"reason"`
}

type canonicalTruncated struct {
	BlockID string `json:"block_id"`
	From    int    `json:"from"`
	To      int    `json:"to"`
}

type canonicalPrefix struct {
	Chars  int    `json:"chars"`
	Digest string `json:"digest,omitempty"`
	Reused bool   `json:"reused"`
}

// canonicalJSON is the JSON of a value with its keys sorted.
func canonicalJSON(v any) json.RawMessage {
	decoded, err := core.DecodeJSON(core.MustJSON(v))
	if err != nil {
		panic("inject: JSON of ours can't be decoded: " + err.Error())
	}
	return core.MustJSON(decoded)
}
