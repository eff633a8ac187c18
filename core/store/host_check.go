package store

import (
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/table"
)

var (
	hosts = table.Kind[HostRecord]{Part: "hosts", Prefix: hostPrefix,
		Doc:     "id | a server on a store that several share: `{id, beat, address?, peers?, version?, formats?, policy_epoch?, plugins?, draining?, started_at}`. It raises `beat` every 2 s and removes the key when it stops; others remove it once the server is gone and nothing is left to take over. Here `id` is a host's id, of the same characters",
		Passing: true, Valid: func(id string, h *HostRecord) string {
			if h.ID != id {
				return "it is of another host"
			}
			return ""
		}}
	leases = table.Kind[LeaseRecord]{Part: "hosts", Prefix: leasePrefix,
		Doc:     "what | which host does a task that one host does for all, such as `root`: `{holder, epoch, beat, time?}`; `holder` is a host's id, or empty; `time` advances with the beats, in Unix milliseconds, and hosts count forced jobs by the `time` of `root`. Each acquisition and release raises `epoch`, and the holder's writes read it",
		Passing: true}
)

// HostChecker checks the records of hosts and leases. They show which hosts work now, so an
// export leaves them out. A repair drops unreadable records: each is written again with its
// host's next beat.
func HostChecker() core.Rebuilder { return table.Part{&hosts, &leases} }
