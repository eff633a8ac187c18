package host

import (
	"cmp"
	"context"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/sdk"
)

// dreamTick is how often a server checks whether a pass of housekeeping is due somewhere.
const dreamTick = 10 * time.Minute

// Dreams do the housekeeping of memories, and measure the models that it compares them with.
type Dreams struct {
	config      *Config
	databases   *Databases
	embedder    core.Embedder
	memories    *memory.Memories
	jobs        *job.Repository
	reflections *Reflections
}

// Request fills in from the settings what a request leaves out. judge is the name of the
// evaluator that judges; "" is the evaluator in the settings, if there is one.
func (d *Dreams) Request(q memory.DreamRequest, judge string) (memory.DreamRequest, error) {
	q.Options = q.Options.Or(d.config.Settings.Dream())
	if judge = cmp.Or(judge, d.config.Settings.DreamJudge.Value); judge == "" {
		return q, nil
	}
	var err error
	q.Judge, err = d.reflections.judge(q.Namespace, judge)
	return q, err
}

// Start checks every ten minutes whether a pass is due in a namespace, and queues a
// job for it, until stop is called. Errors become notices.
func (d *Dreams) Start() (stop func()) {
	return every(dreamTick, func(ctx context.Context) {
		if err := d.Queue(ctx); err != nil && ctx.Err() == nil {
			d.config.warn(sdk.Wrap("look for passes that are due", err))
		}
	})
}

// Queue queues a job for each namespace in which a coordinated pass is due.
func (d *Dreams) Queue(ctx context.Context) error {
	namespaces, err := d.memories.Namespaces(ctx)
	if err != nil {
		return err
	}
	for i := range namespaces {
		namespace := namespaces[i].Namespace
		due, err := d.memories.Dreams.Due(ctx, namespace)
		if err == nil && due {
			_, err = d.jobs.Enqueue(ctx, &job.Request{UserID: job.SystemUser, Namespace: namespace, Type: job.Dream})
		}
		switch sdk.ReasonOf(err) {
		case job.QueueFull:
			return nil // the next check queues it
		case store.TenantMoving, store.TenantElsewhere:
			continue // it is queued where the tenant is then
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Run does the work of a job for a pass that is due. It can write only while it has the
// job's lease.
func (d *Dreams) Run(ctx context.Context, j *job.Running) (*memory.DreamReport, error) {
	q, err := d.Request(memory.DreamRequest{Namespace: j.Namespace}, "")
	if err != nil {
		return nil, err
	}
	return d.memories.On(j.Store()).Dreams.Run(ctx, q, func(done, total int) {
		j.Progress(float64(done) / float64(total))
	})
}
