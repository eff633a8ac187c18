package inject

import (
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
)

// The canonical JSON of a snapshot has its keys sorted by their bytes, and no spaces. It
// leaves out the fields that don't follow from the input (the id, the time, the
// latency), and the payloads, of which it has the digests. The types here have their fields
// in the order of the keys, as Dropped, Truncated and Prefix do. A test compares the output with an encoder that sorts.

type canonicalSnapshot struct {
	BlocksUsed      []canonicalUsed `json:"blocks_used"`
	CharsInjected   int             `json:"chars_injected"`
	DroppedBlocks   []Dropped       `json:"dropped_blocks"`
	Namespace       string          `json:"namespace"`
	PolicyApplied   canonicalPolicy `json:"policy_applied"`
	Prefix          Prefix          `json:"prefix"`
	RoleMix         any             `json:"role_mix,omitempty"`
	Route           string          `json:"route,omitempty"`
	SessionID       string          `json:"session_id"`
	TokensInjected  *int            `json:"tokens_injected,omitempty"`
	TruncatedBlocks []Truncated     `json:"truncated_blocks"`
	TurnID          int64           `json:"turn_id"`
	Withheld        []string        `json:"withheld,omitempty"`
}

type canonicalUsed struct {
	Anchor        bool     `json:"anchor,omitempty"`
	BlockID       string   `json:"block_id"`
	Category      Category `json:"category"`
	Chars         int      `json:"chars"`
	CreatedTurn   *int64   `json:"created_turn,omitempty"`
	Format        Format   `json:"format"`
	MemoryID      string   `json:"memory_id,omitempty"`
	PayloadDigest string   `json:"payload_digest"`
	Priority      int      `json:"priority"`
	Source        string   `json:"source,omitempty"`
	Stable        bool     `json:"stable,omitempty"`
	Tags          []string `json:"tags,omitempty"`
	TraceRefs     []string `json:"trace_refs,omitempty"`
	TTLTurns      *int64   `json:"ttl_turns,omitempty"`
}

type canonicalPolicy struct {
	Anchors     []Category       `json:"anchor_categories,omitempty"`
	CategoryCap map[Category]int `json:"category_cap,omitempty"`
	Dedupe      Dedupe           `json:"dedupe_strategy,omitempty"`
	Digest      string           `json:"digest,omitempty"`
	Enabled     []Category       `json:"enabled_categories,omitempty"`
	File        string           `json:"file,omitempty"`
	FileDigest  string           `json:"file_digest,omitempty"`
	MaxBlocks   int              `json:"max_blocks,omitempty"`
	MaxChars    int              `json:"max_chars,omitempty"`
	MaxTokens   int              `json:"max_tokens,omitempty"`
	Mode        Mode             `json:"mode,omitempty"`
	Ordering    Ordering         `json:"ordering_strategy,omitempty"`
	Rule        string           `json:"rule,omitempty"`
	Tokenizer   string           `json:"tokenizer,omitempty"`
}

// computeDigest is the digest of the canonical JSON.
func (s *Snapshot) computeDigest() string {
	c := canonicalSnapshot{
		BlocksUsed: make([]canonicalUsed, len(s.BlocksUsed)), CharsInjected: s.CharsInjected, DroppedBlocks: append([]Dropped{}, s.DroppedBlocks...),
		Namespace: s.Namespace, PolicyApplied: canonicalPolicyOf(&s.PolicyApplied.Policy), Prefix: s.Prefix, Route: s.Route, SessionID: s.SessionID,
		TokensInjected: s.TokensInjected, TruncatedBlocks: append([]Truncated{}, s.TruncatedBlocks...), TurnID: s.TurnID, Withheld: s.Withheld,
	}
	a := &s.PolicyApplied
	c.PolicyApplied.Digest, c.PolicyApplied.File, c.PolicyApplied.FileDigest, c.PolicyApplied.Rule = a.Digest, a.File, a.FileDigest, a.Rule
	for i := range s.BlocksUsed {
		u := &s.BlocksUsed[i]
		c.BlocksUsed[i] = canonicalUsed{
			Anchor: u.Anchor, BlockID: u.BlockID, Category: u.Category, Chars: u.Chars, CreatedTurn: u.CreatedTurn, Format: u.Format,
			MemoryID: u.MemoryID, PayloadDigest: u.PayloadDigest, Priority: u.Priority, Source: u.Source, Stable: u.Stable, Tags: u.Tags,
			TraceRefs: u.TraceRefs, TTLTurns: u.TTLTurns,
		}
	}
	if s.RoleMix != nil {
		decoded, err := jsontext.Decode(jsontext.MustEncode(s.RoleMix)) // maps are encoded in the order of their keys
		if err != nil {
			panic("inject: JSON of ours can't be decoded: " + err.Error())
		}
		c.RoleMix = decoded
	}
	return core.Digest(jsontext.MustEncode(c))
}

// canonicalPolicyOf is a policy without its digest and the fields about what decided it.
func canonicalPolicyOf(p *Policy) canonicalPolicy {
	return canonicalPolicy{
		Anchors: p.Anchors, CategoryCap: p.CategoryCap, Dedupe: p.Dedupe, Enabled: p.Enabled, MaxBlocks: p.MaxBlocks, MaxChars: p.MaxChars,
		MaxTokens: p.MaxTokens, Mode: p.Mode, Ordering: p.Ordering, Tokenizer: p.Tokenizer,
	}
}

// digest is the digest of a completed policy.
func (p *Policy) digest() string { return core.Digest(jsontext.MustEncode(canonicalPolicyOf(p))) }
