package host

import (
	"context"
	"encoding/json"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/sdk"
)

// sweepEvery is how many turns of a namespace are between two sweeps. A sweep also judges
// memories on which there is no feedback.
const sweepEvery = 100

// Workers do the background work of a host.
type Workers struct {
	config     *Config
	membership *Membership
	jobs       *job.Repository
	memories   *memory.Memories

	pools    atomic.Int64 // that were made
	progress progress
	sweeps   sweeps
}

// newJobs makes the queue.
func (w *Workers) newJobs(to *journal.Writer, sole bool) (*job.Repository, error) {
	o := job.Options{Exclusive: sole, Purged: memory.Purged, Notify: w.notify, Progressed: w.progress.report, Mark: markOfRun}
	if w.config.shared() {
		o.Time = store.Time
	}
	return job.New(to, w.config.IDs, o)
}

// markOfRun is how far the run of a job is.
func markOfRun(r core.Reader, payload json.RawMessage) (string, error) {
	var of struct {
		RunID string `json:"run_id"`
	}
	if json.Unmarshal(payload, &of) != nil || of.RunID == "" {
		return "", nil // the job has none, or its request was purged
	}
	return run.Mark(r, of.RunID)
}

// NewPool makes a pool of workers for the host's jobs, with a handler for each type. The
// pool isn't started, and must be stopped before the host is closed. Errors in the
// background become notices.
func (w *Workers) NewPool(handlers map[job.Type]job.Handler) (*job.Pool, error) {
	holder := (&core.SystemIDs{}).NewID() // not the host's IDs, which tests count
	if w.pools.Add(1) == 1 {
		holder = w.membership.id // so that a list of hosts shows which host has a job
	}
	if w.config.shared() {
		handlers = maps.Clone(handlers)
		for t, work := range handlers {
			handlers[t] = putBack(work)
		}
	}
	limits := w.config.Settings.Limits()
	o := job.PoolOptions{
		Holder: holder, Runs: int(limits.Runs), RunsPerUser: int(limits.RunsPerUser), RunsPerNamespace: int(limits.RunsPerNamespace),
		Handlers: handlers, Report: func(err error) { w.config.warn(sdk.Wrap("work on jobs", err)) },
	}
	if w.config.shared() { // otherwise no job is taken from a live process
		o.BeatEvery, o.LostAfter, o.Poll, o.Divide = w.config.GoneAfter/5, w.config.GoneAfter, w.config.GoneAfter/5, true
		o.Fence = func(ctx context.Context, holds func(core.Reader) error) context.Context {
			return store.WithFence(ctx, holds)
		}
	}
	return job.NewPool(w.jobs, o)
}

// putBack makes a job go back to its queue if this host may not write where the job works: the
// tenant is being moved, or another host has another map of tenants, and can do it.
func putBack(work job.Handler) job.Handler {
	return job.HandlerFunc(func(ctx context.Context, j *job.Running) (*job.Outcome, error) {
		out, err := work.Run(ctx, j)
		if reason := sdk.ReasonOf(err); reason == TenantsApart || reason == store.TenantElsewhere || reason == store.TenantMoving {
			err = &job.SnoozeError{Err: err}
		}
		return out, err
	})
}

// JobsOfServers is the reason for refusing a command that would work on jobs that only
// servers may work on.
const JobsOfServers = "jobs_of_servers"

// CommandPool is [Workers.NewPool] for a command that isn't a server. If hosts share the store,
// only hosts with a beat work on jobs, so that the other hosts see when such a host is gone.
// The error is then sdk.Incompatible, reason [JobsOfServers].
func (w *Workers) CommandPool(handlers map[job.Type]job.Handler) (*job.Pool, error) {
	if w.config.shared() && w.membership.joined.Load() == nil {
		return nil, sdk.Errorf(sdk.Incompatible, JobsOfServers, "the servers that share this store work on its jobs, and a command doesn't").
			WithHint("start a server on this store, or look at who works").WithAction("hosts list")
	}
	return w.NewPool(handlers)
}

// notify leaves a notification of a job's end in its namespace: what ended and how, with no
// content. Because of its idempotency key there is only one for a job.
func (w *Workers) notify(tx *journal.Tx, n job.Notification) error {
	none := 0.0
	about := map[string]any{"job_id": n.ID, "type": n.Type, "status": n.Status}
	if n.Type == job.Reflection {
		if err := reflectionEnded(tx, &n.Job, about); err != nil {
			return err
		}
	}
	return w.memories.ObserveTx(tx, &core.ObserveRequest{
		Namespace: n.Namespace, Kind: core.KindNotification, Title: n.Title, Content: n.Title + " (job " + n.ID + ")",
		Attributes: core.Attributes{Importance: &none, Metadata: jsontext.MustEncode(about)}, IdempotencyKey: "job/" + n.ID + "/end",
	})
}

// turned queues the jobs that a feedback makes due, in the feedback's own transaction: the
// gate for memories that wait for it, and a sweep.
func (w *Workers) turned(ctx context.Context, tx core.Tx, namespace string, turn int64, waiting bool) error {
	if !waiting && turn%sweepEvery != 0 {
		return nil
	}
	_, err := w.jobs.EnqueueTx(ctx, tx, &job.Request{UserID: job.SystemUser, Namespace: namespace, Type: job.Revalidate})
	if sdk.ReasonOf(err) == job.QueueFull {
		return nil // the memories keep waiting for the next feedback or sweep
	}
	return err
}

// Revalidate lets the gate decide on all memories of a namespace that wait for it. If this
// host's last sweep of the namespace is a hundred turns ago, it sweeps first. If there is an
// error, the result is what was done until then.
func (w *Workers) Revalidate(ctx context.Context, namespace string) (*memory.SweepResult, error) {
	turn, err := w.memories.Sessions.Turn(ctx, namespace)
	if err != nil {
		return nil, err
	}
	if !w.sweeps.due(namespace, turn) {
		return w.memories.Gate.Waiting(ctx, namespace)
	}
	result, err := w.memories.Gate.Sweep(ctx, namespace, nil)
	if err == nil {
		w.sweeps.done(namespace, turn)
	}
	return result, err
}

// sweeps are the turns at which namespaces were last swept. A new host knows none, and
// sweeps a namespace once more.
type sweeps struct {
	mu   sync.Mutex
	last map[string]int64
}

func (s *sweeps) due(namespace string, turn int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return turn-s.last[namespace] >= sweepEvery
}

func (s *sweeps) done(namespace string, turn int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil {
		s.last = map[string]int64{}
	}
	s.last[namespace] = turn
}

// progress passes on the progress of jobs. A follower never delays a job: a slow follower
// gets only the newest value.
type progress struct {
	mu        sync.Mutex
	followers map[string]map[chan float64]bool // by the job
}

// report is job.Options.Progressed.
func (p *progress) report(jobID string, to float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for follower := range p.followers[jobID] {
		select {
		case <-follower: // drop the value that it hasn't received yet
		default:
		}
		follower <- to
	}
}

// FollowProgress returns a channel with the progress, from 0 to 1, of a job that runs on
// this host, until stop is called.
func (w *Workers) FollowProgress(jobID string) (heard <-chan float64, stop func()) {
	p, follower := &w.progress, make(chan float64, 1)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.followers == nil {
		p.followers = map[string]map[chan float64]bool{}
	}
	if p.followers[jobID] == nil {
		p.followers[jobID] = map[chan float64]bool{}
	}
	p.followers[jobID][follower] = true
	return follower, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.followers[jobID], follower)
		maps.DeleteFunc(p.followers, func(_ string, f map[chan float64]bool) bool { return len(f) == 0 })
	}
}
