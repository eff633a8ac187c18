package host

import (
	"context"
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/sdk"
)

// Servers that share a database see which of them are alive, and take over the work of
// those that are gone. A command on the same database has no beat: it does what it was
// called for and takes over nothing. A server on the store of a data folder has no beat
// either, since no other host can open that store while it runs.

// JoinOptions say what a server does for the others. With the zero value it only shows that
// it is alive.
type JoinOptions struct {
	// Pool works on jobs, and is stopped when the host is drained. The caller starts and stops
	// it otherwise. Nil is none.
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

// Join makes the host one of the hosts that share its store, until it is closed: it shows
// that it is alive, and takes over the work of hosts that are gone. On a store that no
// other host can open it writes nothing. A host joins once.
func (h *Host) Join(ctx context.Context, o JoinOptions) error {
	if !h.joined.CompareAndSwap(nil, &o) {
		return sdk.Errorf(sdk.Conflict, "host_started", "the host has joined before")
	}
	if !h.shared() {
		return nil
	}
	orphans := newOrphans(ctx, h, o.TakeOver)
	m, err := store.NewMember(store.MemberOptions{
		Store: h.Store, Host: h.record(), Leases: []string{store.LeaseRoot}, GoneAfter: h.config.GoneAfter,
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

// record is the host's own record. If its plugins can't be read, the record has none; each
// call of a plugin reports the reason.
func (h *Host) record() store.HostRecord {
	r := store.HostRecord{ID: h.id, Version: h.config.Version, StartedAt: h.Now().UTC().Round(0)}
	if h.config.Server != nil {
		r.Address = h.config.Server.URL
	}
	if plugins, err := h.Plugins(); err != nil {
		h.warn(sdk.Wrap("read which plugins this host has", err))
	} else {
		r.Plugins = PinsOf(plugins.Set)
	}
	return r
}

// drained ends the work on jobs: running jobs have some time to end, and then go back to
// the queue.
func (h *Host) drained(ctx context.Context, pool *job.Pool) {
	h.info("this host was asked to take on nothing more: others go on with its jobs")
	if pool == nil {
		return
	}
	if err := pool.Stop(ctx); err != nil && ctx.Err() == nil {
		h.warn(sdk.Wrap("end the work on jobs", err))
	}
}

// Draining reports whether the host was asked to accept no more work.
func (h *Host) Draining() bool {
	m := h.member.Load()
	return h.draining.Load() || m != nil && m.Draining()
}

// lead makes only one host append to the journal's root: see [journal.Lead]. A program
// without a beat does it at its end, if no other host does.
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

// commits reports whether this host changed a store, as far as the store counts commits.
func commits(s core.Store) bool {
	counts, ok := s.(interface{ Commits() uint64 })
	return !ok || counts.Commits() > 0
}

// awaitBeat waits before a call of a plugin while others may believe that this host is
// gone, and may be about to make the same call.
func (h *Host) awaitBeat(ctx context.Context) error {
	if m := h.member.Load(); m != nil {
		return m.Await(ctx)
	}
	return nil
}

// holder names this host in the records of runs, so that others can take them over; "" if
// no other host would.
func (h *Host) holder() string {
	if h.member.Load() == nil {
		return ""
	}
	return h.id
}

// lives reports whether a host is alive. A program without a beat only knows which hosts
// have a record.
func (h *Host) lives(r core.Reader, id string) (bool, error) {
	if m := h.member.Load(); m != nil {
		return m.Lives(id), nil
	}
	hosts, err := store.Hosts(r)
	return slices.ContainsFunc(hosts, func(h store.HostRecord) bool { return h.ID == id }), err
}
