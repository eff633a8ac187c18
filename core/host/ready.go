package host

import (
	"context"
	"time"

	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/sdk"
)

// awayTime is how long the database may be unreachable before the host reports that it isn't
// ready. During a shorter outage, calls just wait.
const awayTime = 5 * time.Second

// Ready opens the store, unless it is open, and reads the policies that the store has for all
// hosts. The error is the reason why this host can't work.
func (h *Host) Ready(ctx context.Context) error {
	if local, ok := h.Store.(*store.OnDemand); ok {
		if _, err := local.Open(ctx); err != nil {
			return err
		}
	}
	if err := h.Tenants.settle(ctx); err != nil {
		return err
	}
	return h.Policies.ready(ctx)
}

// Unready is the reason why a host that was ready accepts no requests now, as far as it
// knows: its disk has refused a write or is full, its database has been unreachable for more than 5 s, another host has migrated it to
// a newer format, the policies that were pushed last can't be used, the prompt policies or role
// mixes of its data folder aren't the ones that were pushed, or a tenant's database has policies
// or settings of * that differ from the main database's. It is nil if the host is ready. It sends no request, and doesn't wait.
func (h *Host) Unready() error {
	if err := h.Storage.Failed(); err != nil {
		return err
	}
	if db := h.Storage.database(); db != nil {
		if err := db.Newer(); err != nil {
			return err
		}
		if since := db.DownSince(); !since.IsZero() && time.Since(since) > awayTime {
			return sdk.Errorf(sdk.Unavailable, "store_unreachable", "the database %s can't be reached since %s", db.Server().Name, since.UTC().Format(time.RFC3339)).
				WithHint("check that it is running, and that this host may connect")
		}
	}
	if _, err := h.Policies.Active(); err != nil {
		return err
	}
	if err := h.Prompts.unready(); err != nil {
		return err
	}
	return h.Copies.apart()
}
