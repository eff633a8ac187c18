package journal

// TurnInfo is what all events of a session's turn have in common.
type TurnInfo struct {
	SessionID     string  `json:"session_id"`
	TurnID        int64   `json:"turn_id"`
	LatencyMillis float64 `json:"latency_ms"`
}

// InjectionInfo is what all events of a snapshot have in common.
type InjectionInfo struct {
	TurnInfo
	SnapshotID string          `json:"snapshot_id"`
	Budget     InjectionBudget `json:"budget"`
	Counts     InjectionCounts `json:"counts"`
	// Categories counts the blocks in the snapshot by category.
	Categories map[string]int `json:"categories"`
}

// InjectionBudget is how much of a turn's context may be used, and is: characters, or
// tokens if only tokens are limited.
type InjectionBudget struct {
	Max  int    `json:"max"`
	Used int    `json:"used"`
	Unit string `json:"unit"`
}

// InjectionCounts are how many blocks are in a snapshot, and how many were left out.
type InjectionCounts struct {
	Used      int `json:"used"`
	Dropped   int `json:"dropped"`
	Truncated int `json:"truncated"`
}

// InjectionPolicySelected records which policy and mode a turn's context is made with.
type InjectionPolicySelected struct {
	InjectionInfo
	Mode string `json:"mode"`
	// Policy is the digest of the policy that was applied.
	Policy    string `json:"policy"`
	MaxBlocks int    `json:"max_blocks"`
	MaxChars  int    `json:"max_chars,omitempty"`
	MaxTokens int    `json:"max_tokens,omitempty"`
}

// InjectionRoleMixSelected records which profile of roles a turn has, and why.
type InjectionRoleMixSelected struct {
	InjectionInfo
	Profile string   `json:"profile_id"`
	Roles   []string `json:"roles"`
	Reason  string   `json:"activation_reason"`
}

// InjectionSnapshotCreated records that a turn's context was made.
type InjectionSnapshotCreated struct {
	InjectionInfo
	// Digest is the digest of the snapshot, and Inputs the digest of what it was made from.
	Digest string `json:"digest"`
	Inputs string `json:"inputs"`
	Chars  int    `json:"chars"`
	Tokens int    `json:"tokens,omitempty"`
}

// InjectionBlockDropped records that a block isn't in a turn's context.
type InjectionBlockDropped struct {
	InjectionInfo
	BlockID  string `json:"block_id"`
	Category string `json:"category"`
	Reason   string `json:"reason"`
}

// InjectionBlockTruncated records that a block was cut to fit.
type InjectionBlockTruncated struct {
	InjectionInfo
	BlockID  string `json:"block_id"`
	Category string `json:"category"`
	// From and To are its lengths in characters before and after.
	From int `json:"from"`
	To   int `json:"to"`
}

func (InjectionPolicySelected) eventType() string  { return "agent.injection.policy.selected" }
func (InjectionRoleMixSelected) eventType() string { return "agent.injection.role_mix.selected" }
func (InjectionSnapshotCreated) eventType() string { return "agent.injection.snapshot.created" }
func (InjectionBlockDropped) eventType() string    { return "agent.injection.block.dropped" }
func (InjectionBlockTruncated) eventType() string  { return "agent.injection.block.truncated" }

func injectionEvents() []Event {
	return []Event{
		InjectionPolicySelected{}, InjectionRoleMixSelected{}, InjectionSnapshotCreated{},
		InjectionBlockDropped{}, InjectionBlockTruncated{},
	}
}
