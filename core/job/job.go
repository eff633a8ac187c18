package job

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// Type is the kind of work that a job does.
type Type string

// The types of jobs.
const (
	Reflection Type = "reflection"
	Revalidate Type = "revalidate"
	Dream      Type = "dream"
	Reembed    Type = "reembed"
	Compact    Type = "compact"
	Workflow   Type = "workflow"
)

// Types lists all types.
func Types() []Type { return []Type{Reflection, Revalidate, Dream, Reembed, Compact, Workflow} }

// Queued reports whether jobs of the type wait in their user's queue. One job of a queue
// runs at a time, and one job of the type may be active in each namespace. A workflow isn't
// queued like this, since its run orders its work.
func (t Type) Queued() bool { return t != Workflow }

// notifies reports whether the end of a job of the type gets a notification.
func (t Type) notifies() bool { return t == Reflection || t == Dream }

// Status is the stage of a job's life.
type Status string

// The statuses. The last three are terminal: they never change.
const (
	StatusQueued    Status = "queued"
	StatusRunning   Status = "running"
	StatusCompleted Status = "completed"
	StatusFailed    Status = "failed"
	StatusCancelled Status = "cancelled"
)

// Statuses lists all statuses.
func Statuses() []Status {
	return []Status{StatusQueued, StatusRunning, StatusCompleted, StatusFailed, StatusCancelled}
}

// Terminal reports whether a job of the status has ended.
func (s Status) Terminal() bool {
	return s == StatusCompleted || s == StatusFailed || s == StatusCancelled
}

// SystemUser is the user of jobs that no caller asked for, such as maintenance. Its jobs
// have a queue for each namespace.
const SystemUser = "system"

// The limits of a job's content.
const (
	// MaxPayloadBytes is the largest payload, and MaxWorkflowBytes the largest of a job of the type
	// [Workflow]: a workflow with the files of its messages, 27 MiB of base64, next to a state of up
	// to 8 MiB.
	MaxPayloadBytes  = 8 << 20
	MaxWorkflowBytes = 36 << 20
	// MaxResultBytes is the largest result.
	MaxResultBytes = 8 << 20
	// MaxSteps is how many steps a job may save, and MaxStepBytes their largest total size.
	MaxSteps     = 1000
	MaxStepBytes = 32 << 20
	// maxReasonBytes is the longest reason, and maxMessageBytes the longest message of a
	// failure that is kept; what is longer is shortened.
	maxReasonBytes  = 128
	maxMessageBytes = 500
)

// maxPayload is the largest payload of a job of the type.
func (t Type) maxPayload() int {
	if t == Workflow {
		return MaxWorkflowBytes
	}
	return MaxPayloadBytes
}

