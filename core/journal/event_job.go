package journal

// JobRef is what all events of a job have in common.
type JobRef struct {
	JobID string `json:"job_id"`
	Type  string `json:"type"`
	// Attempt counts the job's starts, from 1; 0 if it never started.
	Attempt int `json:"attempt"`
	// LatencyMillis is how long the job was in the status that it leaves; 0 for a new
	// one.
	LatencyMillis float64 `json:"latency_ms"`
}

// JobQueued records that a job was made.
type JobQueued struct {
	JobRef
	Namespace string `json:"namespace"`
	// Forced is whether the job was requested without waiting for its triggers.
	Forced bool `json:"forced,omitempty"`
}

// JobStarted records that a worker took the job.
type JobStarted struct {
	JobRef
	// Epoch counts the starts, including those that didn't count as attempts in the end.
	Epoch uint64 `json:"epoch"`
}

// JobRetried records that a job went back to its queue, and why.
type JobRetried struct {
	JobRef
	Reason string `json:"reason"`
}

// JobCompleted records that a job did its work.
type JobCompleted struct {
	JobRef
	Reason string `json:"reason,omitempty"`
}

// JobFailed records that a job ended without doing its work.
type JobFailed struct {
	JobRef
	Reason string `json:"reason"`
}

// JobCancelled records that a job was ended by a request.
type JobCancelled struct {
	JobRef
	Reason string `json:"reason"`
}

func (JobQueued) eventType() string    { return "agent.job.queued" }
func (JobStarted) eventType() string   { return "agent.job.started" }
func (JobRetried) eventType() string   { return "agent.job.retried" }
func (JobCompleted) eventType() string { return "agent.job.completed" }
func (JobFailed) eventType() string    { return "agent.job.failed" }
func (JobCancelled) eventType() string { return "agent.job.cancelled" }

// jobEvents has one event of each type above, for the catalogue.
func jobEvents() []Event {
	return []Event{JobQueued{}, JobStarted{}, JobRetried{}, JobCompleted{}, JobFailed{}, JobCancelled{}}
}
