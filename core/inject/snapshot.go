package inject

import (
	"time"

	"github.com/reflectory/reflectory/core"
)

// Reason is the first reason why a block isn't in a snapshot. For a duplicate it is
// "duplicate_of:" and the id of the block that stayed.
type Reason string

// The reasons.
const (
	CategoryDisabled Reason = "category_disabled"
	Expired          Reason = "expired"
	DuplicateOf      Reason = "duplicate_of:"
	OverCap          Reason = "category_cap"
	OverMaxBlocks    Reason = "max_blocks" // and blocks that the mode single leaves out
	OverBudget       Reason = "budget"
)

// Snapshot is the prompt of a turn, with what was left out of it. It never changes.
type Snapshot struct {
	// SnapshotID is its id.
	SnapshotID string `json:"snapshot_id"`
	// Namespace is the namespace of the turn's memories.
	Namespace string `json:"namespace"`
	// SessionID is the session.
	SessionID string `json:"session_id"`
	// TurnID is the session's turn.
	TurnID int64 `json:"turn_id"`
	// Route is the leading kind of evidence: react or graph; "" for none.
	Route string `json:"route,omitempty"`
	// PolicyApplied is the policy that it was made under.
	PolicyApplied Applied `json:"policy_applied"`
	// RoleMix is the mix of roles; nil for none.
	RoleMix *RoleMix `json:"role_mix,omitempty"`
	// BlocksUsed are the blocks of the prompt, in its order.
	BlocksUsed []Used `json:"blocks_used"`
	// DroppedBlocks are the others, with the reason of each.
	DroppedBlocks []Dropped `json:"dropped_blocks"`
	// TruncatedBlocks are the blocks of the prompt that were cut.
	TruncatedBlocks []Truncated `json:"truncated_blocks"`
	// Withheld is the recalled memory that the prompt leaves out by chance, to see what it contributes.
	Withheld []string `json:"withheld,omitempty"`
	// CharsInjected counts the code points of all payloads.
	CharsInjected int `json:"chars_injected"`
	// TokensInjected counts their tokens, if the policy limits tokens.
	TokensInjected *int `json:"tokens_injected,omitempty"`
	// Prefix is the part of the prompt that stays the same from turn to turn.
	Prefix Prefix `json:"prefix"`
	// CreatedAt is when it was stored.
	CreatedAt time.Time `json:"created_at"`
	// LatencyMillis is how long it took to collect and assemble it.
	LatencyMillis float64 `json:"latency_ms"`
	// Digest is over everything except the snapshot's id, its time and its latency, with
	// the digests of payloads in place of the payloads.
	Digest string `json:"digest"`
}

// Applied is the policy of a snapshot, and what decided it.
type Applied struct {
	Policy
	// Digest is the policy's digest.
	Digest string `json:"digest"`
	// File is the policy file that decided what the request left open.
	File string `json:"file,omitempty"`
	// FileDigest is the digest of that file.
	FileDigest string `json:"file_digest,omitempty"`
	// Rule is the rule of the file that decided.
	Rule string `json:"rule,omitempty"`
}

// RoleMix has the roles of a turn, and why they were chosen.
type RoleMix struct {
	// ProfileID is the profile that it is made of.
	ProfileID string `json:"profile_id"`
	// Roles are the names of its roles, in their order.
	Roles []string `json:"roles"`
	// Mode is the mode that the profile is made for: hybrid or classified. Early snapshots don't
	// have it, nor the weights, the constraints and the objectives.
	Mode Mode `json:"mode,omitempty"`
	// Weights are how much each role counts, in the order of the roles.
	Weights []float64 `json:"weights,omitempty"`
	// Constraints are what the roles must or should keep to, merged: hard ones first.
	Constraints []RoleConstraint `json:"constraints,omitempty"`
	// Objectives are what the roles aim at, merged.
	Objectives []string `json:"objectives,omitempty"`
	// ActivationReason comes from the rule that chose the profile.
	ActivationReason string `json:"activation_reason"`
	// Conflicts are the constraints that other constraints replaced.
	Conflicts []RoleConflict `json:"conflicts,omitempty"`
}

