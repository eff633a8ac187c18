package journal

import "encoding/json"

// GovernanceChanged records that settings of a namespace were changed. Settings are numbers
// and names of fields, so they are included unchanged.
type GovernanceChanged struct {
	Namespace string `json:"namespace"`
	AgentID   string `json:"agent_id,omitempty"`
	// Before and After are the stored records; null if there was none. If the record
	// before couldn't be read, Before is its digest.
	Before json.RawMessage `json:"before"`
	After  json.RawMessage `json:"after"`
}

func (GovernanceChanged) eventType() string { return "agent.governance.changed" }

func governanceEvents() []Event { return []Event{GovernanceChanged{}} }
