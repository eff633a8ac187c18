package host

import (
	"context"
	"maps"
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/pluginlock"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/sdk"
)

// HostState is the state of a host, as far as the answering host knows.
type HostState string

// The states of hosts.
const (
	HostLives HostState = "live"
	// HostGone is a host whose beat no longer rises; others continue its runs and jobs.
	HostGone HostState = "gone"
	// HostUnknown is the state in the answer of a command that isn't a server, and so doesn't
	// watch beats.
	HostUnknown HostState = "unknown"
)

// Held is a host with its leases, runs and jobs. Its JSON is the host's record with these
// fields added.
type Held struct {
	store.HostRecord
	// State is live or gone; it is unknown if the answering program is a command, which doesn't
	// watch beats.
	State HostState `json:"state"`
	// Self is whether this is the answering host.
	Self bool `json:"self,omitempty"`
	// Leases are what it does for all hosts, with their epochs.
	Leases map[string]uint64 `json:"leases"`
	// Runs are the ids of the runs that it runs, sorted.
	Runs []string `json:"runs"`
	// Jobs are the ids of the jobs that it works on, sorted.
	Jobs []string `json:"jobs"`
	// Lacking are the plugins whose packages all hosts should have but this host doesn't have,
	// sorted. It takes no runs that need them.
	Lacking []string `json:"lacking,omitempty"`
}

// Hosts are the servers that work on the store, sorted by id. If no other host can open the
// store, the list has only the answering host, without a beat, and only if it is a server.
func (m *Membership) Hosts(ctx context.Context) (list []Held, err error) {
	if !m.config.shared() {
		if m.joined.Load() == nil {
			return []Held{}, nil
		}
		alone := m.record()
		alone.Formats, alone.Draining = []int{store.Format}, m.Draining()
		list = []Held{{HostRecord: alone, State: HostLives, Self: true, Leases: map[string]uint64{}, Runs: m.runs.Running()}}
	} else if list, err = m.others(ctx); err != nil {
		return nil, err
	}
	for i := range list {
		if list[i].Jobs, err = m.jobs.RunningOf(ctx, list[i].ID); err != nil {
			return nil, err
		}
		list[i].Runs, list[i].Jobs = orNone(list[i].Runs), orNone(list[i].Jobs)
	}
	if err := m.databases.eachCopy(func(own *Host) error { return addWork(ctx, list, own) }); err != nil {
		m.config.warn(sdk.Wrap("list what hosts work on", err)) // the hosts are listed without it
	}
	return list, nil
}

// addWork adds to hosts what they work on in the database of tenants. The leases in that
// database aren't shown, since they have the same names.
func addWork(ctx context.Context, list []Held, of *Host) error {
	there, err := of.Membership.Hosts(ctx)
	for _, h := range there {
		at := slices.IndexFunc(list, func(main Held) bool { return main.ID == h.ID })
		if at < 0 {
			continue // it has just come or gone
		}
		list[at].Runs = slices.Sorted(slices.Values(slices.Concat(list[at].Runs, h.Runs)))
		list[at].Jobs = slices.Sorted(slices.Values(slices.Concat(list[at].Jobs, h.Jobs)))
	}
	return err
}

func orNone(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// others reads the hosts of a shared store.
func (m *Membership) others(ctx context.Context) (list []Held, err error) {
	var hosts []store.HostRecord
	var leases map[string]store.LeaseRecord
	var lock pluginlock.Active
	err = m.journal.Store.View(ctx, func(r core.Reader) (err error) {
		if hosts, err = store.Hosts(r); err != nil {
			return err
		}
		if leases, err = store.Leases(r); err != nil {
			return err
		}
		lock, err = pluginlock.Read(r)
		return err
	})
	if err != nil {
		return nil, err
	}
	runs, err := m.runs.Held(ctx)
	if err != nil {
		return nil, err
	}
	member := m.member.Load()
	list = []Held{}
	for _, record := range hosts {
		one := Held{
			HostRecord: record, State: HostUnknown, Self: record.ID == m.id, Leases: map[string]uint64{}, Lacking: lacking(lock, record.Plugins),
		}
		switch {
		case member != nil && slices.Contains(member.Gone(), record.ID):
			one.State = HostGone
		case member != nil:
			one.State = HostLives
		}
		for _, what := range slices.Sorted(maps.Keys(leases)) {
			if l := leases[what]; l.Holder == record.ID {
				one.Leases[what] = l.Epoch
			}
		}
		for _, r := range runs {
			if r.Host == record.ID {
				one.Runs = append(one.Runs, r.RunID)
			}
		}
		list = append(list, one)
	}
	return list, nil
}

// Drain asks a host to accept no more work: it gives up its leases, its jobs end or go back
// to the queue, and it is no longer ready. Its runs and requests continue to their end, and
// the host stays up until it is stopped. Only a new start ends the draining.
func (m *Membership) Drain(ctx context.Context, id string) error {
	if m.config.shared() {
		_, err := store.DrainHost(ctx, m.journal.Store, id)
		return err
	}
	o := m.joined.Load()
	if o == nil || id != m.id {
		return store.HostNotFound(id)
	}
	if m.draining.CompareAndSwap(false, true) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			m.drained(context.WithoutCancel(ctx), o.Pool)
		}()
		m.closers.add(func() error { <-done; return nil })
	}
	return nil
}
