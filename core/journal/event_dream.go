package journal

import "github.com/reflectory/reflectory/core"

// DreamStep names the step of a dream pass that changed a memory.
type DreamStep struct {
	RunID string `json:"run_id"`
	// Step counts from 1.
	Step int64 `json:"step"`
	// Undone is whether the step was taken back.
	Undone bool `json:"undone,omitempty"`
}

// MemoryRewritten records that a memory got other texts, whose relative dates are absolute,
// or, if it was undone, got its former texts back.
type MemoryRewritten struct {
	DreamStep
	MemoryID string `json:"memory_id"`
	// All four are digests.
	TitleBefore   string `json:"title_before"`
	Title         string `json:"title"`
	ContentBefore string `json:"content_before"`
	Content       string `json:"content"`
	// EmbeddingModel and EmbeddingFailure are as in [MemoryObserved].
	EmbeddingModel   string `json:"embedding_model,omitempty"`
	EmbeddingFailure string `json:"embedding_failure,omitempty"`
	AgentID          string `json:"agent_id,omitempty"`
}

// MemoryMerged records that another memory was merged into a memory, which took over the
// other's uses; or, if the step was undone, that it gave them back.
type MemoryMerged struct {
	DreamStep
	MemoryID string `json:"memory_id"`
	VictimID string `json:"victim_id"`
	// Signals are the other memory's signals, and Sessions is whether each session that used
	// it named the use. They are missing if the step was undone.
	Signals  *core.Signals   `json:"signals,omitempty"`
	Sessions map[string]bool `json:"sessions,omitempty"`
	// Formula is the version of the signals' arithmetic.
	Formula int    `json:"formula,omitempty"`
	AgentID string `json:"agent_id,omitempty"`
}

// MemoryUnlinked records that a link was removed because the step that made it was undone.
type MemoryUnlinked struct {
	DreamStep
	From     string `json:"from"`
	Relation string `json:"relation"`
	To       string `json:"to"`
}

// DreamCompleted records that a dream pass ended, with its result.
type DreamCompleted struct {
	RunID   string `json:"run_id"`
	AgentID string `json:"agent_id,omitempty"`
	// Agent is the agent whose memories the pass was about; "" means all agents.
	Agent             string           `json:"agent,omitempty"`
	Mode              string           `json:"mode"`
	TotalScanned      int64            `json:"total_scanned"`
	AbsolutizedDates  int64            `json:"absolutized_dates"`
	Consolidated      int64            `json:"consolidated"`
	MergeRefusals     map[string]int64 `json:"merge_refusals"`
	ConflictsResolved int64            `json:"conflicts_resolved"`
	ConflictsOpen     int64            `json:"conflicts_open"`
	Archived          int64            `json:"archived"`
	ReportIngested    int64            `json:"dream_report_ingested"`
	StepsSkipped      int64            `json:"steps_skipped"`
	DurationMillis    int64            `json:"duration_ms"`
	PlanDigest        string           `json:"plan_digest"`
	GuardVersion      int64            `json:"guard_version"`
}

// DreamUndone records that steps of a dream pass were taken back.
type DreamUndone struct {
	RunID   string `json:"run_id"`
	AgentID string `json:"agent_id,omitempty"`
	Undone  int64  `json:"undone"`
	Refused int64  `json:"refused"`
}

func (MemoryRewritten) eventType() string { return "agent.memory.rewritten" }
func (MemoryMerged) eventType() string    { return "agent.memory.merged" }
func (MemoryUnlinked) eventType() string  { return "agent.memory.unlinked" }
func (DreamCompleted) eventType() string  { return "agent.dream.completed" }
func (DreamUndone) eventType() string     { return "agent.dream.undone" }

// dreamEvents has one event of each type above, for the catalogue.
func dreamEvents() []Event {
	return []Event{MemoryRewritten{}, MemoryMerged{}, MemoryUnlinked{}, DreamCompleted{}, DreamUndone{}}
}
