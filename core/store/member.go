package store

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/table"
	"github.com/reflectory/reflectory/sdk"
)

// DefaultGone is the time after which a host counts as gone, if an observer sees no beat of
// it, by the observer's own monotonic clock.
const DefaultGone = 10 * time.Second

// MemberOptions describe a host on a shared store.
type MemberOptions struct {
	// Store has the records. It isn't closed with the member.
	Store core.Store
	// Host is the host's record at its start. ID is required, Formats are this program's if
	// none are given, and the member sets Beat.
	Host HostRecord
	// GoneAfter is the time after which another host counts as gone if this host sees no beat
	// of it. Default [DefaultGone]. It must be the same for all hosts of a store, since all
	// other times follow from it: a beat is written every fifth of it, the other hosts are
	// looked at every tenth, and a host that couldn't write its beat for six tenths starts
	// nothing more.
	GoneAfter time.Duration
	// Describe is called before each beat, and updates the fields that change while the host
	// runs. It must return soon. It may be nil.
	Describe func(*HostRecord)
	// Leases are the leases that the host takes whenever no other host has them, such as
	// [LeaseRoot].
	Leases []string
	// Looked is called after each look, in the goroutine that looks. After the first look, it
	// is known which hosts are alive. It may take long, since the beat doesn't wait for it. It
	// may be nil.
	Looked func(context.Context)
	// Drained is called once, in a goroutine that Stop waits for, when the host was asked to
	// accept no more work, or can't write any more because the store has a newer format. It
	// may be nil.
	Drained func(context.Context)
	// Report is called with errors of the background work. It must be safe for concurrent
	// use. It may be nil.
	Report func(error)
}

// Member is a host among the hosts of a shared store. It raises the host's beat, finds out
// which other hosts are gone, and takes and keeps leases. It is safe for concurrent use.
type Member struct {
	options MemberOptions
	// phase lets only one Start or Stop run at a time.
	phase sync.Mutex
	stop  context.CancelFunc
	work  sync.WaitGroup

	mu sync.Mutex
	// beaten is when the last beat was written; changed is closed and replaced then.
	beaten  time.Time
	changed chan struct{}
	stopped bool
	// draining is whether the host was asked to accept no more work.
	draining bool
	// held are the epochs of the leases that this host holds.
	held map[string]uint64
	// hosts are the beats of other hosts, and leases the beats of leases, as they were seen.
	hosts, leases sightings
	// reached are the other hosts that a namespace can belong to, as the last look showed them.
	reached []HostRecord
	// failing are the last errors that were reported, by their task, so that an outage is
	// reported once.
	failing map[string]string
	// outdated is the reason why the host can't write any more, not even its beat: the store
	// has a newer format than its program knows.
	outdated error
}

// NewMember returns a member that hasn't started.
func NewMember(o MemberOptions) (*Member, error) {
	if !validHostID(o.Host.ID) {
		return nil, sdk.Errorf(sdk.Invalid, "host_id_invalid", "%q can't be the id of a host", core.Cut(o.Host.ID))
	}
	if len(o.Host.Formats) == 0 {
		o.Host.Formats = []int{Format}
	}
	if o.GoneAfter <= 0 {
		o.GoneAfter = DefaultGone
	}
	if o.Report == nil {
		o.Report = func(error) {}
	}
	seen := sightings{goneAfter: o.GoneAfter}
	return &Member{
		options: o, changed: make(chan struct{}), held: map[string]uint64{}, hosts: seen, leases: seen, failing: map[string]string{},
	}, nil
}

func (m *Member) beatEvery() time.Duration   { return m.options.GoneAfter / 5 }
func (m *Member) lookEvery() time.Duration   { return m.options.GoneAfter / 10 }
func (m *Member) silentAfter() time.Duration { return m.options.GoneAfter * 6 / 10 }

// ID is the host's id.
func (m *Member) ID() string { return m.options.Host.ID }

// Start writes the first beat and begins to look. A member is started once.
func (m *Member) Start(ctx context.Context) error {
	m.phase.Lock()
	defer m.phase.Unlock()
	if m.stop != nil || m.isStopped() {
		return sdk.Errorf(sdk.Conflict, "host_started", "the host was started or stopped before")
	}
	if err := m.beat(ctx); err != nil {
		return sdk.Wrap("join the hosts of the store", err)
	}
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	m.stop = stop
	m.work.Go(func() { m.raise(working) })
	m.work.Go(func() { m.watch(working) })
	return nil
}

// Stop gives up the leases and removes the host's record, so that other hosts don't wait for
// its beat. It may be called twice, and before Start.
func (m *Member) Stop(ctx context.Context) error {
	m.phase.Lock()
	defer m.phase.Unlock()
	started, before := m.stop != nil, m.isStopped()
	m.mu.Lock()
	m.stopped = true
	m.mu.Unlock()
	if !started || before {
		return nil
	}
	m.stop()
	m.work.Wait()
	defer m.wake() // no beat will come for callers that wait for one
	if m.whyOutdated() != nil {
		return nil // it can't write: the others see that it is gone
	}
	err := m.releaseAll(ctx)
	return core.JoinErrors(err, sdk.Wrap("leave the hosts of the store", m.options.Store.Update(ctx, func(tx core.Tx) error {
		return tx.Delete(hostKey(m.ID()))
	})))
}

func (m *Member) isStopped() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stopped
}

func (m *Member) whyOutdated() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.outdated
}

