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

// MoveTenant moves a tenant to the database that this host's map of tenants gives it: see
// [store.TenantMover]. The database where the tenant is must be one of [Host.Databases] too; if the
// map doesn't name it any more, it is given as Config.OtherDatabase.
func (h *Host) MoveTenant(ctx context.Context, tenant string, progress store.Progress) (*store.TenantMove, error) {
	if err := core.CheckTenant(tenant); err != nil {
		return nil, err
	}
	if h.config.Store == nil && !h.config.Settings.Shared() {
		return nil, sdk.Errorf(sdk.Incompatible, "tenants_unmapped", "this process has a store in a data folder, and tenants have databases that hosts share").
			WithHint("give the database of all other tenants")
	}
	if len(h.Databases()) == 1 {
		return nil, sdk.Errorf(sdk.Invalid, "tenants_unmapped", "this process has one database only, so there is nowhere to move tenant %s", tenant).
			WithHint("give the map of tenants that says where the tenant shall be")
	}
	m := store.TenantMover{Tenant: tenant, Databases: map[string]store.TenantDatabase{}, Progress: progress}
	to := ""
	for _, own := range h.Databases() {
		s, err := own.wholeStore(ctx)
		if err != nil {
			return nil, err
		}
		id, err := h.databases.identify(ctx, own)
		if err != nil {
			return nil, err
		}
		parts, err := Checkers(s)
		if err != nil {
			return nil, err
		}
		m.Databases[id] = store.TenantDatabase{
			Writer: &journal.Writer{Store: s, Clock: h.config.Clock}, Parts: parts,
			RemoveJobs: func(ctx context.Context, tenant string) error {
				return own.Jobs.RemoveEnded(ctx, func(namespace string) bool { return core.Tenant(namespace) == tenant })
			},
		}
		if own.isMain() {
			m.Main = id
		}
		if own == h.DatabaseOf(tenant) {
			to = id
			if err := own.prepare(ctx); err != nil {
				return nil, err
			}
		}
	}
	return m.To(ctx, to)
}

// prepare gives a new database the policies, the settings and the lock of plugins of the main one.
func (h *Host) prepare(ctx context.Context) error {
	if h.isMain() {
		return nil
	}
	return sdk.Wrap("prepare "+h.DatabaseName(), h.copyFromMain(core.WithCaller(ctx, core.Caller{}))) // it is nobody's request
}

// wholeStore is the store of the database, which refuses no tenant.
func (h *Host) wholeStore(ctx context.Context) (core.Store, error) {
	local, ok := h.Store.(*store.OnDemand)
	if !ok {
		return h.config.Store, nil
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

// Tenants lists the tenants that have databases of their own, or had one, by name.
func (h *Host) Tenants(ctx context.Context) ([]TenantItem, error) {
	var places []store.TenantPlace
	err := h.Store.View(ctx, func(r core.Reader) (err error) {
		places, err = store.TenantPlaces(r)
		return err
	})
	list := make([]TenantItem, 0, len(places))
	for _, place := range places {
		list = append(list, TenantItem{TenantPlace: place})
	}
	for _, own := range h.Databases() {
		if err != nil || h.databases == nil {
			break
		}
		var id string
		id, err = h.databases.identify(ctx, own)
		for i := range list {
			if list[i].DatabaseID == id {
				list[i].Database = own.DatabaseName()
			}
		}
	}
	return slices.Clip(list), err
}
