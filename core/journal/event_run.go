package journal

import "github.com/reflectory/reflectory/core"

// RunStarted records that a run was created.
type RunStarted struct {
	Workflow string `json:"workflow"`
	// Source and State are digests of the workflow with its files, and of the
	// initial state.
	Source string `json:"source"`
	State  string `json:"state"`
}

// OutputRecorded records that an attempt was made but not yet judged.
type OutputRecorded struct {
	Visit     int    `json:"visit"`
	Node      string `json:"node"`
	Iteration int    `json:"iteration"`
	Role      string `json:"role"`
	// Output is a digest of the output.
	Output string `json:"output"`
}

// VerdictRecorded records that an attempt was judged.
type VerdictRecorded struct {
	Visit     int     `json:"visit"`
	Node      string  `json:"node"`
	Iteration int     `json:"iteration"`
	Score     float64 `json:"score"`
	Valid     bool    `json:"valid"`
	Accepted  bool    `json:"accepted"`
	// Output is a digest of the output that counts: the verdict may have replaced the
	// attempt's own.
	Output string `json:"output"`
}

// VisitRecorded records that a node was finished or skipped.
type VisitRecorded struct {
	Visit   int    `json:"visit"`
	Node    string `json:"node"`
	Skipped bool   `json:"skipped,omitempty"`
	Next    string `json:"next,omitempty"`
	// Result is the digest of the result without the texts of Memories.
	Result string `json:"result"`
	// Memories are the memories that the result contains.
	Memories []MemoryDigest `json:"memories,omitempty"`
}

// MemoryDigest identifies the content that a memory had when a run received it.
type MemoryDigest struct {
	MemoryID string `json:"memory_id"`
	// Digest is the digest of a record with the memory's texts and a random salt, so that
	// it reveals nothing once the record is gone; "" means that the memory was purged
	// before.
	Digest string `json:"digest,omitempty"`
}

// RunEnded records that a run ended, for good or so that it can be resumed.
type RunEnded struct {
	Status     core.Status     `json:"status"`
	StopReason core.StopReason `json:"stop_reason,omitempty"`
	// ExhaustedLoops are the nodes of the loops that a limit stopped.
	ExhaustedLoops []string `json:"exhausted_loops,omitempty"`
	// Result is the digest of the result, without the texts of memories.
	Result string `json:"result"`
}

// RunResumed records that a run continues after an end that can be resumed, or after its
// host went away.
type RunResumed struct {
	// Epoch counts the holders of the run; its creator is 1.
	Epoch int `json:"epoch"`
}

func (RunStarted) eventType() string      { return "run_started" }
func (OutputRecorded) eventType() string  { return "output_recorded" }
func (VerdictRecorded) eventType() string { return "verdict_recorded" }
func (VisitRecorded) eventType() string   { return "visit_recorded" }
func (RunEnded) eventType() string        { return "run_ended" }
func (RunResumed) eventType() string      { return "run_resumed" }

func runEvents() []Event {
	return []Event{RunStarted{}, OutputRecorded{}, VerdictRecorded{}, VisitRecorded{}, RunEnded{}, RunResumed{}}
}
