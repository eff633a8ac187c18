package policypoint

import "github.com/reflectory/reflectory/core"

// MemoryFacts are the facts about a memory, without its signals, for policies.
type MemoryFacts struct {
	MemoryID               string
	Kind, AgentID          string
	Tags                   []string
	Priority               int64
	Importance, Confidence float64
	ReflectionDepth        int64
	// Revalidation is the utility that the gate's last decision found, 0 before the
	// first.
	Revalidation float64
}

// FactsOf are the facts of a memory. Its tags must not change while a policy decides.
func FactsOf(m *core.Memory) MemoryFacts {
	f := MemoryFacts{
		MemoryID: m.ID, Kind: string(m.Kind), AgentID: m.AgentID, Tags: m.Tags, Priority: int64(m.Priority),
		Importance: m.Importance, Confidence: m.Confidence, ReflectionDepth: int64(m.ReflectionDepth),
	}
	if m.Signals.Revalidation != nil {
		f.Revalidation = *m.Signals.Revalidation
	}
	return f
}
