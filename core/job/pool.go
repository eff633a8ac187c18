package job

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/share"
	"github.com/reflectory/reflectory/core/table"
	"github.com/reflectory/reflectory/sdk"
)

// PoolOptions determine what a [Pool] runs, and how much at once. A zero field means its
// default.
type PoolOptions struct {
	// Handlers do the work, by type. Jobs of other types aren't taken.
	Handlers map[Type]Handler
	// Workers is how many jobs other than workflows run at once, and Runs how many workflows run
	// at once. Defaults 2, since maintenance shares the processor with work that people wait
	// for, and 32.
	Workers, Runs int
	// RunsPerUser and RunsPerNamespace are how many of the workflows may be one user's, and in one
	// namespace. 0 is no limit.
	RunsPerUser, RunsPerNamespace int
	// PerType is how many jobs of a type run at once, within Workers. Default 1 for dream,
	// reembed and compact, which are heavy, and no separate bound for the other types.
	PerType map[Type]int
	// Grace is how long running jobs have to end when the pool stops, and how long a handler has
	// to return when its job was cancelled. Default 10 s.
	Grace time.Duration
	// BeatEvery is how often the pool shows that it is alive, and LostAfter how long it waits
	// for a beat of another pool before it takes that pool's jobs. Defaults 2 s and 10 s.
	// Neither is used on a store that only one process at a time can have open.
	BeatEvery, LostAfter time.Duration
	// Poll is how often the pool looks for changes of which it isn't notified, such as jobs
	// that another process queued or cancelled. Default 1 s.
	Poll time.Duration
	// Divide divides the jobs of the store by their users: see [Repository.Divide].
	Divide bool
	// RetainEvery is how often jobs that are no longer kept are removed. Default 1 h.
	RetainEvery time.Duration
	// Holder names the pool in leases. No two pools may have the same name, even after a
	// restart. Default a new id.
	Holder string
	// Fence returns a context in which every write first reads the job's lease, even a write by
	// a part that knows nothing about jobs. If it is nil, only writes through the job itself are
	// fenced.
	Fence func(ctx context.Context, holds func(core.Reader) error) context.Context
	// Report is called with errors of the background work. It must be safe for concurrent use and
	// return soon. Nil drops it.
	Report func(error)
}

// tenantLasts is how long a tenant whose job began or ended keeps its claim on half of the workers: a
// job can take minutes, so a tenant that comes every few seconds would otherwise find all workers
// taken each time.
const tenantLasts = 10 * time.Second

// defaultLost is how long a holder may be without a new beat.
const defaultLost = 10 * time.Second

// withDefaults sets what is zero.
func (o PoolOptions) withDefaults() PoolOptions {
	if o.Workers == 0 {
		o.Workers = 2
	}
	if o.Runs == 0 {
		o.Runs = 32
	}
	perType := map[Type]int{Dream: 1, Reembed: 1, Compact: 1}
	for t, n := range o.PerType {
		perType[t] = n
	}
	o.PerType = perType
	for field, value := range map[*time.Duration]time.Duration{
		&o.Grace: 10 * time.Second, &o.BeatEvery: 2 * time.Second, &o.LostAfter: defaultLost, &o.Poll: time.Second, &o.RetainEvery: time.Hour,
	} {
		if *field == 0 {
			*field = value
		}
	}
	if o.Report == nil {
		o.Report = func(error) {}
	}
	return o
}

