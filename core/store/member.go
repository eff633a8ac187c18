package store

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// DefaultGone is how long an observer sees no beat of a host, by its own monotonic clock,
// until that host counts as gone.
const DefaultGone = 10 * time.Second

// MemberOptions say who a host is on a shared store.
type MemberOptions struct {
	// Store has the records. It isn't closed with the member.
	Store core.Store
	// Host is the host's record as it starts. ID is required, Formats are this program's if
	// none are given, and the member sets Beat.
	Host HostRecord
	// GoneAfter is how long this host sees no beat of another before that counts as gone.
	// Default [DefaultGone]. All other times follow from it, so all hosts of a store must
	// have the same: a beat comes every fifth of it, a look at the others every tenth, and a
	// host that couldn't write its beat for six tenths starts nothing more.
	GoneAfter time.Duration
	// Describe updates, before each beat, what changes while the host runs. It must return
	// soon. It may be nil.
	Describe func(*HostRecord)
	// Leases are the leases that the host takes whenever no other host has them, such as
	// [LeaseRoot].
	Leases []string
	// Looked is called after each look, in the member's goroutine: from then on it is known
	// which hosts are alive. It may be nil.
	Looked func(context.Context)
	// Drained is called once, in a goroutine that Stop waits for, when the host was asked to
	// accept no more work. It may be nil.
	Drained func(context.Context)
	// Report is called with errors of the background work. It must be safe for concurrent
	// use. It may be nil.
	Report func(error)
}

// Member is a host among the hosts of a shared store. It raises the host's beat, finds out
// which others are gone, and takes and keeps leases. It is safe for concurrent use.
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
	// draining is whether the host was asked to take on nothing more.
	draining bool
	// held are the epochs of the leases that this host holds.
	held map[string]uint64
	// hosts are the beats of other hosts, and leases the beats of leases, as they were seen.
	hosts, leases sightings
	// failing is the last error that was reported, so that an outage is reported once.
	failing string
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
	return &Member{options: o, changed: make(chan struct{}), held: map[string]uint64{}, hosts: seen, leases: seen}, nil
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
	m.work.Go(func() { m.run(working) })
	return nil
}

// Stop gives up the leases and removes the host's record, so that nobody waits for its
// beat. It may be called twice, and before Start.
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
	err := m.releaseAll(ctx)
	m.wake() // no beat will come for callers that wait for one
	return core.JoinErrors(err, sdk.Wrap("leave the hosts of the store", m.options.Store.Update(ctx, func(tx core.Tx) error {
		return tx.Delete(hostKey(m.ID()))
	})))
}

func (m *Member) isStopped() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stopped
}