// RoleConstraint is something that a role must or should keep to.
type RoleConstraint struct {
	// Key names what it is about: of two with the same key only one holds.
	Key string `json:"key,omitempty"`
	// Text is what the model gets.
	Text string `json:"text"`
	// Hard is whether it must be kept, and so is never cut from a prompt.
	Hard bool `json:"hard,omitempty"`
}

// RoleConflict is a constraint that another one with the same key replaced.
type RoleConflict struct {
	// Key is the key of both.
	Key string `json:"key"`
	// Kept is the text that stayed.
	Kept string `json:"kept"`
	// Dropped is the text that was replaced.
	Dropped string `json:"dropped"`
}

// Used is a block in the prompt.
type Used struct {
	// BlockID names it.
	BlockID string `json:"block_id"`
	// Category is its purpose.
	Category Category `json:"category"`
	// Priority is what it was ordered by.
	Priority int `json:"priority"`
	// Source is where it comes from.
	Source string `json:"source,omitempty"`
	// Tags are the tags that its maker set.
	Tags []string `json:"tags,omitempty"`
	// TTLTurns is for how many turns it is valid, from CreatedTurn on; null is without end.
	TTLTurns *int64 `json:"ttl_turns,omitempty"`
	// CreatedTurn is the turn in which it was made, if its maker set it.
	CreatedTurn *int64 `json:"created_turn,omitempty"`
	// TraceRefs refer to what led to it, such as events or runs. Early snapshots have neither
	// these nor the turns.
	TraceRefs []string `json:"trace_refs,omitempty"`
	// MemoryID is the memory whose text it has.
	MemoryID string `json:"memory_id,omitempty"`
	// Anchor is whether it couldn't be cut or dropped.
	Anchor bool `json:"anchor,omitempty"`
	// Stable is whether it can be in the cached prefix without being an anchor.
	Stable bool `json:"stable,omitempty"`
	// Format is text or xml.
	Format Format `json:"format"`
	// Chars counts the code points of the payload, as it was cut.
	Chars int `json:"chars"`
	// PayloadDigest is the payload's digest; for a memory's text, it is keyed with the
	// memory's salt, and for texts of a session with a salt of theirs.
	PayloadDigest string `json:"payload_digest"`
	// Payload is what the model got. It isn't stored here: see [PurgedPayload].
	Payload string `json:"payload,omitempty"`
}

// Dropped is a block that isn't in the prompt.
type Dropped struct {
	// BlockID names it.
	BlockID string `json:"block_id"`
	// Category is its purpose.
	Category Category `json:"category"`
	// Reason is the first reason: category_disabled, expired, duplicate_of:ID, category_cap,
	// max_blocks or budget.
	Reason Reason `json:"reason"`
}

// Truncated is a block that was cut.
type Truncated struct {
	// BlockID names it.
	BlockID string `json:"block_id"`
	// From is how many code points it had.
	From int `json:"from"`
	// To is how many it has.
	To int `json:"to"`
}

// Prefix is the beginning of the prompt that stays the same from turn to turn, under
// stable_prefix: the anchors and the stable blocks.
type Prefix struct {
	// Chars counts the code points of its payloads; 0 if there is none.
	Chars int `json:"chars"`
	// Digest is the digest of its bytes or, if it has texts of the session, of the digests of its
	// payloads, from which no purged text can be guessed. It is "" if there is no prefix.
	Digest string `json:"digest,omitempty"`
	// Reused is whether it is the same as in the session's previous snapshot.
	Reused bool `json:"reused"`
}

// PurgedPayload is shown in place of a payload whose memory was purged, and of a session's texts
// that may repeat the memory.
const PurgedPayload = "[purged]"

// Prompt is the prompt: see [core.JoinPrompt].
func (s *Snapshot) Prompt() string {
	parts := make([]core.PromptPart, len(s.BlocksUsed))
	for i := range s.BlocksUsed {
		u := &s.BlocksUsed[i]
		parts[i] = core.PromptPart{Payload: u.Payload, Recalled: u.MemoryID != "" || u.Category == MemoryRecall}
	}
	return core.JoinPrompt(parts)
}

// Verified reports whether the snapshot's digest is the digest of its content. Payloads
// don't matter, since their digests are part of the content.
func (s *Snapshot) Verified() bool { return s.Digest == s.computeDigest() }