// Validate reports all that is wrong with the options in one error: sdk.Invalid, reason
// "job_options_invalid".
func (o PoolOptions) Validate() error {
	var problems []string
	if o.Workers < 0 || o.Workers > 1000 || o.Runs < 0 || o.Runs > 1000 {
		problems = append(problems, fmt.Sprintf("%d workers and %d runs: each is from 1 to 1000", o.Workers, o.Runs))
	}
	if o.RunsPerUser < 0 || o.RunsPerNamespace < 0 {
		problems = append(problems, fmt.Sprintf("%d runs of a user and %d in a namespace: neither is below 0", o.RunsPerUser, o.RunsPerNamespace))
	}
	for t, n := range o.PerType {
		if !validType(t) || n < 1 {
			problems = append(problems, fmt.Sprintf("%d jobs of type %q at once", n, core.Cut(string(t))))
		}
	}
	for t, h := range o.Handlers {
		if !validType(t) || h == nil {
			problems = append(problems, fmt.Sprintf("no handler is given for type %q, or there is no such type", core.Cut(string(t))))
		}
	}
	for _, d := range []time.Duration{o.Grace, o.BeatEvery, o.LostAfter, o.Poll, o.RetainEvery} {
		if d < 0 {
			problems = append(problems, fmt.Sprintf("a time is %s, below 0", d))
		}
	}
	if o.Holder != "" && !validID(o.Holder) {
		problems = append(problems, fmt.Sprintf("holder %q isn't 1 to %d letters, digits, dashes, dots and underscores", core.Cut(o.Holder), maxIDBytes))
	}
	return optionProblems(problems)
}

// Pool runs jobs. One goroutine claims them, and each job runs in its own goroutine. Another
// goroutine maintains the leases, and another removes old jobs. It is safe for concurrent
// use.
type Pool struct {
	jobs    *Repository
	options PoolOptions
	// shares divide the workers among tenants: those for queued types, and those for workflows.
	shares map[bool]*share.Share

	mu      sync.Mutex
	started bool
	stopped bool
	running map[*Running]bool
	// stopClaiming ends the claiming, and stopKeeping the keeping of leases.
	stopClaiming, stopKeeping context.CancelFunc
	unregister                func()
	claiming, keeping, work   sync.WaitGroup
	// changed is signalled when a job may run, ended when a job was settled, and idle when no
	// job was running and none could run.
	changed     <-chan struct{}
	unlisten    func()
	ended, idle chan struct{}
	// phase lets only one Start or Stop run at a time, and guards the progress of Stop. mu
	// guards drained too, for readers.
	phase           sync.Mutex
	drained, closed bool
	// beaten is when the last beat was written, and seen has the beats of other pools. mu guards
	// beaten; only the goroutine that maintains the leases uses seen.
	beaten time.Time
	seen   map[string]sighting
	// watched is when the pool last looked at other pools' beats.
	watched time.Time
}

// sighting is a holder's newest beat, and when this process saw it first, by its monotonic
// clock.
type sighting struct {
	beat uint64
	at   time.Time
}

// NewPool returns a pool that hasn't started.
func NewPool(r *Repository, o PoolOptions) (*Pool, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.Holder == "" {
		o.Holder = r.ids.NewID()
	}
	o = o.withDefaults()
	return &Pool{
		jobs: r, options: o, running: map[*Running]bool{}, seen: map[string]sighting{},
		ended: make(chan struct{}, 1), idle: make(chan struct{}, 1),
		shares: map[bool]*share.Share{
			true:  share.New(share.Options{Places: int64(o.Workers), Lasts: tenantLasts}),
			false: share.New(share.Options{Places: int64(o.Runs), Lasts: tenantLasts}),
		},
	}, nil
}

// Start takes over the jobs of ended processes and begins to run jobs. The context limits
// only the start: [Pool.Stop] ends the pool. A pool that was started or stopped can't be
// started again: sdk.Conflict, reason "pool_started".
func (p *Pool) Start(ctx context.Context) error {
	p.phase.Lock() // a Stop that is called meanwhile then stops what was started
	defer p.phase.Unlock()
	p.mu.Lock()
	if p.started || p.stopped {
		p.mu.Unlock()
		return sdk.Errorf(sdk.Conflict, "pool_started", "the pool was started or stopped before")
	}
	p.started = true
	p.mu.Unlock()
	p.unregister = p.jobs.register(p.options.Holder)
	err := p.begin(ctx)
	if err != nil {
		p.unregister()
		p.mu.Lock()
		p.stopped = true
		p.mu.Unlock()
		return sdk.Wrap("start to work on jobs", err)
	}
	p.changed, p.unlisten = p.jobs.listeners.listen()
	base := context.WithoutCancel(ctx)
	claiming, stopClaiming := context.WithCancel(base)
	keeping, stopKeeping := context.WithCancel(base)
	p.mu.Lock()
	p.stopClaiming, p.stopKeeping = stopClaiming, stopKeeping
	p.mu.Unlock()
	p.claiming.Go(func() { p.claim(claiming, base) })
	p.keeping.Go(func() { p.keep(keeping) })
	p.keeping.Go(func() { p.retain(keeping) })
	return nil
}

