package host

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/sdk"
)

// Servers that share a database see which servers are alive, and take over the work of
// servers that are gone. A command on the same database has no beat: it does its own work
// and takes over nothing. A server on the store of a data folder has no beat either, since
// no other host can open that store while the server lives. Any earlier server is gone, and
// the new server continues its runs.

// JoinOptions determine what a server does for the other hosts. With the zero value it only
// shows that it is alive.
type JoinOptions struct {
	// Pool works on jobs, and is stopped when the host is drained. Apart from that, the caller
	// starts and stops it. Nil means no pool.
	Pool *job.Pool
	// TakeOver continues a run whose host is gone, to its end, as the run's caller. If it is
	// nil, the host takes over no runs.
	TakeOver func(context.Context, run.Held) error
}

// Membership is a host among the hosts that share its store.
type Membership struct {
	config    *Config
	id        string
	closers   *closers
	databases *Databases
	journal   *journal.Writer
	policies  *Policies
	plugins   *Plugins
	runs      *run.Repository
	jobs      *job.Repository

	// joined is what this host does for the others of its store, and member raises its beat
	// among them. Both are nil before Join; member stays nil if the store has no other hosts.
	joined   atomic.Pointer[JoinOptions]
	member   atomic.Pointer[store.Member]
	draining atomic.Bool
}

// shared is whether other hosts may work on the store at the same time.
func (c *Config) shared() bool {
	if c.Store != nil {
		return !c.Sole
	}
	return c.Settings.Shared()
}

// Join adds the host to the hosts that share its store, until it is closed: it shows that
// it is alive, and takes over the work of hosts that are gone. On a store that no other
// host can open, it only takes over work. A host joins once.
func (m *Membership) Join(ctx context.Context, o JoinOptions) error {
	if !m.joined.CompareAndSwap(nil, &o) {
		return sdk.Errorf(sdk.Conflict, "host_started", "the host has joined before")
	}
	if !m.config.shared() {
		m.adopt(ctx, o.TakeOver)
		return nil
	}
	orphans := newOrphans(ctx, m, o.TakeOver)
	member, err := store.NewMember(store.MemberOptions{
		Store: m.journal.Store, Host: m.record(), Leases: []string{store.LeaseRoot}, GoneAfter: m.config.GoneAfter,
		Describe: func(r *store.HostRecord) {
			policies, _ := m.policies.Active() // readiness reports why they can't be used
			r.PolicyEpoch = policies.Epoch
			if plugins := m.plugins.callable.Load(); plugins != nil {
				r.Plugins = PinsOf(plugins.Set)
			}
		},
		Looked: orphans.takeOverAll, Drained: func(ctx context.Context) { m.drained(ctx, o.Pool) },
		Report: func(err error) { m.config.warn(sdk.Wrap("work with the other hosts", err)) },
	})
	if err != nil {
		return err
	}
	m.member.Store(member) // before a look needs it
	if err := member.Start(ctx); err != nil {
		m.member.Store(nil)
		orphans.stop()
		return err
	}
	m.closers.add(func() error {
		orphans.stop()
		return member.Stop(context.Background())
	})
	return nil
}

// Home is the host that a namespace belongs to, and the address at which this host reaches
// it; "" means that this host handles the namespace's requests itself. See
// [store.Member.Home].
func (m *Membership) Home(namespace string) (id, address string) {
	member := m.member.Load()
	if member == nil {
		return "", ""
	}
	home, _ := member.Home(namespace)
	return home.ID, home.Peers
}

// record is the host's own record. If its plugins can't be read, the record has none; each
// call of a plugin reports the reason.
func (m *Membership) record() store.HostRecord {
	r := store.HostRecord{ID: m.id, Version: m.config.Version, StartedAt: m.config.Clock.Now().UTC().Round(0)}
	if m.config.Server != nil {
		r.Address, r.Peers = m.config.Server.URL, m.config.Server.Peers
	}
	if plugins, err := m.plugins.Callable(); err != nil {
		m.config.warn(sdk.Wrap("read which plugins this host has", err))
	} else {
		r.Plugins = PinsOf(plugins.Set)
	}
	return r
}

// drainTime is how long a host that was asked to accept no more work waits for its jobs:
// their grace period of 10 s, and some time to end.
const drainTime = 15 * time.Second

