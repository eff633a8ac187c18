package host

import (
	"cmp"
	"context"
	"time"

	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/sdk"
)

// dreamTick is how often a server checks whether a pass of housekeeping is due somewhere.
const dreamTick = 10 * time.Minute

// DreamRequest fills in from the settings what a request leaves out. judge is the name of the
// evaluator that judges; "" is the evaluator in the settings, if there is one.
func (h *Host) DreamRequest(q memory.DreamRequest, judge string) (memory.DreamRequest, error) {
	q.Options = q.Options.Or(h.config.Settings.Dream())
	if judge = cmp.Or(judge, h.config.Settings.DreamJudge.Value); judge == "" {
		return q, nil
	}
	var err error
	q.Judge, err = h.pairJudge(q.Namespace, judge)
	return q, err
}

// StartDreams checks every ten minutes whether a pass is due in a namespace, and queues a
// job for it, until stop is called. Errors become notices.
func (h *Host) StartDreams() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(dreamTick)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			if err := h.QueueDreams(ctx); err != nil && ctx.Err() == nil {
				h.warn(sdk.Wrap("look for passes that are due", err))
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// QueueDreams queues a job for each namespace in which a coordinated pass is due.
func (h *Host) QueueDreams(ctx context.Context) error {
	namespaces, err := h.Memories.Namespaces(ctx)
	if err != nil {
		return err
	}
	for i := range namespaces {
		namespace := namespaces[i].Namespace
		due, err := h.Memories.DreamDue(ctx, namespace)
		if err == nil && due {
			_, err = h.Jobs.Enqueue(ctx, &job.Request{UserID: job.SystemUser, Namespace: namespace, Type: job.Dream})
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

// Dream does the work of a job for a pass that is due. It can write only while it has the
// job's lease.
func (h *Host) Dream(ctx context.Context, j *job.Running) (*memory.DreamReport, error) {
	q, err := h.DreamRequest(memory.DreamRequest{Namespace: j.Namespace}, "")
	if err != nil {
		return nil, err
	}
	return h.Memories.On(j.Store()).Dream(ctx, q, func(done, total int) {
		j.Progress(float64(done) / float64(total))
	})
}
