package core

import (
	"context"
	"encoding/json"
	"time"
)

// Run is one execution of a workflow, as it is stored.
type Run struct {
	ID string `json:"id"`
	// Workflow is the workflow's name, or its file's.
	Workflow string `json:"workflow"`
	// Namespace is where it runs, which is what policies go by. "" in runs of
	// before there were any.
	Namespace string `json:"namespace,omitempty"`
	// Session is the session that the run's recalls are turns of; "" means that the
	// run is one of its own, named by its id.
	Session string `json:"session,omitempty"`
	// Source is the workflow as it was started, with every file it needs, so
	// that a run can be resumed and replayed whatever became of the files.
	Source Source `json:"source"`
	// State is the initial state: a JSON object.
	State      json.RawMessage `json:"state"`
	Status     Status          `json:"status"`
	StopReason StopReason      `json:"stop_reason,omitempty"`
	// Score and Iterations are those of the last loop, for listings.
	Score      float64   `json:"score"`
	Iterations int       `json:"iterations"`
	StartedAt  time.Time `json:"started_at"`
	UpdatedAt  time.Time `json:"updated_at"`
	Usage      RunUsage  `json:"usage"`
	// Open is what the loop had consumed in which the run ended resumably: also
	// calls that left no attempt, and time since the last one.
	Open RunUsage `json:"-"`
	// Error is why the run ended with StatusError.
	Error *ErrorInfo `json:"error,omitempty"`
	// Result is the run's result, once it has ended.
	Result json.RawMessage `json:"result,omitempty"`
}

// Source is a workflow file and the files that it names.
type Source struct {
	// File is where it was read from, for messages.
	File string `json:"file"`
	// Text is the YAML.
	Text string `json:"text"`
	// Files are the files that the workflow names, by their slash-separated path
	// relative to the workflow's folder.
	Files map[string]string `json:"files,omitempty"`
}

// Visit is one node that a run finished.
type Visit struct {
	// Number counts from 1.
	Number int    `json:"number"`
	Node   string `json:"node"`
	// Skipped is whether the node's when said no.
	Skipped bool `json:"skipped,omitempty"`
	// Result is what the state holds at the node; nil if skipped.
	Result json.RawMessage `json:"result,omitempty"`
	// Next is the node that follows; "" is the end.
	Next string `json:"next,omitempty"`
	// Refers are the nodes that its calls read of the state, where those are recalls,
	// sorted, and Used the memories that its plugins said they used.
	Refers []string `json:"refers,omitempty"`
	Used   []string `json:"used,omitempty"`
}

// SessionID is the session that the run's recalls are turns of.
func (r *Run) SessionID() string {
	if r.Session == "" {
		return r.ID
	}
	return r.Session
}

// AttemptRecorder makes attempts durable. When a method returns nil, the record
// survives a crash.
type AttemptRecorder interface {
	// RecordOutput records an attempt that isn't judged yet.
	RecordOutput(ctx context.Context, a *Attempt) error
	// RecordVerdict records the attempt as judged.
	RecordVerdict(ctx context.Context, a *Attempt) error
}

// RunRecorder makes a run's progress durable.
type RunRecorder interface {
	// Attempts records the attempts of a visit.
	Attempts(visit int, node string) AttemptRecorder
	// RecordVisit records a finished node.
	RecordVisit(ctx context.Context, v *Visit) error
	// RecordEnd records the run's end: its status, stop reason, score,
	// iterations, usage and error. Its result is that of its recorded visits, see
	// [Results], and of open: the visit that ended it resumably and so isn't
	// recorded, nil if there is none.
	RecordEnd(ctx context.Context, r *Run, open *Visit) error
}

// Progress is what an interrupted run has recorded.
type Progress struct {
	// Visits are the finished nodes, in order.
	Visits []Visit
	// Attempts are those of the visit that was interrupted.
	Attempts []Attempt
	// Used is [Run.Open] as it was recorded.
	Used RunUsage
}