// raise raises the beat at intervals until its context ends; after an error it tries again
// sooner. It does nothing else, so that no slow work can make other hosts believe that this
// host is gone.
func (m *Member) raise(ctx context.Context) {
	wait := m.beatEvery()
	for sleep(ctx, wait) {
		err := m.beat(ctx)
		m.report(ctx, "beat", err)
		switch {
		case sdk.ReasonOf(err) == formatNewer:
			m.outdate(ctx, err)
			return
		case err != nil:
			wait = m.lookEvery()
		default:
			wait = m.beatEvery()
		}
	}
}

// sleep waits, and reports whether the context is still valid then.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// report reports the error of a task, unless the task failed in the same way the last time.
func (m *Member) report(ctx context.Context, task string, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	m.mu.Lock()
	again := text == m.failing[task]
	m.failing[task] = text
	m.mu.Unlock()
	if err != nil && !again && ctx.Err() == nil {
		m.options.Report(err)
	}
}

// beat raises the host's beat, and the beats of its leases. A lease that another host took
// meanwhile, or that is damaged, is dropped.
func (m *Member) beat(ctx context.Context) error {
	at := time.Now() // before the commit, since other hosts can't have seen the beat earlier
	held := m.Held()
	var kept map[string]uint64
	var now HostRecord
	err := m.options.Store.Update(ctx, func(tx core.Tx) (err error) {
		if now, err = m.next(tx); err != nil {
			return err
		}
		if kept, err = raiseLeases(tx, held, m.beatEvery()); err != nil {
			return err
		}
		return tx.Put(hostKey(m.ID()), jsontext.MustEncode(now))
	})
	if err != nil {
		return sdk.Wrap("raise the host's beat", err)
	}
	m.mu.Lock()
	m.beaten = at
	for what, epoch := range held {
		if kept[what] != epoch && m.held[what] == epoch {
			delete(m.held, what)
		}
	}
	drain := now.Draining && !m.draining
	m.draining = m.draining || now.Draining
	m.mu.Unlock()
	m.wake()
	if drain {
		m.report(ctx, "release", m.releaseAll(ctx))
		m.drained(ctx)
	}
	return nil
}

// next is the host's record with its next beat. Other hosts may have removed the record
// while this host was suspended. A host that was draining before is still draining.
func (m *Member) next(r core.Reader) (HostRecord, error) {
	last, found, err := readHost(r, m.ID())
	if err != nil {
		return last, err
	}
	now := m.options.Host
	if found {
		now.Beat = last.Beat
	}
	if m.options.Describe != nil {
		m.options.Describe(&now)
	}
	now.Beat++
	now.Draining = last.Draining || m.Draining()
	return now, nil
}

// raiseLeases raises the beats of leases that are held with these epochs, and returns the
// leases that are still held.
func raiseLeases(tx core.Tx, held map[string]uint64, every time.Duration) (kept map[string]uint64, err error) {
	kept = map[string]uint64{}
	for _, what := range slices.Sorted(maps.Keys(held)) {
		l, err := ReadLease(tx, what)
		if table.Corrupt(err) || err == nil && l.Epoch != held[what] {
			continue
		}
		if err != nil {
			return nil, err
		}
		kept[what] = l.Epoch
		l.raise(every)
		if err := tx.Put(leaseKey(what), jsontext.MustEncode(l)); err != nil {
			return nil, err
		}
	}
	return kept, nil
}

// outdate drains a host that can't write any more, since the store has a newer format.
func (m *Member) outdate(ctx context.Context, why error) {
	m.mu.Lock()
	drain := !m.draining
	m.outdated, m.draining, m.held = why, true, map[string]uint64{}
	m.mu.Unlock()
	m.wake()
	if drain {
		m.drained(ctx)
	}
}

// drained reports that the host accepts no more work.
func (m *Member) drained(ctx context.Context) {
	if m.options.Drained != nil {
		m.work.Go(func() { m.options.Drained(ctx) })
	}
}

// wake wakes the callers that wait for a beat.
func (m *Member) wake() {
	m.mu.Lock()
	defer m.mu.Unlock()
	close(m.changed)
	m.changed = make(chan struct{})
}

// releaseAll gives up the leases.
func (m *Member) releaseAll(ctx context.Context) error {
	m.mu.Lock()
	held := m.held
	m.held = map[string]uint64{}
	m.mu.Unlock()
	var errs []error
	for _, what := range slices.Sorted(maps.Keys(held)) {
		errs = append(errs, ReleaseLease(ctx, m.options.Store, what, held[what]))
	}
	return core.JoinErrors(errs...)
}

// Held are the epochs of the leases that this host holds, as far as it knows: see
// [Member.Fenced].
func (m *Member) Held() map[string]uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.held)
}

// Fenced returns the store for the work of one of this host's leases, and whether the host
// holds the lease.
func (m *Member) Fenced(lease string) (s core.Store, held bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	epoch, held := m.held[lease]
	return Fenced(m.options.Store, lease, epoch), held
}

// Draining reports whether the host was asked to accept no more work, or can't write any
// more because the store has a newer format.
func (m *Member) Draining() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.draining
}

// Await waits while the host's last beat is so old that other hosts may soon count it as
// gone. So the host starts nothing that they are about to take over. It returns an error if
// the host can't write any more because the store has a newer format.
func (m *Member) Await(ctx context.Context) error {
	for {
		m.mu.Lock()
		silent := time.Since(m.beaten) > m.silentAfter() && !m.stopped
		changed, outdated := m.changed, m.outdated
		m.mu.Unlock()
		if outdated != nil || !silent {
			return outdated
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
