package run

import (
	"context"
	"maps"
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/sdk"
)

// For a run that a server runs, the store records which server that is, and what another
// server needs to continue the run. That is a server that shares the store, or the next
// server on a data folder. Only the run's epoch decides which process may write; this record
// only shows which process should.

// hostPrefix has a key for each run that a server runs.
const hostPrefix = "run-host/"

func hostKey(id string) []byte { return []byte(hostPrefix + id) }

// Taken is the reason for refusing a takeover that comes too late: the run has ended, or
// another host runs it.
const Taken = "run_taken"

// Needs are what a host needs to continue a run.
type Needs struct {
	// Plugins are the digests of the plugins that it uses, by their names.
	Plugins map[string]string `json:"plugins,omitempty"`
	// Job is whether a job runs it; the run then continues with its job.
	Job bool `json:"job,omitempty"`
	// Ends is whether no host can continue it: if its host is gone, it ends.
	Ends bool `json:"ends,omitempty"`
}

// Held is a run that a host runs.
type Held struct {
	RunID string
	// Host is the host's id, and Epoch the run's epoch since the host has it.
	Host  string
	Epoch int
	// Caller is who started or resumed the run.
	Caller core.Caller
	Needs
}

// heldRecord is [Held] as it is stored.
type heldRecord struct {
	Host       string       `json:"host"`
	Epoch      int          `json:"epoch"`
	Subject    string       `json:"subject,omitempty"`
	Scopes     []core.Scope `json:"scopes,omitempty"`
	Namespaces []string     `json:"namespaces,omitempty"`
	Label      string       `json:"label,omitempty"`
	Needs
}

// held is the record for a run, as it is shown.
func (h *heldRecord) held(id string) Held {
	return Held{
		RunID: id, Host: h.Host, Epoch: h.Epoch, Needs: h.Needs,
		Caller: core.Caller{Subject: h.Subject, Scopes: h.Scopes, Namespaces: h.Namespaces, Label: h.Label},
	}
}

// same reports whether a run is still held as it was seen.
func (h *heldRecord) same(seen *Held) bool { return h.Host == seen.Host && h.Epoch == seen.Epoch }

// putHeld records that this host runs a run, or, if this host has no beat, that no host runs
// it.
func (s *Repository) putHeld(ctx context.Context, tx core.Tx, id string, epoch int, n Needs) error {
	holder := ""
	if s.Holder != nil {
		holder = s.Holder()
	}
	if holder == "" {
		return s.dropHeld(tx, id)
	}
	c := core.CallerOf(ctx)
	return holders.Put(tx, id, &heldRecord{
		Host: holder, Epoch: epoch, Subject: c.Subject, Scopes: c.Scopes, Namespaces: c.Namespaces, Label: c.Label, Needs: n,
	})
}

// dropHeld records that no host runs a run. If no other host can have the store, there is no
// record to drop.
func (s *Repository) dropHeld(tx core.Tx, id string) error {
	if s.Lives == nil {
		return nil
	}
	_, found, err := tx.Get(hostKey(id))
	if err != nil || !found {
		return err
	}
	return tx.Delete(hostKey(id))
}

// Held returns the runs that servers run, by id, including runs whose servers are gone.
func (s *Repository) Held(ctx context.Context) (list []Held, err error) {
	err = s.store.View(ctx, func(r core.Reader) error {
		list = nil
		return holders.Scan(r, "", "", func(id string, h *heldRecord) (bool, error) {
			if h != nil { // a damaged record doesn't affect the others, and a check reports it
				list = append(list, h.held(id))
			}
			return true, nil
		})
	})
	return list, sdk.Wrap("list the runs of hosts", err)
}

