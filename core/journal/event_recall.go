package journal

// MemoriesReembedded records that memories got vectors of another model.
type MemoriesReembedded struct {
	Model     string   `json:"model"`
	MemoryIDs []string `json:"memory_ids"`
	AgentID   string   `json:"agent_id,omitempty"`
}

func (MemoriesReembedded) eventType() string { return "agent.memory.reembedded" }

// recallEvents has one event of each type above, for the catalogue.
func recallEvents() []Event { return []Event{MemoriesReembedded{}} }
