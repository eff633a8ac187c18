package host

import (
	"context"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/core/store/postgres"
)

// Observe are functions that are called with what a Host does, for metrics and traces. Each
// must be safe for concurrent use and return soon, and may be nil. Subscribers of [Config]
// get what is committed to the journal, such as the starts and ends of jobs.
type Observe struct {
	// Work follows runs, iterations, calls of plugins, and what is done with memories.
	Work core.Observer
	// Decided is called with each decision of a policy point: see [policy.Options].
	Decided func(point core.Point, word string)
	// Instance is called when an instance of a plugin starts or ends.
	Instance func(name string, e plugin.InstanceEvent)
}

// PluginInstances is the state of the plugins' instances. It is empty until a plugin was
// needed, and starts no plugin.
func (h *Host) PluginInstances() []plugin.Status {
	var all []plugin.Status
	for _, own := range h.Databases() {
		if p := own.callable.Load(); p != nil {
			all = append(all, p.Status()...)
		}
	}
	return all
}

// Commits counts the commits of this process to its stores since they were opened. It opens
// no store. A store that was passed to the host isn't counted.
func (h *Host) Commits() (n uint64) {
	for _, own := range h.Databases() {
		n += own.commits()
	}
	return n
}

func (h *Host) commits() uint64 {
	local, ok := h.Store.(*store.OnDemand)
	if !ok || !isClosed(local.Opened()) {
		return 0
	}
	db, err := local.Open(context.Background())
	if err != nil {
		return 0 // it was closed
	}
	if counts, ok := db.(interface{ Commits() uint64 }); ok {
		return counts.Commits()
	}
	return 0
}

// DatabaseStats are what this host did with its store's database since the store was
// opened, and facts about the database itself.
type DatabaseStats struct {
	postgres.Stats
	// DeadRows is how many rows of the store's table wait for a vacuum, as PostgreSQL counts.
	DeadRows int64
}

// DatabaseStats looks at the database that is the host's store. It is nil if the store
// isn't a database, or isn't open; the call doesn't open it.
func (h *Host) DatabaseStats(ctx context.Context) (*DatabaseStats, error) {
	var all *DatabaseStats
	for _, own := range h.Databases() {
		db := own.sharedNow()
		if db == nil {
			continue
		}
		if all == nil {
			all = &DatabaseStats{}
		}
		s := db.Stats()
		all.Commits, all.Members, all.Conflicts, all.RoundTrips = all.Commits+s.Commits, all.Members+s.Members, all.Conflicts+s.Conflicts, all.RoundTrips+s.RoundTrips
		dead, err := db.DeadRows(ctx)
		if err != nil {
			return all, err
		}
		all.DeadRows += dead
	}
	return all, nil
}
