package host

import (
	"context"
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

// ID identifies this start of the host among the hosts that share a store.
func (h *Host) ID() string { return h.id }

// shared is whether other hosts may work on the store at the same time.
func (h *Host) shared() bool {
	if h.config.Store != nil {
		return !h.config.Sole
	}
	return h.config.Settings.Shared()
}

// Join adds the host to the hosts that share its store, until it is closed: it shows that
// it is alive, and takes over the work of hosts that are gone. On a store that no other
// host can open, it only takes over work. A host joins once.
func (h *Host) Join(ctx context.Context, o JoinOptions) error {
	if !h.joined.CompareAndSwap(nil, &o) {
		return sdk.Errorf(sdk.Conflict, "host_started", "the host has joined before")
	}
	if !h.shared() {
		h.adopt(ctx, o.TakeOver)
		return nil
	}
	orphans := newOrphans(ctx, h, o.TakeOver)
	m, err := store.NewMember(store.MemberOptions{
		Store: h.Store, Host: h.record(), Leases: []string{store.LeaseRoot}, GoneAfter: h.config.GoneAfter,
		Describe: func(r *store.HostRecord) {
			policies, _ := h.Policies.Active() // readiness reports why they can't be used
			r.PolicyEpoch = policies.Epoch
		},
		Looked: orphans.look, Drained: func(ctx context.Context) { h.drained(ctx, o.Pool) },
		Report: func(err error) { h.warn(sdk.Wrap("work with the other hosts", err)) },
	})
	if err != nil {
		return err
	}
	h.member.Store(m) // before a look needs it
	if err := m.Start(ctx); err != nil {
		h.member.Store(nil)
		orphans.stop()
		return err
	}
	h.onClose(func() error {
		orphans.stop()
		return m.Stop(context.Background())
	})
	return nil
}

// Home is the host that a namespace belongs to, and the address at which this host reaches
// it; "" means that this host handles the namespace's requests itself. See
// [store.Member.Home].
func (h *Host) Home(namespace string) (id, address string) {
	m := h.member.Load()
	if m == nil {
		return "", ""
	}
	home, _ := m.Home(namespace)
	return home.ID, home.Peers
}

// record is the host's own record. If its plugins can't be read, the record has none; each
// call of a plugin reports the reason.
func (h *Host) record() store.HostRecord {
	r := store.HostRecord{ID: h.id, Version: h.config.Version, StartedAt: h.Now().UTC().Round(0)}
	if h.config.Server != nil {
		r.Address, r.Peers = h.config.Server.URL, h.config.Server.Peers
	}
	if plugins, err := h.Plugins(); err != nil {
		h.warn(sdk.Wrap("read which plugins this host has", err))
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
func (h *Host) drained(ctx context.Context, pool *job.Pool) {
	if h.isMain() {
		h.info("this host takes on nothing more: others go on with its jobs")
	}
	err := h.eachCopy(func(own *Host) error { return own.Drain(ctx, own.id) })
	if err != nil {
		h.warn(sdk.Wrap("take on nothing more", err))
	}
	if pool == nil {
		return
	}
	limited, cancel := context.WithTimeout(ctx, drainTime) // another caller that stops the pool waits for this
	defer cancel()
	if err := pool.Stop(limited); err != nil && ctx.Err() == nil {
		h.warn(sdk.Wrap("end the work on jobs", err))
	}
}

// Draining reports whether the host was asked to accept no more work.
func (h *Host) Draining() bool {
	m := h.member.Load()
	return h.draining.Load() || m != nil && m.Draining()
}

// lead makes sure that only one host appends to the journal's root: see [journal.Lead]. A
// program without a beat appends at its end, if no other host does.
func (h *Host) lead(s core.Store) func(context.Context, bool, func(core.Store) error) error {
	return func(ctx context.Context, last bool, record func(core.Store) error) error {
		var err error
		m := h.member.Load()
		switch {
		case last && !commits(s): // a command that only read
		case last:
			err = store.WithLease(ctx, s, store.LeaseRoot, h.id, record)
		case m != nil:
			if epoch, held := m.Held()[store.LeaseRoot]; held {
				err = record(store.Fenced(s, store.LeaseRoot, epoch))
			}
		case h.config.Store != nil: // the program that embeds this host gave it the store, and its hosts don't join
			err = record(s)
		}
		if sdk.ReasonOf(err) == store.LeaseLost {
			return nil // the holder of the lease records the same
		}
		return err
	}
}

// RecordRoot records changed heads in the journal's root, unless another host does that for
// all hosts, and returns the root's head.
func (h *Host) RecordRoot(ctx context.Context) (head journal.Head, err error) {
	if !h.shared() {
		return journal.Record(ctx, h.Journal)
	}
	recorded := false
	command := h.member.Load() == nil && h.config.Store == nil
	err = h.lead(h.Store)(ctx, command, func(s core.Store) (err error) {
		fenced := *h.Journal
		fenced.Store = s
		head, err = journal.Record(ctx, &fenced)
		recorded = err == nil
		return err
	})
	if err != nil || recorded {
		return head, err
	}
	err = h.Store.View(ctx, func(r core.Reader) (err error) {
		head, err = journal.ReadHead(r, journal.RootStream)
		return err
	})
	return head, err
}

// commits reports whether this host changed a store, as far as the store counts that.
func commits(s core.Store) bool {
	counts, ok := s.(interface{ Commits() uint64 })
	return !ok || counts.Commits() > 0
}

// beforeCall makes a call of a plugin wait while other hosts may believe that this host is
// gone, and may be about to make the same call. A call for a run that another host has taken
// over is refused: after a suspension, this process may not know of the takeover yet.
func (h *Host) beforeCall(ctx context.Context) error {
	m := h.member.Load()
	if m == nil {
		return nil
	}
	if err := m.Await(ctx); err != nil {
		return err
	}
	if id := plugin.ScopeOf(ctx).RunID; id != "" {
		return h.Runs.Holds(ctx, id)
	}
	return nil
}

// holder names this host in the records of runs, so that other hosts can take the runs
// over; "" if no other host would.
func (h *Host) holder() string {
	if h.member.Load() == nil && !h.adopts() {
		return ""
	}
	return h.id
}

// adopts is whether the host is a server whose store no other host uses.
func (h *Host) adopts() bool {
	o := h.joined.Load()
	return o != nil && o.TakeOver != nil && !h.shared()
}

// lives reports whether a host is alive. A program without a beat knows only which hosts
// have a record.
func (h *Host) lives(r core.Reader, id string) (bool, error) {
	if !h.shared() {
		return id == h.id, nil
	}
	if m := h.member.Load(); m != nil {
		return m.LivesIn(r, id)
	}
	return store.HasHost(r, id)
}

// gone reports whether another host is gone, as far as a server can see. A program without
// a beat can't see this.
func (h *Host) gone(r core.Reader, id string) (bool, error) {
	m := h.member.Load()
	if m == nil {
		return false, nil
	}
	lives, err := m.LivesIn(r, id)
	return !lives && err == nil, err
}