// Job is a piece of background work.
type Job struct {
	ID string `json:"id"`
	// UserID is the job's user, in the form of a memory's id. Namespace is what it works on.
	UserID    string `json:"user_id"`
	Namespace string `json:"namespace"`
	Type      Type   `json:"type"`
	Status    Status `json:"status"`
	// Payload is what the job was asked to do, and Result its outcome; the job's type
	// determines the form of both. Lists leave both out.
	Payload json.RawMessage `json:"payload,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	// Reason is a stable word for how it ended, such as "poisoned", or, while it waits again,
	// for why it went back. Message explains a failure, in at most 500 bytes.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Failure is the whole error of a job whose work failed; nil for another end. Lists
	// leave it out.
	Failure *Failure `json:"failure,omitempty"`
	// Attempts counts its starts, except starts that ended in a snooze, a shutdown or the end of the
	// process.
	Attempts int `json:"attempts"`
	// Snoozes counts how often it was postponed without an attempt.
	Snoozes int `json:"snoozes,omitempty"`
	// Progress is the progress of its attempt, from 0 to 1. It never falls within an attempt.
	Progress       float64 `json:"progress"`
	IdempotencyKey string  `json:"idempotency_key,omitempty"`
	// Forced is whether a caller asked for it without waiting for its triggers.
	Forced bool `json:"forced,omitempty"`
	// CancelRequested is whether a running job was asked to stop.
	CancelRequested bool      `json:"cancel_requested,omitempty"`
	QueuedAt        time.Time `json:"queued_at"`
	// StartedAt is when its newest attempt began; nil while it is queued. NotBefore is the
	// time until which it waits; nil if it may run.
	StartedAt   *time.Time `json:"started_at"`
	CompletedAt *time.Time `json:"completed_at"`
	NotBefore   *time.Time `json:"not_before,omitempty"`
	// Lease is the lease under which it runs; nil if it isn't running.
	Lease *Lease `json:"lease,omitempty"`
	// NotificationFailure is the reason why there is no notification about its end.
	NotificationFailure string `json:"notification_failure,omitempty"`
}

// Lease is the right to run a job. Each write of its holder is checked against it.
type Lease struct {
	// JobID is the job's id; "" within a [Job], which has its id itself.
	JobID string `json:"job_id,omitempty"`
	// Holder is the pool that runs the job, and Epoch is the number of this start of the job,
	// from 1.
	Holder string `json:"holder"`
	Epoch  uint64 `json:"epoch"`
	// Beat is the holder's newest sign of life; 0 if the store's lock shows that it is alive.
	Beat uint64 `json:"beat,omitempty"`
}

// Claimed is a job with its payload, as [Repository.Claim] gives it to a holder.
type Claimed struct {
	Job
	// Caller is the caller that asked for it, with its rights at that time.
	Caller core.Caller
	// Held is the job's lease.
	Held Lease

	suspect bool
}

// leaseLost is the error if the job no longer belongs to the writer. Nothing was written.
func leaseLost(l Lease) error {
	return sdk.Errorf(sdk.Conflict, LeaseLost, "job %s isn't held by %s in epoch %d any more", l.JobID, core.Cut(l.Holder), l.Epoch).
		WithHint("stop working on it: another worker has it, or it has ended").WithDetail("job_id", l.JobID)
}

// The reasons by which callers of this package branch.
const (
	// LeaseLost is the reason for refusing a write of a worker that lost its lease.
	LeaseLost = "lease_lost"
	// QueueFull is the reason for refusing a job that has no room in the queue.
	QueueFull = "queue_full"
	// RateLimited is the reason for refusing a forced job that comes too soon. The detail
	// "retry_after_seconds" is how long to wait.
	RateLimited = "rate_limited"
	// NotFound is the reason if a job doesn't exist.
	NotFound = "job_not_found"
	// Poisoned is the reason of a failed job whose process ended too often.
	Poisoned = "poisoned"
	// ProcessEnded is the reason of a job whose holder was lost.
	ProcessEnded = "process_ended"
	// Drained is the reason of a job that went back to its queue because its pool stopped.
	Drained = "drained"
	// MoreToDo is the reason of a job that went back to its queue because of [ErrAgain].
	MoreToDo = "more_to_do"
	// CancelledByRequest is the reason of a cancelled job if the request gave none.
	CancelledByRequest = "cancel_requested"
	// Done is the reason of a completed job if its handler gave none.
	Done = "done"
)

// Absent is the error for a job that doesn't exist.
func Absent(id string) error {
	return sdk.Errorf(sdk.NotFound, NotFound, "there is no job %q", core.Cut(id)).
		WithHint("list the jobs").WithAction("jobs list")
}

// validType and validStatus report whether a word from outside is a type or a status.
func validType(t Type) bool     { return slices.Contains(Types(), t) }
func validStatus(s Status) bool { return slices.Contains(Statuses(), s) }

// queueOf names the queue in which a job waits; "" for a job outside queues. No user's id
// contains a slash, so a user's queue is never one of the system's queues.
func queueOf(j *Job) string {
	switch {
	case !j.Type.Queued():
		return ""
	case j.UserID == SystemUser:
		return SystemUser + "/" + j.Namespace
	}
	return j.UserID
}

// Stream is the name of the stream in the journal that has a user's jobs.
func Stream(userID string) string { return streamPrefix + userID }

const streamPrefix = "job/"
