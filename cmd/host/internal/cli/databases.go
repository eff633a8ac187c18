package cli

import (
	"context"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/sdk"
)

// workers do a server's background work in each database of its tenants: working on jobs,
// showing that the server is alive, taking over runs and queueing passes of housekeeping.
type workers struct {
	hosts []*host.Host
	pools []*job.Pool
	stops []func() // of what queues passes
}

// newWorkers makes the pools, without starting them.
func newWorkers(h *host.Host) (*workers, error) {
	w := &workers{hosts: h.Databases.All()}
	for _, own := range w.hosts {
		pool, err := own.Workers.NewPool(operation.Handlers(own))
		if err != nil {
			return nil, err
		}
		w.pools = append(w.pools, pool)
	}
	return w, nil
}

// newCommandWorkers is [newWorkers] for a command that has the store until it ends. If servers share
// the store, they do the work, and there are no workers here.
func newCommandWorkers(h *host.Host) (*workers, error) {
	pool, err := h.Workers.CommandPool(operation.Handlers(h))
	if sdk.ReasonOf(err) == host.JobsOfServers {
		return &workers{}, nil
	}
	return &workers{hosts: []*host.Host{h}, pools: []*job.Pool{pool}}, err
}

// join makes the server one of the hosts of each database.
func (w *workers) join(ctx context.Context) error {
	for i, h := range w.hosts {
		if err := h.Membership.Join(ctx, host.JoinOptions{Pool: w.pools[i], TakeOver: operation.TakeOver(h)}); err != nil {
			return err
		}
	}
	return nil
}

// start begins the work, once each database can be used.
func (w *workers) start(ctx context.Context) error {
	for i, h := range w.hosts {
		if err := h.Ready(ctx); err != nil {
			return err
		}
		if err := w.pools[i].Start(ctx); err != nil {
			return err
		}
		w.stops = append(w.stops, h.Dreams.Start())
	}
	return nil
}

// stop ends the work of all databases at the same time, as far as it began.
func (w *workers) stop() error {
	for _, stop := range w.stops {
		stop()
	}
	failed := make(chan error)
	for _, pool := range w.pools {
		go func() { failed <- stopPool(pool) }()
	}
	var errs []error
	for range w.pools {
		errs = append(errs, <-failed)
	}
	return core.JoinErrors(errs...)
}