// begin writes the first beat and takes over free jobs.
func (p *Pool) begin(ctx context.Context) error {
	if p.options.Divide {
		if err := p.jobs.Divide(ctx); err != nil {
			return err
		}
	}
	if !p.jobs.options.Exclusive {
		if err := p.jobs.Beat(ctx, p.options.Holder); err != nil {
			return err
		}
		p.setBeaten(time.Now())
		return nil
	}
	_, err := p.jobs.Recover(ctx)
	return err
}

// Started reports whether the pool runs jobs.
func (p *Pool) Started() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.started && !p.stopped
}

// Running returns the ids of the jobs that the pool runs, sorted.
func (p *Pool) Running() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	ids := make([]string, 0, len(p.running))
	for j := range p.running {
		ids = append(ids, j.ID)
	}
	slices.Sort(ids)
	return ids
}

// claim starts jobs until its context ends. base is the jobs' own context.
func (p *Pool) claim(ctx, base context.Context) {
	for {
		busy := len(p.Running()) > 0 // a job that ends meanwhile may let another job of its user run
		if found := p.fill(ctx, base); !found && !busy {
			signal(p.idle)
		}
		timer := time.NewTimer(p.pause(ctx))
		select {
		case <-ctx.Done():
		case <-p.changed:
		case <-timer.C:
		}
		timer.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

// signal sends to a channel with a buffer of one, unless it is full.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// fill starts jobs while there are free workers, and reports whether it started one or had to
// stop looking.
func (p *Pool) fill(ctx, base context.Context) (found bool) {
	for ctx.Err() == nil {
		types := p.free()
		if len(types) == 0 || p.silent() {
			return true
		}
		claimed, err := p.jobs.claim(ctx, p.options.Holder, types, standing{p.crowded, p.full(), p.suspect()})
		if err != nil {
			p.report(ctx, err)
		}
		if claimed == nil {
			return found || err != nil
		}
		found = true
		p.run(base, claimed)
	}
	return true
}

// pause is how long the pool sleeps unless it is woken: until a waiting job's time, but short
// enough to notice jobs that other processes queued.
func (p *Pool) pause(ctx context.Context) time.Duration {
	due, known := p.jobs.known.dueSoon()
	var err error
	if !known {
		due, err = p.jobs.NextDue(ctx)
	}
	if err != nil || due.IsZero() || len(p.free()) == 0 {
		return p.options.Poll
	}
	return max(time.Millisecond, min(p.options.Poll, due.Sub(p.jobs.clock.Now())))
}

// run lets a handler work on a job in its own goroutine.
func (p *Pool) run(base context.Context, claimed *Claimed) {
	ctx, cancel := context.WithCancelCause(core.WithCaller(base, claimed.Caller))
	j := &Running{Job: claimed.Job, suspect: claimed.suspect, lease: claimed.Held, jobs: p.jobs, pool: p, cancel: cancel, settling: make(chan struct{}, 1)}
	ctx = context.WithValue(ctx, jobInContext{}, j)
	j.ctx = ctx
	p.mu.Lock()
	p.running[j] = true
	p.hold(j)
	p.mu.Unlock()
	p.work.Go(func() {
		defer cancel(nil)
		handling := ctx
		if p.options.Fence != nil {
			handling = p.options.Fence(ctx, func(r core.Reader) error {
				_, err := holds(r, j.lease)
				return err
			})
		}
		var timeUp *time.Timer
		if limit := p.jobs.options.Timeouts[j.Type]; limit > 0 {
			timeUp = time.AfterFunc(limit, func() { j.stop(errTimedOut, time.Now()) })
		}
		o, err := call(handling, p.options.Handlers[j.Type], j)
		if timeUp != nil {
			timeUp.Stop()
		}
		p.settle(ctx, j, o, err)
		p.mu.Lock()
		j.place.Free()
		delete(p.running, j)
		p.mu.Unlock()
		signal(p.ended)
		p.jobs.listeners.wake()
	})
}

// call runs a handler. A panic becomes an error, since it mustn't end the other work of the
// process.
func call(ctx context.Context, h Handler, j *Running) (o *Outcome, err error) {
	defer func() {
		if v := recover(); v != nil {
			o, err = nil, sdk.Errorf(sdk.Internal, "job_panicked", "the handler of %s panicked: %v", j.Type, v)
		}
	}()
	return h.Run(ctx, j)
}

// settle writes a job's outcome, and retries as long as the store fails. Until the outcome is
// written, the job belongs to this pool, and no other pool would ever take it. settle gives
// up once the pool is drained: then the next process takes the job over.
func (p *Pool) settle(ctx context.Context, j *Running, o *Outcome, failure error) {
	cause := context.Cause(ctx)
	if ctx.Err() == nil {
		cause = nil
	}
	ctx = context.WithoutCancel(ctx)
	for {
		err := j.settle(ctx, cause, o, failure)
		if err == nil {
			return
		}
		p.options.Report(err)
		p.mu.Lock()
		over := p.drained
		p.mu.Unlock()
		if over || table.Corrupt(err) {
			return
		}
		time.Sleep(p.options.Poll) //nolint:forbidigo // a store doesn't report that it works again
	}
}

// Stop ends the pool: it takes no more jobs, gives the running jobs Options.Grace to end,
// puts the remaining ones back into their queues and ends their contexts. Then it waits for
// their handlers until ctx ends: the error is then sdk.Timeout, reason "jobs_running", and
// names the jobs. It may be called twice, and before Start.
func (p *Pool) Stop(ctx context.Context) error {
	p.phase.Lock() // a second caller waits for the first one
	defer p.phase.Unlock()
	p.mu.Lock()
	works := p.stopClaiming != nil
	p.stopped = true
	p.mu.Unlock()
	if !works {
		return nil
	}
	if !p.drained {
		p.stopClaiming()
		p.claiming.Wait()
		p.drain(ctx)
		p.mu.Lock()
		p.drained = true
		p.mu.Unlock()
	}
	done := make(chan struct{})
	go func() { // ends with the handlers
		p.work.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		if running := p.Running(); len(running) > 0 {
			return sdk.Errorf(sdk.Timeout, "jobs_running", "the handlers of %s haven't returned", strings.Join(running, ", "))
		}
		<-done // every handler has returned, and only has to be counted
	}
	if p.closed {
		return nil
	}
	p.closed = true
	p.stopKeeping()
	p.keeping.Wait()
	p.unlisten()
	p.unregister()
	return sdk.Wrap("end the work on jobs", p.jobs.forgetHolder(context.WithoutCancel(ctx), p.options.Holder))
}

// drain waits for running jobs, and puts back the jobs that don't end in time.
func (p *Pool) drain(ctx context.Context) {
	grace := time.NewTimer(p.options.Grace)
	defer grace.Stop()
	for len(p.Running()) > 0 {
		select {
		case <-p.ended:
			continue
		case <-grace.C:
		case <-ctx.Done():
		}
		break
	}
	p.mu.Lock()
	left := make([]*Running, 0, len(p.running))
	for j := range p.running {
		left = append(left, j)
	}
	p.mu.Unlock()
	for _, j := range left {
		j.stop(errDrained, time.Now())
		p.abandon(context.WithoutCancel(ctx), j, errDrained)
	}
}

// abandon writes the outcome of a job whose handler doesn't return. If that fails, the
// handler's return or the next look tries again.
func (p *Pool) abandon(ctx context.Context, j *Running, cause error) {
	if err := j.settle(ctx, cause, nil, cause); err != nil {
		p.options.Report(err)
	}
}
