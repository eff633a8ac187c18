package operation

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/reflection"
)

// ReflectionStats are the waiting and running reflections, the last completed one, and when
// the next one is due.
type ReflectionStats struct {
	// PendingJobs and RunningJobs count the jobs that the caller may see.
	PendingJobs int `json:"pending_jobs"`
	RunningJobs int `json:"running_jobs"`
	// LastCompletedJob is the last completed reflection; null before the first one.
	LastCompletedJob *ReflectionCompleted `json:"last_completed_job"`
	// Triggers are the triggers of the requested namespace, or of the configured one; null if
	// the caller doesn't reach that namespace.
	Triggers *ReflectionTriggers `json:"triggers"`
}

// ReflectionCompleted is a completed reflection in short.
type ReflectionCompleted struct {
	JobID           string     `json:"job_id"`
	CompletedAt     *time.Time `json:"completed_at"`
	InsightsCreated int        `json:"insights_created"`
}

// ReflectionTriggers are what was observed in a namespace since its last reflection, and the
// thresholds.
type ReflectionTriggers struct {
	Namespace string `json:"namespace"`
	reflection.Due
	Thresholds ReflectionThresholds `json:"thresholds"`
	// RestUntil is the time until which observations queue nothing, after failed reflections.
	RestUntil *time.Time `json:"rest_until,omitempty"`
}

// ReflectionThresholds are the thresholds in the namespace's governance; 0 is never.
type ReflectionThresholds struct {
	Importance   float64 `json:"importance"`
	Observations float64 `json:"observations"`
	Hours        float64 `json:"hours"`
}

// reflectionStats counts reflections.
func (c *Call) reflectionStats(ctx context.Context, in *StatsGet) (*ReflectionStats, error) {
	s := &ReflectionStats{}
	filter := job.ListFilter{UserID: in.UserID, Type: job.Reflection, Limit: MaxLimit, May: func(userID, namespace string) bool {
		return in.countsIn(namespace) && c.sees(userID, namespace)
	}}
	for {
		jobs, next, err := c.Host.Jobs.List(ctx, filter)
		if err != nil {
			return nil, err
		}
		for i := range jobs {
			if err := count(ctx, c, s, &jobs[i]); err != nil {
				return nil, err
			}
		}
		if filter.After = next; next == "" {
			break
		}
	}
	namespace := cmp.Or(in.Namespace, c.Host.Config.Settings.Namespace.Value)
	if !c.reaches(namespace) {
		return s, nil
	}
	state, err := c.Host.Reflections.State(ctx, namespace)
	if err != nil {
		return nil, err
	}
	s.Triggers = &ReflectionTriggers{
		Namespace: namespace, Due: *state.Due, Thresholds: ReflectionThresholds(state.Thresholds), RestUntil: state.RestUntil,
	}
	return s, nil
}

// count adds a job. The newest jobs are added first.
func count(ctx context.Context, c *Call, s *ReflectionStats, j *job.Job) error {
	switch j.Status {
	case job.StatusQueued:
		s.PendingJobs++
	case job.StatusRunning:
		s.RunningJobs++
	case job.StatusCompleted:
		if last := s.LastCompletedJob; last != nil && !j.CompletedAt.After(*last.CompletedAt) {
			return nil
		}
		whole, err := c.Host.Jobs.Get(ctx, j.ID)
		if err != nil {
			return err
		}
		var r reflection.Result
		if bytes.HasPrefix(whole.Result, []byte("{")) { // otherwise it was purged
			err = json.Unmarshal(whole.Result, &r)
		}
		s.LastCompletedJob = &ReflectionCompleted{j.ID, j.CompletedAt, r.InsightsCreated}
		return err
	}
	return nil
}
