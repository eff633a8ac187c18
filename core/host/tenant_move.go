package host

import (
	"context"
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/sdk"
)

// A tenant is moved by a process of its own, whose map of tenants says already where the tenant
// shall be. So there is one place that says it, for the move and for the hosts that are started with
// this map afterwards, and a move is given up by a map that says where the tenant was.

// Move moves a tenant to the database that this host's map of tenants gives it: see
// [store.TenantMover]. The database where the tenant is must be one of [Databases.All] too; if the
// map doesn't name it any more, it is given as Config.OtherDatabase.
func (t *Tenants) Move(ctx context.Context, tenant string, progress store.Progress) (*store.TenantMove, error) {
	if err := core.CheckTenant(tenant); err != nil {
		return nil, err
	}
	if t.own.Config.Store == nil && !t.own.Config.Settings.Shared() {
		return nil, sdk.Errorf(sdk.Incompatible, "tenants_unmapped", "this process has a store in a data folder, and tenants have databases that hosts share").
			WithHint("give the database of all other tenants")
	}
	if len(t.own.Databases.All()) == 1 {
		return nil, sdk.Errorf(sdk.Invalid, "tenants_unmapped", "this process has one database only, so there is nowhere to move tenant %s", tenant).
			WithHint("give the map of tenants that says where the tenant shall be")
	}
	m := store.TenantMover{Tenant: tenant, Databases: map[string]store.TenantDatabase{}, Progress: progress}
	to := ""
	for _, own := range t.own.Databases.All() {
		s, err := own.Storage.whole(ctx)
		if err != nil {
			return nil, err
		}
		id, err := t.own.Databases.identify(ctx, own)
		if err != nil {
			return nil, err
		}
		parts, err := Checkers(s)
		if err != nil {
			return nil, err
		}
		m.Databases[id] = store.TenantDatabase{
			Writer: &journal.Writer{Store: s, Clock: t.own.Config.Clock}, Parts: parts,
			RemoveJobs: func(ctx context.Context, tenant string) error {
				return own.Jobs.RemoveEnded(ctx, func(namespace string) bool { return core.Tenant(namespace) == tenant })
			},
		}
		if own.Databases.isMain() {
			m.Main = id
		}
		if own == t.own.Databases.Of(tenant) {
			to = id
			if err := own.Tenants.prepare(ctx); err != nil {
				return nil, err
			}
		}
	}
	return m.To(ctx, to)
}

// prepare gives a new database the policies, the settings and the lock of plugins of the main one.
func (t *Tenants) prepare(ctx context.Context) error {
	if t.own.Databases.isMain() {
		return nil
	}
	return sdk.Wrap("prepare "+t.own.Databases.Name(), t.own.Copies.copyFromMain(core.WithCaller(ctx, core.Caller{}))) // it is nobody's request
}

// whole is the store of the database, which refuses no tenant.
func (s *Storage) whole(ctx context.Context) (core.Store, error) {
	local, ok := s.store.(*store.OnDemand)
	if !ok {
		return s.config.Store, nil
	}
	opened, err := local.Open(ctx)
	if err != nil {
		return nil, err
	}
	switch s := opened.(type) {
	case *SharedStore:
		return s.Store, nil
	case *LocalStore:
		return s.Store, nil
	}
	return nil, notLocal()
}

// TenantItem is a tenant with a database of its own, or one that had one.
type TenantItem struct {
	store.TenantPlace
	// Database says which of this process's databases has it; "" if none of them does.
	Database string `json:"database,omitempty"`
}

// List lists the tenants that have databases of their own, or had one, by name.
func (t *Tenants) List(ctx context.Context) ([]TenantItem, error) {
	places, err := core.View(ctx, t.own.Store, store.TenantPlaces)
	list := make([]TenantItem, 0, len(places))
	for _, place := range places {
		list = append(list, TenantItem{TenantPlace: place})
	}
	for _, own := range t.own.Databases.All() {
		if err != nil || t.own.Databases.of == nil {
			break
		}
		var id string
		id, err = t.own.Databases.identify(ctx, own)
		for i := range list {
			if list[i].DatabaseID == id {
				list[i].Database = own.Databases.Name()
			}
		}
	}
	return slices.Clip(list), err
}
