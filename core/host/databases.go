package host

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/sdk"
)

// Tenants can have their own databases. A record, its stream, its jobs and its root are then
// in one database, and no transaction spans two databases. So a process has a whole Host for each
// database, and only the code that chooses the database of a call knows all of them: the parts
// below don't have to know that there are several. The main database has all other tenants, and
// the data of the process itself: tokens, and the list of hosts.

// TenantsApart is the reason for refusing a call that concerns tenants of several databases.
const TenantsApart = "tenants_apart"

// databases are the hosts of a process, one for each database. They don't change once all
// are open.
type databases struct {
	// hosts are all hosts, with the main database's host first.
	hosts []*Host
	// of has the host of each tenant that has its own database; nil if there is one database.
	of map[string]*Host

	mu sync.Mutex
	// ids are the hosts by the ids of their databases, as far as these are known.
	ids map[string]*Host
}

// tenantDatabase is a database of some tenants.
type tenantDatabase struct {
	settings *config.Config
	store    core.Store // nil: the one of the settings
	tenants  []string
}

// tenantDatabases returns the databases of tenants that the settings and the config name.
func (c *Config) tenantDatabases() (list []tenantDatabase) {
	for _, d := range c.Settings.Databases() {
		list = append(list, tenantDatabase{settings: c.Settings.OfDatabase(d.URL), tenants: d.Tenants})
	}
	for _, tenant := range slices.Sorted(maps.Keys(c.Tenants)) {
		s := c.Tenants[tenant]
		at := slices.IndexFunc(list, func(d tenantDatabase) bool { return d.store == s })
		if at < 0 {
			at, list = len(list), append(list, tenantDatabase{settings: c.Settings, store: s})
		}
		list[at].tenants = append(list[at].tenants, tenant)
	}
	if other := c.OtherDatabase; other != "" && !slices.ContainsFunc(list, func(d tenantDatabase) bool { return d.store == nil && d.settings.Store.Value == other }) {
		list = append(list, tenantDatabase{settings: c.Settings.OfDatabase(other)})
	}
	return list
}

// Databases are the databases of a process, as the host of one of them sees them.
type Databases struct {
	own *Host
	*databases
}

// All returns the hosts of this process, one for each database, the main one first. The
// host of a tenants' database returns only itself.
func (d *Databases) All() []*Host {
	if !d.isMain() {
		return []*Host{d.own}
	}
	return slices.Clone(d.hosts)
}

// Several reports whether [Databases.All] returns several hosts.
func (d *Databases) Several() bool { return len(d.hosts) > 1 && d.isMain() }

// isMain is whether this is the host of the main database.
func (d *Databases) isMain() bool { return d.hosts[0] == d.own }

// Of is the host of the database that has a namespace.
func (d *Databases) Of(namespace string) *Host {
	if own := d.of[core.Tenant(namespace)]; own != nil {
		return own
	}
	return d.hosts[0]
}

// Reached returns the hosts of the databases that can have a namespace which one of the
// patterns matches, in the order of [Databases.All].
func (d *Databases) Reached(patterns []string) (list []*Host) {
	reached := map[*Host]bool{}
	for _, pattern := range patterns {
		if tenant, one := core.TenantOfPattern(pattern); one {
			reached[d.Of(tenant)] = true
			continue
		}
		for tenant, own := range d.of {
			if core.NamespaceMatches(tenant, pattern) {
				reached[own] = true
			}
		}
		reached[d.Of("")] = true // the main one, which has all other tenants
	}
	return slices.DeleteFunc(d.All(), func(own *Host) bool { return !reached[own] })
}

// Name says, for people, which database this host has: the one of its tenants, or the one
// of all other tenants.
func (d *Databases) Name() string {
	own := d.own.Tenants.names()
	if len(own) == 0 && !d.isMain() {
		return "the database that has no tenants"
	}
	return databaseName(own)
}

// NameFor is Name for a caller that reaches namespaces by patterns. It names no
// tenant that the caller doesn't reach.
func (d *Databases) NameFor(patterns []string) string {
	return databaseName(slices.DeleteFunc(d.own.Tenants.names(), func(own string) bool {
		return !slices.ContainsFunc(patterns, func(pattern string) bool {
			tenant, one := core.TenantOfPattern(pattern)
			return one && tenant == own || !one && core.NamespaceMatches(own, pattern)
		})
	}))
}

func databaseName(own []string) string {
	switch len(own) {
	case 0:
		return "the database of all other tenants"
	case 1:
		return "the database of tenant " + own[0]
	}
	return "the database of tenant " + own[0] + " and others"
}

// Tenants are where the tenants of a database, and those that it doesn't have, are.
type Tenants struct {
	own *Host // of the database
	// places are the tenants that the database doesn't have, as the main database said; nil before
	// it was asked.
	places atomic.Pointer[tenantPlaces]
}

