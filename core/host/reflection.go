package host

import (
	"context"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/governance"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/reflection"
	"github.com/reflectory/reflectory/sdk"
)

// Reflections reflect on what was observed in a namespace.
type Reflections struct {
	config     *Config
	journal    *journal.Writer
	governance *governance.Governor
	jobs       *job.Repository
	plugins    *Plugins
	memories   *memory.Memories
}

// triggers queue reflections when enough was observed, in the observation's own commit.
func (rs *Reflections) triggers() *reflection.Triggers {
	return &reflection.Triggers{
		Queue: reflectionQueue{rs.jobs}, Ready: rs.CanReflect, Debounce: rs.config.Settings.Reflection().Debounce,
	}
}

// CanReflect reports whether the settings name a generator of insights: a model, a plugin
// or a script.
func (rs *Reflections) CanReflect() bool {
	s := rs.config.Settings
	return s.LLM() != nil || s.ReflectionGenerator.Value != "" || s.ReflectionScript.Value != ""
}

// ReflectionUser is the user of a namespace's reflection jobs: for users/USER that user,
// otherwise the system.
func ReflectionUser(namespace string) string {
	if user := reflection.UserOf(namespace); user != "" {
		return user
	}
	return job.SystemUser
}

// reflectionQueue queues reflections as jobs.
type reflectionQueue struct{ jobs *job.Repository }

// Queue implements [reflection.Queue]. An observation doesn't fail if the queue is full.
func (q reflectionQueue) Queue(ctx context.Context, tx core.Tx, namespace string, notBefore time.Time) (string, error) {
	made, err := q.jobs.EnqueueTx(ctx, tx, &job.Request{
		UserID: ReflectionUser(namespace), Namespace: namespace, Type: job.Reflection,
		Payload: jsontext.MustEncode(reflection.Request{Namespace: namespace}), NotBefore: notBefore,
	})
	switch {
	case sdk.ReasonOf(err) == job.QueueFull:
		return "", nil
	case err != nil || !made.Made:
		return "", err
	}
	return made.ID, nil
}

// Postpone implements [reflection.Queue].
func (q reflectionQueue) Postpone(ctx context.Context, tx core.Tx, id string, until, latest time.Time) error {
	_, err := q.jobs.PostponeTx(ctx, tx, id, until, latest)
	if sdk.ReasonOf(err) == job.NotFound {
		return nil
	}
	return err
}
