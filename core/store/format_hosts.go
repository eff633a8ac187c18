package store

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// From the first step of a migration on, hosts with an older program write nothing. The step
// begins only when no such host is alive, so that none is stopped in the middle of its work.
// Correctness doesn't depend on this, since each of their commits reads the format.

// PrepareShared is Prepare for a store that several hosts work on. A migration begins once
// every live host lists the new format. A host whose beat doesn't rise for goneAfter, usually
// [DefaultGone], is gone. While a host is alive that can't write the new format, the error is
// sdk.Conflict, reason "store_format_awaited".
func (f *Formats) PrepareShared(ctx context.Context, s core.Store, goneAfter time.Duration) error {
	return f.prepare(ctx, s, func(ctx context.Context) (func(core.Tx) (bool, error), error) {
		gone, err := f.awaitHosts(ctx, s, goneAfter)
		if err != nil {
			return nil, err
		}
		return func(tx core.Tx) (bool, error) { // another host may have started, or one may have raised its beat again
			older, err := f.olderHosts(tx)
			for id, h := range older {
				if last, known := gone[id]; !known || last.Beat != h.Beat {
					return false, err
				}
			}
			return true, err
		}, nil
	})
}

// awaitHosts waits until all hosts that can't write the newest format are gone, and returns
// their records. If one of them raises its beat meanwhile, it is alive, and the result is an
// error.
func (f *Formats) awaitHosts(ctx context.Context, s core.Store, goneAfter time.Duration) (map[string]HostRecord, error) {
	first := map[string]HostRecord{}
	seen := sightings{goneAfter: goneAfter}
	tick := time.NewTicker(goneAfter / 10)
	defer tick.Stop()
	for {
		now := time.Now()
		var older map[string]HostRecord
		err := s.View(ctx, func(r core.Reader) (err error) {
			older, err = f.olderHosts(r)
			return err
		})
		if err != nil {
			return nil, err
		}
		beats, left := map[string]LeaseRecord{}, false
		for id, h := range older {
			if before, known := first[id]; !known {
				first[id] = h
			} else if before.Beat != h.Beat {
				return nil, f.awaited(&h)
			}
			beats[id] = LeaseRecord{Beat: h.Beat}
		}
		seen.see(now, beats)
		for id := range older {
			left = left || !seen.gone(id)
		}
		if !left {
			return older, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// olderHosts are the hosts that don't list the newest format, by id.
func (f *Formats) olderHosts(r core.Reader) (map[string]HostRecord, error) {
	hosts, err := Hosts(r)
	older := map[string]HostRecord{}
	for _, h := range hosts {
		if !slices.Contains(h.Formats, f.Newest) {
			older[h.ID] = h
		}
	}
	return older, err
}

func (f *Formats) awaited(h *HostRecord) error {
	// The hint names no command that lists the hosts, since this program doesn't open the store.
	return sdk.Errorf(sdk.Conflict, "store_format_awaited", "host %s at %s works on the store, and its program (%s) can't write format %d",
		h.ID, cmp.Or(h.Address, "no address"), h.Version, f.Newest).
		WithHint("stop it, or start the new program in its place, before the store is migrated").WithDetail("host", h.ID).WithDetail("address", h.Address)
}
