package run

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
)

// runRecord is a run's record without its content. It is small, because recording an
// attempt rewrites it.
type runRecord struct {
	ID         string          `json:"id"`
	Workflow   string          `json:"workflow"`
	Namespace  string          `json:"namespace,omitempty"`
	Session    string          `json:"session,omitempty"`
	Parent     string          `json:"parent,omitempty"`
	File       string          `json:"file"`
	Status     core.Status     `json:"status"`
	StopReason core.StopReason `json:"stop_reason,omitempty"`
	// ExhaustedLoops is the field of core.Run. Runs of earlier stores don't have it.
	ExhaustedLoops []string      `json:"exhausted_loops,omitempty"`
	Score          float64       `json:"score"`
	Iterations     int           `json:"iterations"`
	StartedAt      time.Time     `json:"started_at"`
	UpdatedAt      time.Time     `json:"updated_at"`
	Usage          core.RunUsage `json:"usage"`
	// Recalled and Used are the fields of core.Run.
	Recalled int64 `json:"recalled,omitempty"`
	Used     int64 `json:"used,omitempty"`
	// Counted is whether the run is in the counts by hour.
	Counted bool `json:"counted,omitempty"`
	// Epoch counts the run's holders, from 1. Only the recorder of the newest epoch may
	// write.
	Epoch int `json:"epoch"`
	// Visits is how many nodes are finished.
	Visits int `json:"visits"`
	// Memories is whether a result of its visits holds memories.
	Memories bool `json:"memories,omitempty"`
	// Last is the newest attempt of visit Visits+1, if that has one.
	Last lastAttempt `json:"last,omitzero"`
	// Open is core.Run.Open: what the loop of that visit had consumed when the run
	// ended.
	Open core.RunUsage `json:"open,omitzero"`
}

// lastAttempt is the progress of the loop of the open visit.
type lastAttempt struct {
	Node      string `json:"node"`
	Iteration int    `json:"iteration"`
	Judged    bool   `json:"judged"`
}

// runContent is what a run starts with, which never changes.
type runContent struct {
	Source core.Source     `json:"source"`
	State  json.RawMessage `json:"state"`
}

// runResult is how a run ended. The run's result is made from its visits.
type runResult struct {
	Error *core.ErrorInfo `json:"error,omitempty"`
	// Open is the unfinished visit at which the run ended, if the run can be resumed.
	Open *core.Visit `json:"open,omitempty"`
	// Result is the whole result, in records that are older than Open.
	Result json.RawMessage `json:"result,omitempty"`
}

// attemptRecord is an attempt and the node whose loop made it.
type attemptRecord struct {
	Node    string       `json:"node"`
	Attempt core.Attempt `json:"attempt"`
}

// resumable reports whether the run can be resumed: not a request for a model, whose client is gone.
func (r *runRecord) resumable() bool {
	return r.Status.Resumable() && !strings.HasPrefix(r.Workflow, core.RequestPrefix)
}

// run is the record as a core.Run, without content.
func (r *runRecord) run() core.Run {
	return core.Run{
		ID: r.ID, Workflow: r.Workflow, Namespace: r.Namespace, Session: r.Session, Parent: r.Parent, Source: core.Source{File: r.File},
		Status: r.Status, StopReason: r.StopReason, ExhaustedLoops: r.ExhaustedLoops, Score: r.Score, Iterations: r.Iterations,
		StartedAt: r.StartedAt, UpdatedAt: r.UpdatedAt, Usage: r.Usage, Recalled: r.Recalled, Used: r.Used, Open: r.Open,
	}
}