// Interrupt ends a run that no host can continue and whose host is gone, as it was held: it is
// cancelled, and refuses what that host may still write. If it is held otherwise by now, the error is
// sdk.Conflict, reason [Taken].
func (s *Repository) Interrupt(ctx context.Context, from *Held) error {
	err := s.store.Update(ctx, func(tx core.Tx) error {
		record, err := readRecord(tx, from.RunID)
		if err == nil {
			err = s.free(tx, record, Needs{}, from)
		}
		if err != nil {
			return err
		}
		old := *record
		record.Status, record.StopReason = core.StatusCancelled, core.StopReason(core.StatusInterrupted)
		record.UpdatedAt = s.clock.Now().UTC().Round(0)
		value, err := runs.Value(record.ID, record)
		if err != nil {
			return err
		}
		return core.JoinErrors(
			tx.Put(runKey(record.ID), value), runs.Index(tx, record.ID, &old, record), ends.Put(tx, record.ID, &runResult{}), s.dropHeld(tx, record.ID),
			journal.Append(ctx, tx, Stream(record.ID), record.UpdatedAt, journal.RunEnded{Status: record.Status, StopReason: record.StopReason, Result: core.Digest(nil)}),
		)
	})
	return sdk.Wrap("end run "+from.RunID+", whose host is gone", err)
}

// Leave gives up a run without ending it, so that another host takes it over. The record
// that this host ran it stays, and this host mustn't write anything more for the run.
func (s *Repository) Leave(id string) { s.release(id) }

// Runs reports whether this process runs a run.
func (s *Repository) Runs(id string) bool {
	s.held.mu.Lock()
	defer s.held.mu.Unlock()
	_, held := s.held.of[id]
	return held
}

// Holds returns an error if another host took over a run that this process runs: sdk.Conflict,
// reason "run_taken_over".
func (s *Repository) Holds(ctx context.Context, id string) error {
	s.held.mu.Lock()
	c := &recorder{id: id, epoch: s.held.of[id]}
	s.held.mu.Unlock()
	if c.epoch == 0 { // it isn't run here, or not yet
		return nil
	}
	return s.store.View(ctx, func(r core.Reader) error {
		record, err := readRecord(r, id)
		if err == nil {
			err = c.holds(record)
		}
		return err
	})
}

// Running are the ids of the runs that this process runs, sorted.
func (s *Repository) Running() []string {
	s.held.mu.Lock()
	defer s.held.mu.Unlock()
	return slices.Sorted(maps.Keys(s.held.of))
}

// HeldBy returns the host that runs a run; nil if no host with a beat runs it.
func (s *Repository) HeldBy(ctx context.Context, id string) (held *Held, err error) {
	err = s.store.View(ctx, func(r core.Reader) error {
		held = nil
		h, err := holders.Get(r, id)
		if h != nil {
			now := h.held(id)
			held = &now
		}
		return err
	})
	return held, err
}

// hasHost reports whether a live host runs a run.
func (s *Repository) hasHost(r core.Reader, id string) (bool, error) {
	if s.Lives == nil {
		return false, nil
	}
	h, err := holders.Get(r, id)
	if err != nil || h == nil {
		return false, err
	}
	return s.Lives(r, h.Host)
}

// free refuses a resume of a run that another host runs, and a takeover that comes too late.
// seen is how the run was held when the takeover was decided; nil for a resume that a caller
// asked for.
func (s *Repository) free(tx core.Tx, record *runRecord, n Needs, seen *Held) error {
	if s.Lives == nil || n.Job || // the holder of the job has its run
		record.Status != core.StatusRunning && seen == nil {
		return nil
	}
	h, err := holders.Get(tx, record.ID)
	if err != nil {
		return err
	}
	holder := ""
	if s.Holder != nil {
		holder = s.Holder()
	}
	switch {
	case seen != nil && (h == nil || !h.same(seen)):
		return sdk.Errorf(sdk.Conflict, Taken, "run %s isn't host %s's any more", record.ID, core.Cut(seen.Host))
	case seen != nil && h.Host == holder: // this host doesn't run it any more, but couldn't record that
		return nil
	case h == nil || holder == "": // a host that sees no beats can't know
		return nil
	}
	lives, err := s.Lives(tx, h.Host)
	switch {
	case err != nil || !lives:
		return err
	case seen != nil: // that host joined, or came back, since the look for runs of hosts that are gone
		return sdk.Errorf(sdk.Conflict, Taken, "run %s is running on host %s, which lives", record.ID, h.Host)
	}
	return sdk.Errorf(sdk.Conflict, "run_active", "run %s is running on host %s", record.ID, h.Host).
		WithHint("wait for it to end").WithDetail("host", h.Host)
}
