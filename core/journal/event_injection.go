package journal

// TurnInfo is what all events of a session's turn have in common.
type TurnInfo struct {
	SessionID     string  `json:"session_id"`
	TurnID        int64   `json:"turn_id"`
	LatencyMillis float64 `json:"latency_ms"`
}

// InjectionPolicySelected says which policy and mode a turn's context is made with.
type InjectionPolicySelected struct {
	TurnInfo
	Mode string `json:"mode"`
	// Policy is the digest of the policy in force.
	Policy    string `json:"policy"`
	MaxBlocks int    `json:"max_blocks"`
	MaxChars  int    `json:"max_chars"`
	MaxTokens int    `json:"max_tokens,omitempty"`
}

// InjectionRoleMixSelected says which profile of roles a turn has, and why.
type InjectionRoleMixSelected struct {
	TurnInfo
	Profile string   `json:"profile_id"`
	Roles   []string `json:"roles"`
	Reason  string   `json:"activation_reason"`
}

// InjectionSnapshotCreated says that a turn's context was made.
type InjectionSnapshotCreated struct {
	TurnInfo
	SnapshotID string `json:"snapshot_id"`
	// Digest is the digest of the snapshot.
	Digest     string         `json:"digest"`
	Blocks     int            `json:"blocks"`
	Dropped    int            `json:"dropped"`
	Truncated  int            `json:"truncated"`
	Chars      int            `json:"chars"`
	Tokens     int            `json:"tokens,omitempty"`
	Categories map[string]int `json:"categories"`
}

// InjectionBlockDropped says that a block isn't in a turn's context.
type InjectionBlockDropped struct {
	TurnInfo
	SnapshotID string `json:"snapshot_id"`
	BlockID    string `json:"block_id"`
	Category   string `json:"category"`
	Reason     string `json:"reason"`
	Chars      int    `json:"chars"`
}

// InjectionBlockTruncated says that a block was cut to fit.
type InjectionBlockTruncated struct {
	TurnInfo
	SnapshotID string `json:"snapshot_id"`
	BlockID    string `json:"block_id"`
	Category   string `json:"category"`
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
