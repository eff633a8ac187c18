package store

import (
	"context"
	"slices"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// watch looks at the other hosts at intervals until its context ends.
func (m *Member) watch(ctx context.Context) {
	tick := time.NewTicker(m.lookEvery())
	defer tick.Stop()
	for {
		m.refresh(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// refresh reads which hosts have a beat, and takes leases that no host holds. If a host's record
// is damaged, no beat is seen until the host writes the next one.
func (m *Member) refresh(ctx context.Context) {
	now := time.Now()
	var hosts []HostRecord
	var leases map[string]LeaseRecord
	var damaged []error
	err := m.options.Store.View(ctx, func(r core.Reader) (err error) {
		damaged = nil
		if hosts, err = readHosts(r, func(err error) { damaged = append(damaged, err) }); err == nil {
			leases, err = Leases(r)
		}
		return err
	})
	m.report(ctx, "look", sdk.Wrap("look at the hosts of the store", err))
	if err != nil {
		return
	}
	m.report(ctx, "records", core.JoinErrors(damaged...))
	m.mu.Lock()
	beats := map[string]LeaseRecord{}
	for _, h := range hosts {
		if h.ID != m.ID() {
			beats[h.ID] = LeaseRecord{Beat: h.Beat}
		}
	}
	m.hosts.see(now, beats)
	m.leases.see(now, leases)
	m.reached = reachedFrom(m.options.Host, hosts)
	m.mu.Unlock()
	for _, what := range m.options.Leases {
		m.report(ctx, "lease "+what, m.takeLease(ctx, what, leases[what]))
	}
	if m.options.Looked != nil {
		m.options.Looked(ctx)
	}
}

// takeLease takes a lease that no host holds, or that a host which is gone holds.
func (m *Member) takeLease(ctx context.Context, what string, seen LeaseRecord) error {
	m.mu.Lock()
	_, mine := m.held[what]
	free := seen.Holder == "" || seen.Holder == m.ID() || m.leases.gone(what)
	wanted := !mine && free && !m.draining
	m.mu.Unlock()
	if !wanted {
		return nil
	}
	epoch, taken, err := TakeLease(ctx, m.options.Store, what, m.ID(), seen)
	if err != nil || !taken {
		return err
	}
	m.mu.Lock()
	keep := !m.draining // otherwise it was drained meanwhile
	if keep {
		m.held[what] = epoch
	}
	m.mu.Unlock()
	if keep {
		return nil
	}
	return ReleaseLease(ctx, m.options.Store, what, epoch)
}

// Lives reports whether a host has a record whose beat rises, as far as the last look showed.
// A host that this host began to watch only recently counts as alive. A host that joined
// after the last look doesn't: see [Member.LivesIn].
func (m *Member) Lives(id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return id == m.ID() && !m.stopped || m.hosts.known(id) && !m.hosts.gone(id)
}

// LivesIn is [Member.Lives] within a transaction. There, a host that joined since the last
// look has a record, and so counts as alive too.
func (m *Member) LivesIn(r core.Reader, id string) (bool, error) {
	m.mu.Lock()
	known := id == m.ID() || m.hosts.known(id)
	m.mu.Unlock()
	if known {
		return m.Lives(id), nil
	}
	return HasHost(r, id)
}

// Gone are the ids of the hosts that are gone but still have a record, sorted.
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

// Forget removes the record of a host that is gone, once none of its work is left to take
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
