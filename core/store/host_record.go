package store

import (
	"context"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// On a store that several hosts share, each server records here that it is alive, and what
// it can do. The records decide which server does what, and show it to people. The
// correctness of commits doesn't depend on them: [Fenced] and the epochs of runs and jobs
// ensure it.

const (
	hostPrefix  = "host/"
	leasePrefix = "lease/"
	// ratePrefix begins the keys of the rates that hosts share: see core/rate.
	ratePrefix = "rate/"
)

// HostRecord is a host's record about itself, at host/ and its id.
type HostRecord struct {
	// ID identifies one start of the program: a host that starts again has another id. It is 1
	// to 64 letters, digits, dashes, dots and underscores.
	ID string `json:"id"`
	// Beat is raised every 2 s while the host is alive: see [Member]. Nothing else shows that
	// the host is alive, and no two clocks are compared.
	Beat uint64 `json:"beat"`
	// Address is where clients find it.
	Address string `json:"address,omitempty"`
	// Peers is the address to which other hosts send it the requests of its namespaces: see
	// [Member.Home]. "" means that they send no requests.
	Peers string `json:"peers,omitempty"`
	// Version is the version of its program.
	Version string `json:"version,omitempty"`
	// Formats are the formats of the store that it can write, rising.
	Formats []int `json:"formats,omitempty"`
	// PolicyEpoch is the epoch of the newest pushed policies that it has seen; 0 is none.
	PolicyEpoch uint64 `json:"policy_epoch,omitempty"`
	// Plugins are the digests of its plugins by their names; for a plugin in development, its
	// folder.
	Plugins map[string]string `json:"plugins,omitempty"`
	// Draining is whether it was asked to accept no more work.
	Draining bool `json:"draining,omitempty"`
	// StartedAt is when it started, by its own clock, for lists.
	StartedAt time.Time `json:"started_at"`
}

func hostKey(id string) []byte { return []byte(hostPrefix + id) }

// Hosts returns the records of a shared store's hosts by id, including hosts that are gone
// but still have a record. A damaged record, which a check reports, is returned with only
// its id: its host writes it again with its next beat.
func Hosts(r core.Reader) ([]HostRecord, error) { return readHosts(r, func(error) {}) }

// readHosts is Hosts that calls damaged for each damaged record.
func readHosts(r core.Reader, damaged func(error)) (list []HostRecord, err error) {
	err = core.ScanPrefix(r, []byte(hostPrefix), func(key, value []byte) (bool, error) {
		h, err := decodeHost(string(key[len(hostPrefix):]), value)
		if err != nil {
			damaged(err)
		}
		list = append(list, h)
		return true, nil
	})
	return list, err
}

// HasHost reports whether a host has a record, alive or not.
func HasHost(r core.Reader, id string) (bool, error) {
	_, found, err := r.Get(hostKey(id))
	return found, err
}

// readHost returns a host's record, and whether there is one. A damaged record has only its
// id.
func readHost(r core.Reader, id string) (h HostRecord, found bool, err error) {
	value, found, err := r.Get(hostKey(id))
	if err == nil && found {
		h, _ = decodeHost(id, value)
	}
	return h, found, err
}

// decodeHost decodes a host's record. A damaged record has only its id.
func decodeHost(id string, value []byte) (HostRecord, error) {
	h, err := hosts.Parse(id, value)
	if err != nil {
		return HostRecord{ID: id}, err
	}
	return *h, nil
}

// DrainHost asks a host to accept no more work, and returns its record.
func DrainHost(ctx context.Context, s core.Store, id string) (h HostRecord, err error) {
	err = s.Update(ctx, func(tx core.Tx) error {
		var found bool
		if h, found, err = readHost(tx, id); err != nil || !found || h.Draining {
			if err == nil && !found {
				err = HostNotFound(id)
			}
			return err
		}
		h.Draining = true
		return tx.Put(hostKey(id), jsontext.MustEncode(h))
	})
	return h, sdk.Wrap("drain host "+core.Cut(id), err)
}

// HostNotFound is the error for an unknown host: sdk.NotFound, reason "host_not_found".
func HostNotFound(id string) error {
	return sdk.Errorf(sdk.NotFound, "host_not_found", "there is no host %q", core.Cut(id)).
		WithHint("list the hosts").WithAction("hosts list")
}

// validHostID reports whether id can name a host.
func validHostID(id string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._"
	return id != "" && len(id) <= 64 && strings.Trim(id, letters) == ""
}