// Holds refuses a namespace that another database has: sdk.Invalid, reason [TenantsApart], or
// sdk.Conflict, reason [store.TenantElsewhere], if this process doesn't have that database; or
// sdk.Unavailable, reason [store.TenantMoving], if its tenant is being moved here.
func (t *Tenants) Holds(namespace string) error {
	tenant := core.Tenant(namespace)
	if err := t.here(tenant); err != nil {
		return err
	}
	places := t.places.Load()
	switch {
	case places == nil:
		return nil
	case slices.Contains(places.elsewhere, tenant):
		return store.ElsewhereError(tenant)
	case slices.Contains(places.moving, tenant):
		return store.MovingError(tenant)
	}
	return nil
}

// here is [Tenants.Holds], but only by this host's own map of tenants.
func (t *Tenants) here(tenant string) error {
	if t.own.Databases.Of(tenant) == t.own {
		return nil
	}
	return sdk.Errorf(sdk.Invalid, TenantsApart, "tenant %s has another database than what is done here, and nothing is done in two at once", tenant).
		WithHint("do it for one tenant after the other").WithDetail("tenant", tenant)
}

// sameDatabaseMemories are the memories of a run. They refuse to recall from another database. The store
// refuses writes to another database.
type sameDatabaseMemories struct {
	core.Memories
	tenants *Tenants
}

// Recall implements [core.Memories].
func (m sameDatabaseMemories) Recall(ctx context.Context, r *core.RecallRequest) (*core.RecallResult, error) {
	if err := m.tenants.Holds(r.Namespace); err != nil {
		return nil, err
	}
	return m.Memories.Recall(ctx, r)
}

// tenantPlaces are the tenants that this database doesn't have, although this host's own map doesn't
// say that another one has them.
type tenantPlaces struct {
	// elsewhere are in databases that this process doesn't have, and moving are being moved here.
	elsewhere, moving []string
}

// settle makes the main database record that this one has its tenants. On the host of the main
// database, it reads instead which tenants are in databases that this process doesn't have. Once
// it has succeeded, and no tenant is being moved here, it does nothing more.
func (t *Tenants) settle(ctx context.Context) error {
	if known := t.places.Load(); known != nil && len(known.moving) == 0 || t.own.Databases.of == nil && !t.own.Config.shared() {
		return nil
	}
	var places tenantPlaces
	var err error
	if t.own.Databases.isMain() {
		places, err = t.assigned(ctx)
	} else {
		places.moving, err = t.assign(ctx)
	}
	if err == nil {
		t.places.Store(&places)
	}
	return err
}

// assigned are the tenants that the main database assigned to databases which this process
// doesn't have, and those that are being moved to the main one.
func (t *Tenants) assigned(ctx context.Context) (places tenantPlaces, err error) {
	err = t.own.Store.View(ctx, func(r core.Reader) (err error) {
		places.elsewhere, places.moving, err = store.AssignedTenants(r)
		return err
	})
	places.elsewhere = slices.DeleteFunc(places.elsewhere, func(tenant string) bool { return t.own.Databases.of[tenant] != nil })
	return places, err
}

// assign makes the main database record that this one has its tenants. First, if this one is new,
// it gets the main one's policies, settings and lock of plugins.
func (t *Tenants) assign(ctx context.Context) (moving []string, err error) {
	ctx = core.WithCaller(ctx, core.Caller{}) // it is nobody's request
	id, err := t.own.Databases.identify(ctx, t.own)
	if err != nil {
		return nil, err
	}
	if err := t.prepare(ctx); err != nil {
		return nil, err
	}
	return store.AssignTenants(ctx, t.own.Databases.hosts[0].Store, id, t.names())
}

// identify returns the id of a host's database. If it is also the main database or another host's
// database, under a URL that is written differently, the error is sdk.Invalid, reason
// "databases_same".
func (d *databases) identify(ctx context.Context, h *Host) (string, error) {
	newID := (&core.SystemIDs{}).NewID
	main, err := store.DatabaseID(ctx, d.hosts[0].Store, newID)
	if err != nil {
		return "", err
	}
	id, err := store.DatabaseID(ctx, h.Store, newID)
	if err != nil {
		return "", err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ids[main] = d.hosts[0]
	if other := d.ids[id]; other != nil && other != h {
		return "", sdk.Errorf(sdk.Invalid, "databases_same", "%s and %s are the same one", h.Databases.Name(), other.Databases.Name()).
			WithHint("write the database's URL in the same way for each of its tenants, and leave out those of the main database")
	}
	d.ids[id] = h
	return id, nil
}

// names are the tenants of this database, sorted; none for the main one.
func (t *Tenants) names() (own []string) {
	for tenant, of := range t.own.Databases.of {
		if of == t.own {
			own = append(own, tenant)
		}
	}
	slices.Sort(own)
	return own
}
