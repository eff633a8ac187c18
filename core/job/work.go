package job

import (
	"context"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// Idle is what is left in the queue when nothing more can run.
type Idle struct {
	// Queued is how many jobs still wait: jobs that are postponed, such as retried jobs; jobs behind
	// such a job of their user; and jobs for which the pool has no handler.
	Queued int
	// Next is when the first postponed job may run; zero if there is none.
	Next time.Time
}

// RunUntilIdle starts the pool, runs jobs until none runs and none may run now, and stops it. It
// works on the queue without a server, and doesn't wait for postponed jobs. If ctx ends, it stops
// the pool as [Pool.Stop] does, and returns ctx's error.
func (p *Pool) RunUntilIdle(ctx context.Context) (left Idle, err error) {
	err = p.runWhile(ctx, func() error {
		select {
		case <-p.idle:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	if err != nil {
		return Idle{}, err
	}
	counts, err := p.jobs.Counts(ctx)
	if err != nil {
		return Idle{}, err
	}
	for _, n := range counts {
		left.Queued += n.Queued
	}
	left.Next, err = p.jobs.NextDue(ctx)
	return left, err
}

// RunJob is RunUntilIdle for one job: it works on the queue until the job has ended, and
// returns the job with its result. If the job is tried again later, it waits.
func (p *Pool) RunJob(ctx context.Context, id string) (*Job, error) {
	err := p.runWhile(ctx, func() error { return await(ctx, p.jobs, id, p.options.Poll) })
	if err != nil {
		return nil, sdk.Wrap("work on job "+core.Cut(id), err)
	}
	return p.jobs.Get(ctx, id)
}

// awaitPoll is how often [Repository.Await] looks for an end of which it isn't notified, on a store
// that several processes have open.
const awaitPoll = time.Second

// Await waits until a job has ended. If ctx ends first, it returns ctx's error.
func (r *Repository) Await(ctx context.Context, id string) error { return await(ctx, r, id, awaitPoll) }

// await is [Repository.Await] with how often it looks.
func await(ctx context.Context, r *Repository, id string, every time.Duration) error {
	changed, unlisten := r.listeners.listen()
	defer unlisten()
	poll := time.NewTicker(every)
	defer poll.Stop()
	for {
		j, err := r.Peek(ctx, id)
		if err != nil || j.Status.Terminal() {
			return err
		}
		select {
		case <-changed:
		case <-poll.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// runWhile runs the pool until wait returns.
func (p *Pool) runWhile(ctx context.Context, wait func() error) error {
	if err := p.Start(ctx); err != nil {
		return err
	}
	err := wait()
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*p.options.Grace)
	defer cancel()
	return core.JoinErrors(err, p.Stop(stopping))
}
