package operation

import (
	"context"
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/store"
)

// hosts are the operations on the servers that work on a store.
func hosts() []Operation {
	return []Operation{
		define(Operation{
			Name: "host_list", main: true, Method: "GET", Path: "/v1/hosts", Scope: core.ScopeOperate, ReadOnly: true, Idempotent: true,
			Doc: "List the servers that work on the store, with their leases, runs and jobs.",
		}, inAll[HostList], hostList),
		define(Operation{
			Name: "host_drain", main: true, Method: "POST", Path: "/v1/hosts/{id}/drain", Scope: core.ScopeOperate, Idempotent: true,
			Doc: "Keep a server from taking on new work, so that others continue its jobs.",
		}, inAll[HostDrain], hostDrain),
	}
}

// HostList asks for the servers.
type HostList struct{}

// HostItem is a server with its leases, runs and jobs.
type HostItem struct{ host.Held }

// Hosts are the servers that work on a store, by id.
type Hosts struct {
	Items []HostItem `json:"items"`
}

func hostList(ctx context.Context, c *Call, _ *HostList) (*Hosts, error) {
	list, err := c.Host.Membership.Hosts(ctx)
	if err != nil {
		return nil, err
	}
	out := &Hosts{Items: make([]HostItem, len(list))}
	for i := range list {
		out.Items[i] = HostItem{list[i]}
	}
	return out, nil
}

// HostDrain names a server.
type HostDrain struct {
	ID string `json:"id"`
}

func hostDrain(ctx context.Context, c *Call, in *HostDrain) (*HostItem, error) {
	if err := c.Host.Membership.Drain(ctx, in.ID); err != nil {
		return nil, err
	}
	list, err := c.Host.Membership.Hosts(ctx)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(list, func(h host.Held) bool { return h.ID == in.ID })
	if at < 0 {
		return nil, store.HostNotFound(in.ID)
	}
	return &HostItem{list[at]}, nil
}
