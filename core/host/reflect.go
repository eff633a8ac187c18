package host

import (
	"context"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/reflection"
	"github.com/reflectory/reflectory/sdk"
)

// ReflectAnswer is the outcome of a request to reflect.
type ReflectAnswer struct {
	// Job is the new job, or Active the job that the user already has; both are nil if nothing
	// was due.
	Job, Active *job.Job
	// ETA is the estimated time until the job has ended.
	ETA time.Duration
	// Reason is why nothing was due.
	Reason string
}

// Queue queues a job that reflects on a user's namespace, if a reflection is due or the
// request forces it. One transaction checks that it is due and that the user has no other
// reflection, and queues the job. If the user has forced too many, the error is
// sdk.Exhausted, reason [job.RateLimited]; if the queue is full, it is sdk.Exhausted,
// reason [job.QueueFull].
func (rs *Reflections) Queue(ctx context.Context, userID string, q reflection.Request) (*ReflectAnswer, error) {
	var answer ReflectAnswer
	err := rs.journal.Update(ctx, func(tx *journal.Tx) (err error) {
		answer = ReflectAnswer{}
		in := "" // a user has one reflection at a time
		if userID == job.SystemUser {
			in = q.Namespace
		}
		if answer.Active, err = rs.jobs.Active(tx, userID, job.Reflection, in); err != nil || answer.Active != nil {
			return err
		}
		if !q.Force {
			due, err := rs.due(tx, q.Namespace, tx.Now())
			if err != nil || !due.Due {
				if due != nil {
					answer.Reason = due.Reason
				}
				return err
			}
		}
		made, err := rs.jobs.EnqueueTx(ctx, tx, &job.Request{
			UserID: userID, Namespace: q.Namespace, Type: job.Reflection, Payload: jsontext.MustEncode(q), Forced: q.Force,
		})
		if err != nil {
			return err
		}
		answer.Job = &made.Job
		answer.ETA, err = job.ETA(tx, made.ID)
		return err
	})
	if err != nil {
		return nil, sdk.Wrap("reflect on "+q.Namespace, err)
	}
	if answer.Job != nil {
		rs.jobs.Wake(job.Stream(userID), journal.Entry{})
	}
	return &answer, nil
}

// due reads whether a namespace is to be reflected on.
func (rs *Reflections) due(r core.Reader, namespace string, now time.Time) (*reflection.Due, error) {
	g, err := rs.governance.Resolve(r, namespace)
	if err != nil {
		return nil, err
	}
	return reflection.ReadDue(r, namespace, g, now)
}

// ReflectionState is the state of a namespace between two reflections.
type ReflectionState struct {
	Due        *reflection.Due
	Thresholds core.ReflectionThresholds
	reflection.State
}

// State reads the state of a namespace between two reflections.
func (rs *Reflections) State(ctx context.Context, namespace string) (*ReflectionState, error) {
	var s ReflectionState
	err := rs.journal.Store.View(ctx, func(r core.Reader) error {
		g, err := rs.governance.Resolve(r, namespace)
		if err != nil {
			return err
		}
		s.Thresholds = g.Reflection
		if s.Due, err = reflection.ReadDue(r, namespace, g, rs.config.Clock.Now()); err != nil {
			return err
		}
		s.State, err = reflection.ReadState(r, namespace)
		return err
	})
	return &s, sdk.Wrap("read the reflections of "+namespace, err)
}
