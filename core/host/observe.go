package host

import (
	"context"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/core/store/postgres"
	"github.com/reflectory/reflectory/core/work"
)

// Observe are functions that are called with what a Host does, for metrics and traces. Each
// must be safe for concurrent use and return soon, and may be nil. Subscribers of [Config]
// get what is committed to the journal, such as the starts and ends of jobs.
type Observe struct {
	// Work follows runs, iterations, calls of plugins, and what is done with memories.
	Work work.Observer
	// Decided is called with each decision of a policy point: see [policy.Options].
	Decided func(point policypoint.Point, word string)
	// Instance is called when an instance of a plugin starts or ends.
	Instance func(name string, e plugin.InstanceEvent)
}

// PluginInstances is the state of the plugins' instances. It is empty until a plugin was
// needed, and starts no plugin.
func (d *Databases) PluginInstances() []plugin.Status {
	var all []plugin.Status
	for _, own := range d.All() {
		if p := own.Plugins.callable.Load(); p != nil {
			all = append(all, p.Status()...)
		}
	}
	return all
}

// Commits counts the commits of this process to its stores since they were opened. It opens
// no store. A store that was passed to the host isn't counted.
func (d *Databases) Commits() (n uint64) {
	for _, own := range d.All() {
		if counts, ok := own.Storage.openNow().(interface{ Commits() uint64 }); ok {
			n += counts.Commits()
		}
	}
	return n
}

// DatabaseStats are what this host did with its store's database since the store was
// opened, and facts about the database itself.
type DatabaseStats struct {
	postgres.Stats
	// DeadRows is how many rows of the store's table wait for a vacuum, as PostgreSQL counts.
	DeadRows int64
}

// Stats looks at the database that is the host's store. It is nil if the store
// isn't a database, or isn't open; the call doesn't open it.
func (d *Databases) Stats(ctx context.Context) (*DatabaseStats, error) {
	var all *DatabaseStats
	for _, own := range d.All() {
		db := own.Storage.database()
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
