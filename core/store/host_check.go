package store

import (
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/table"
)

var (
	hosts = table.Kind[HostRecord]{Part: "hosts", Prefix: hostPrefix, Passing: true, Valid: func(id string, h *HostRecord) string {
		if h.ID != id {
			return "it is of another host"
		}
		return ""
	}}
	leases = table.Kind[LeaseRecord]{Part: "hosts", Prefix: leasePrefix, Passing: true}
)

// HostChecker checks the records of hosts and leases. They show which hosts work now, so an
// export leaves them out. A repair drops unreadable records: each is written again with its
// host's next beat.
func HostChecker() core.Rebuilder { return table.Part{&hosts, &leases} }