// run looks at the other hosts, and raises the beat, at intervals until its context ends.
func (m *Member) run(ctx context.Context) {
	tick := time.NewTicker(m.lookEvery())
	defer tick.Stop()
	for {
		if m.sinceBeat() >= m.beatEvery() {
			m.report(ctx, m.beat(ctx))
		}
		m.report(ctx, m.look(ctx))
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (m *Member) report(ctx context.Context, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	m.mu.Lock()
	again := text == m.failing
	m.failing = text
	m.mu.Unlock()
	if err != nil && !again && ctx.Err() == nil {
		m.options.Report(err)
	}
}

// beat raises the host's beat, and the beats of its leases. A lease that another host took
// meanwhile is dropped.
func (m *Member) beat(ctx context.Context) error {
	at := time.Now() // before the commit, since others can't have seen the beat earlier
	held := m.Held()
	var kept map[string]uint64
	var now HostRecord
	err := m.options.Store.Update(ctx, func(tx core.Tx) error {
		last, found, err := readHost(tx, m.ID())
		if err != nil {
			return err
		}
		now = m.options.Host
		if found { // otherwise the host is starting, or others removed its record while it was suspended
			now.Beat, now.Draining = last.Beat, last.Draining
		}
		if m.options.Describe != nil {
			m.options.Describe(&now)
		}
		now.Beat++
		kept = map[string]uint64{}
		for _, what := range slices.Sorted(maps.Keys(held)) {
			l, err := ReadLease(tx, what)
			if err != nil {
				return err
			}
			if l.Epoch != held[what] {
				continue
			}
			kept[what], l.Beat = l.Epoch, l.Beat+1
			if err := tx.Put(leaseKey(what), core.MustJSON(l)); err != nil {
				return err
			}
		}
		return tx.Put(hostKey(m.ID()), core.MustJSON(now))
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
		m.drain(ctx)
	}
	return nil
}

// drain gives up the leases, and reports that the host accepts no more work.
func (m *Member) drain(ctx context.Context) {
	m.report(ctx, m.releaseAll(ctx))
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

func (m *Member) sinceBeat() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return time.Since(m.beaten)
}

// look reads which hosts have a beat, and takes leases that nobody holds.
func (m *Member) look(ctx context.Context) error {
	now := time.Now()
	var hosts []HostRecord
	var leases map[string]LeaseRecord
	err := m.options.Store.View(ctx, func(r core.Reader) (err error) {
		if hosts, err = Hosts(r); err == nil {
			leases, err = Leases(r)
		}
		return err
	})
	if err != nil {
		return sdk.Wrap("look at the hosts of the store", err)
	}
	m.mu.Lock()
	beats := map[string]LeaseRecord{}
	for _, h := range hosts {
		if h.ID != m.ID() {
			beats[h.ID] = LeaseRecord{Beat: h.Beat}
		}
	}
	m.hosts.see(now, beats)
	m.leases.see(now, leases)
	m.mu.Unlock()
	if err := m.takeLeases(ctx, leases); err != nil {
		return err
	}
	if m.options.Looked != nil {
		m.options.Looked(ctx)
	}
	return nil
}

// takeLeases takes leases that are held by nobody or by a host that is gone.
func (m *Member) takeLeases(ctx context.Context, leases map[string]LeaseRecord) error {
	for _, what := range m.options.Leases {
		seen := leases[what]
		m.mu.Lock()
		_, mine := m.held[what]
		free := seen.Holder == "" || seen.Holder == m.ID() || m.leases.gone(what)
		wanted := !mine && free && !m.draining
		m.mu.Unlock()
		if !wanted {
			continue
		}
		epoch, taken, err := TakeLease(ctx, m.options.Store, what, m.ID(), seen)
		if err != nil {
			return err
		}
		if taken {
			m.mu.Lock()
			m.held[what] = epoch
			m.mu.Unlock()
		}
	}
	return nil
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

// Lives reports whether a host has a record whose beat rises. A host that this one began to
// watch only recently counts as alive.
func (m *Member) Lives(id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return id == m.ID() && !m.stopped || m.hosts.known(id) && !m.hosts.gone(id)
}

// Gone are the ids of hosts that are gone, and have a record still, sorted.
func (m *Member) Gone() (ids []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id := range m.hosts.last {
		if m.hosts.gone(id) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// Forget removes the record of a host that is gone, once nothing of it is left to take
// over. If the host's beat rises again, the record stays.
func (m *Member) Forget(ctx context.Context, id string) error {
	m.mu.Lock()
	seen, gone := m.hosts.last[id], m.hosts.gone(id)
	m.mu.Unlock()
	if !gone {
		return nil
	}
	return sdk.Wrap("forget host "+core.Cut(id), m.options.Store.Update(ctx, func(tx core.Tx) error {
		h, found, err := readHost(tx, id)
		if err != nil || !found || h.Beat != seen.as.Beat {
			return err
		}
		return tx.Delete(hostKey(id))
	}))
}

// Draining reports whether the host was asked to take on nothing more.
func (m *Member) Draining() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.draining
}

// Await waits while the host's last beat is so old that others may soon count the host as
// gone. So the host starts nothing that they are about to take over.
func (m *Member) Await(ctx context.Context) error {
	for {
		m.mu.Lock()
		silent := time.Since(m.beaten) > m.silentAfter() && !m.stopped
		changed := m.changed
		m.mu.Unlock()
		if !silent {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// sightings are the beats that one observer saw. After a look that comes too late the count
// begins again: the observer or the database was suspended, and the others may have had no
// chance to raise their beats.
type sightings struct {
	goneAfter time.Duration
	last      map[string]sighting
	// looked is when the newest look was.
	looked time.Time
}

// sighting is a record, and the time since which the observer has seen it unchanged.
type sighting struct {
	as    LeaseRecord
	since time.Time
}

// see records a look, and forgets records that no longer exist.
func (s *sightings) see(now time.Time, records map[string]LeaseRecord) {
	late := now.Sub(s.looked) > s.goneAfter/2
	next := make(map[string]sighting, len(records))
	for name, as := range records {
		if last, known := s.last[name]; known && last.as == as && !late {
			next[name] = last
		} else {
			next[name] = sighting{as, now}
		}
	}
	s.last, s.looked = next, now
}

func (s *sightings) known(name string) bool {
	_, known := s.last[name]
	return known
}

// gone reports whether a record hasn't changed for too long.
func (s *sightings) gone(name string) bool {
	last, known := s.last[name]
	return known && s.looked.Sub(last.since) >= s.goneAfter
}
