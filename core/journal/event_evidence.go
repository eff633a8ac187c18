package journal

// ToolEvidenceRecorded records that the outcome of a tool call was recorded as evidence for
// the gate.
type ToolEvidenceRecorded struct {
	MemoryID  string `json:"memory_id"`
	SessionID string `json:"session_id"`
	TurnID    int64  `json:"turn_id"`
	OK        bool   `json:"ok"`
	Recovered bool   `json:"recovered"`
	// Outcome is a digest of the tool and the reference.
	Outcome string `json:"outcome"`
	AgentID string `json:"agent_id,omitempty"`
}

// ToolEvidenceUsed records whether a turn used a memory, if that changes how the turn's
// recorded outcomes count.
type ToolEvidenceUsed struct {
	MemoryID  string `json:"memory_id"`
	SessionID string `json:"session_id"`
	TurnID    int64  `json:"turn_id"`
	Used      bool   `json:"used"`
	AgentID   string `json:"agent_id,omitempty"`
}

// DAGEvidenceRecorded records that a workflow's graph was recorded as evidence for the gate.
type DAGEvidenceRecorded struct {
	Workflow string `json:"workflow"`
	Nodes    int    `json:"nodes"`
	Edges    int    `json:"edges"`
	Memories int    `json:"memories"`
	// Graph is the digest of the graph, and Replaced the digest of the previous one; ""
	// if there was none.
	Graph    string `json:"graph"`
	Replaced string `json:"replaced,omitempty"`
	AgentID  string `json:"agent_id,omitempty"`
}

// OmegaEvidenceRecorded records that a memory's factors were recorded as evidence for the
// gate, replacing the previous ones.
type OmegaEvidenceRecorded struct {
	MemoryID string `json:"memory_id"`
	// Seq counts the memory's records, from 1.
	Seq                  int64    `json:"seq"`
	UpstreamStatus       *float64 `json:"upstream_status,omitempty"`
	CodebaseVerification *float64 `json:"codebase_verification,omitempty"`
	RuntimeUtilityTrend  *float64 `json:"runtime_utility_trend,omitempty"`
	// Note is a digest of the note.
	Note    string `json:"note,omitempty"`
	AgentID string `json:"agent_id,omitempty"`
}

func (ToolEvidenceRecorded) eventType() string { return "agent.evidence.tool_recorded" }
func (ToolEvidenceUsed) eventType() string     { return "agent.evidence.tool_used" }
func (DAGEvidenceRecorded) eventType() string  { return "agent.evidence.dag_recorded" }

func (OmegaEvidenceRecorded) eventType() string { return "agent.evidence.omega_recorded" }

func evidenceEvents() []Event {
	return []Event{ToolEvidenceRecorded{}, ToolEvidenceUsed{}, DAGEvidenceRecorded{}, OmegaEvidenceRecorded{}}
}