// drained ends the work on jobs: running jobs have their grace period to end, and the jobs
// that are left then go back to the queue.
func (m *Membership) drained(ctx context.Context, pool *job.Pool) {
	if m.databases.isMain() {
		m.config.info("this host takes on nothing more: others go on with its jobs")
	}
	err := m.databases.eachCopy(func(own *Host) error { return own.Membership.Drain(ctx, own.ID) })
	if err != nil {
		m.config.warn(sdk.Wrap("take on nothing more", err))
	}
	if pool == nil {
		return
	}
	limited, cancel := context.WithTimeout(ctx, drainTime) // another caller that stops the pool waits for this
	defer cancel()
	if err := pool.Stop(limited); err != nil && ctx.Err() == nil {
		m.config.warn(sdk.Wrap("end the work on jobs", err))
	}
}

// Draining reports whether the host was asked to accept no more work.
func (m *Membership) Draining() bool {
	member := m.member.Load()
	return m.draining.Load() || member != nil && member.Draining()
}

// lead makes sure that only one host appends to the journal's root: see [journal.Lead]. A
// program without a beat appends at its end, if no other host does.
func (m *Membership) lead(db core.Store) func(context.Context, bool, func(core.Store) error) error {
	return func(ctx context.Context, last bool, record func(core.Store) error) error {
		var err error
		member := m.member.Load()
		switch {
		case last && !commits(db): // a command that only read
		case last:
			err = store.WithLease(ctx, db, store.LeaseRoot, m.id, record)
		case member != nil:
			if epoch, held := member.Held()[store.LeaseRoot]; held {
				err = record(store.Fenced(db, store.LeaseRoot, epoch))
			}
		case m.config.Store != nil: // the program that embeds this host gave it the store, and its hosts don't join
			err = record(db)
		}
		if sdk.ReasonOf(err) == store.LeaseLost {
			return nil // the holder of the lease records the same
		}
		return err
	}
}

// RecordRoot records changed heads in the journal's root, unless another host does that for
// all hosts, and returns the root's head.
func (m *Membership) RecordRoot(ctx context.Context) (head journal.Head, err error) {
	if !m.config.shared() {
		return journal.Record(ctx, m.journal)
	}
	recorded := false
	command := m.member.Load() == nil && m.config.Store == nil
	err = m.lead(m.journal.Store)(ctx, command, func(s core.Store) (err error) {
		fenced := *m.journal
		fenced.Store = s
		head, err = journal.Record(ctx, &fenced)
		recorded = err == nil
		return err
	})
	if err != nil || recorded {
		return head, err
	}
	return core.View(ctx, m.journal.Store, func(r core.Reader) (journal.Head, error) { return journal.ReadHead(r, journal.RootStream) })
}

// commits reports whether this host changed a store, as far as the store counts that.
func commits(s core.Store) bool {
	counts, ok := s.(interface{ Commits() uint64 })
	return !ok || counts.Commits() > 0
}

// beforeCall makes a call of a plugin wait while other hosts may believe that this host is
// gone, and may be about to make the same call. A call for a run that another host has taken
// over is refused: after a suspension, this process may not know of the takeover yet.
func (m *Membership) beforeCall(ctx context.Context) error {
	member := m.member.Load()
	if member == nil {
		return nil
	}
	if err := member.Await(ctx); err != nil {
		return err
	}
	if id := plugin.ScopeOf(ctx).RunID; id != "" {
		return m.runs.Holds(ctx, id)
	}
	return nil
}

// holder names this host in the records of runs, so that other hosts can take the runs
// over; "" if no other host would.
func (m *Membership) holder() string {
	if m.member.Load() == nil && !m.adopts() {
		return ""
	}
	return m.id
}

// adopts is whether the host is a server whose store no other host uses.
func (m *Membership) adopts() bool {
	o := m.joined.Load()
	return o != nil && o.TakeOver != nil && !m.config.shared()
}

// lives reports whether a host is alive. A program without a beat knows only which hosts
// have a record.
func (m *Membership) lives(r core.Reader, id string) (bool, error) {
	if !m.config.shared() {
		return id == m.id, nil
	}
	if member := m.member.Load(); member != nil {
		return member.LivesIn(r, id)
	}
	return store.HasHost(r, id)
}

// gone reports whether another host is gone, as far as a server can see. A program without
// a beat can't see this.
func (m *Membership) gone(r core.Reader, id string) (bool, error) {
	member := m.member.Load()
	if member == nil {
		return false, nil
	}
	lives, err := member.LivesIn(r, id)
	return !lives && err == nil, err
}
