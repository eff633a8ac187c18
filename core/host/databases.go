package host

import (
	"context"
	"maps"
	"slices"
	"sync"

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
	// of has the host of each tenant that has its own database.
	of map[string]*Host
	// copies shows whether all have the same policies and settings.
	copies copies

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

// openDatabases builds the main Host, which closes the others with it.
func openDatabases(c Config, id string, own []tenantDatabase) (main *Host, err error) {
	all := &databases{of: map[string]*Host{}, ids: map[string]*Host{}}
	if main, err = openOne(c, id, all); err != nil {
		return nil, err
	}
	all.hosts = []*Host{main}
	for _, d := range own {
		of := c
		of.Settings, of.Store = d.settings, d.store
		h, err := openOne(of, id, all)
		if err != nil {
			return nil, core.JoinErrors(err, main.Close())
		}
		main.onClose(h.Close)
		all.hosts = append(all.hosts, h)
		for _, tenant := range d.tenants {
			all.of[tenant] = h
		}
	}
	main.onClose(main.watchCopies())
	return main, nil
}

// Databases returns the hosts of this process, one for each database, the main one first. The
// host of a tenants' database returns only itself.
func (h *Host) Databases() []*Host {
	if h.databases == nil || !h.isMain() {
		return []*Host{h}
	}
	return slices.Clone(h.databases.hosts)
}

// isMain is whether this is the host of the main database.
func (h *Host) isMain() bool { return h.databases == nil || h.databases.hosts[0] == h }

// DatabaseOf is the host of the database that has a namespace.
func (h *Host) DatabaseOf(namespace string) *Host {
	if h.databases == nil {
		return h
	}
	if own := h.databases.of[core.Tenant(namespace)]; own != nil {
		return own
	}
	return h.databases.hosts[0]
}

// DatabasesOf returns the hosts of the databases that can have a namespace which one of the
// patterns matches, in the order of [Host.Databases].
func (h *Host) DatabasesOf(patterns []string) (list []*Host) {
	reached := map[*Host]bool{}
	for _, pattern := range patterns {
		if tenant, one := core.TenantOfPattern(pattern); one {
			reached[h.DatabaseOf(tenant)] = true
			continue
		}
		for tenant, own := range h.tenantHosts() {
			if core.NamespaceMatches(tenant, pattern) {
				reached[own] = true
			}
		}
		reached[h.DatabaseOf("")] = true // the main one, which has all other tenants
	}
	return slices.DeleteFunc(h.Databases(), func(own *Host) bool { return !reached[own] })
}

func (h *Host) tenantHosts() map[string]*Host {
	if h.databases == nil {
		return nil
	}
	return h.databases.of
}

// DatabaseName says, for people, which database this host has: the one of its tenants, or the one
// of all other tenants.
func (h *Host) DatabaseName() string {
	own := h.ownTenants()
	if len(own) == 0 && !h.isMain() {
		return "the database that has no tenants"
	}
	return databaseName(own)
}

// DatabaseNameFor is DatabaseName for a caller that reaches namespaces by patterns. It names no
// tenant that the caller doesn't reach.
func (h *Host) DatabaseNameFor(patterns []string) string {
	return databaseName(slices.DeleteFunc(h.ownTenants(), func(own string) bool {
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

// Holds refuses a namespace that another database has: sdk.Invalid, reason [TenantsApart], or
// sdk.Conflict, reason [store.TenantElsewhere], if this process doesn't have that database; or
// sdk.Unavailable, reason [store.TenantMoving], if its tenant is being moved here.
func (h *Host) Holds(namespace string) error {
	tenant := core.Tenant(namespace)
	if err := h.here(tenant); err != nil {
		return err
	}
	places := h.places.Load()
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

// here is [Host.Holds], but only by this host's own map of tenants.
func (h *Host) here(tenant string) error {
	if h.databases == nil || h.DatabaseOf(tenant) == h {
		return nil
	}
	return sdk.Errorf(sdk.Invalid, TenantsApart, "tenant %s has another database than what is done here, and nothing is done in two at once", tenant).
		WithHint("do it for one tenant after the other").WithDetail("tenant", tenant)
}

// hereMemories are the memories of a run. They refuse to recall from another database. The store
// refuses writes to another database.
type hereMemories struct {
	core.Memories
	host *Host
}

// Recall implements [core.Memories].
func (m hereMemories) Recall(ctx context.Context, r *core.RecallRequest) (*core.RecallResult, error) {
	if err := m.host.Holds(r.Namespace); err != nil {
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
func (h *Host) settle(ctx context.Context) error {
	if known := h.places.Load(); known != nil && len(known.moving) == 0 || h.databases == nil && !h.shared() {
		return nil
	}
	var places tenantPlaces
	var err error
	if h.isMain() {
		places, err = h.assigned(ctx)
	} else {
		places.moving, err = h.assign(ctx)
	}
	if err == nil {
		h.places.Store(&places)
	}
	return err
}

// assigned are the tenants that the main database assigned to databases which this process
// doesn't have, and those that are being moved to the main one.
func (h *Host) assigned(ctx context.Context) (places tenantPlaces, err error) {
	err = h.Store.View(ctx, func(r core.Reader) (err error) {
		places.elsewhere, places.moving, err = store.AssignedTenants(r)
		return err
	})
	places.elsewhere = slices.DeleteFunc(places.elsewhere, func(tenant string) bool { return h.tenantHosts()[tenant] != nil })
	return places, err
}

// assign makes the main database record that this one has its tenants. First, if this one is new,
// it gets the main one's policies, settings and lock of plugins.
func (h *Host) assign(ctx context.Context) (moving []string, err error) {
	ctx = core.WithCaller(ctx, core.Caller{}) // it is nobody's request
	id, err := h.databases.identify(ctx, h)
	if err != nil {
		return nil, err
	}
	if err := h.prepare(ctx); err != nil {
		return nil, err
	}
	return store.AssignTenants(ctx, h.databases.hosts[0].Store, id, h.ownTenants())
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
		return "", sdk.Errorf(sdk.Invalid, "databases_same", "%s and %s are the same one", h.DatabaseName(), other.DatabaseName()).
			WithHint("write the database's URL in the same way for each of its tenants, and leave out those of the main database")
	}
	d.ids[id] = h
	return id, nil
}

// ownTenants are the tenants of this database, sorted; none for the main one.
func (h *Host) ownTenants() (own []string) {
	for tenant, of := range h.tenantHosts() {
		if of == h {
			own = append(own, tenant)
		}
	}
	slices.Sort(own)
	return own
}
