package run

import (
	"context"
	"sync"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// Repository stores runs. Every write is one transaction that holds the record, its index
// and its journal entry. It is safe for concurrent use.
//
// A run has one writer at a time: the holder that created or last resumed it. Each resume
// raises the run's epoch, and a recorder of an older epoch is refused, so a holder that lost
// its run can't damage it, whatever its process.
type Repository struct {
	store core.Store
	clock core.Clock
	// Purged reports whether a memory was purged, so that a run no longer records its
	// texts. It is nil for a store without memories.
	Purged core.Purged
	// Lives reports whether a host is alive, and Holder is the id by which other hosts know
	// this host, "" if it has no beat. They are nil if no other host can work on the store.
	Lives  func(r core.Reader, host string) (bool, error)
	Holder func() string

	held *heldEpochs
}

// heldEpochs maps the runs of this process to their epoch.
type heldEpochs struct {
	mu sync.Mutex
	of map[string]int
}

// NewRepository returns the repository on a store.
func NewRepository(s core.Store, clock core.Clock) *Repository {
	return &Repository{store: s, clock: clock, held: &heldEpochs{of: map[string]int{}}}
}

// In is the repository within a transaction, which commits what is done to runs there. A caller whose
// transaction is repeated must [Repository.Leave] the runs that it created in it first.
func (s *Repository) In(tx core.Tx) *Repository {
	in := *s
	in.store = within{tx}
	return &in
}

// Atomically calls fn with the repository within one transaction, which may be repeated: see [Repository.In].
func (s *Repository) Atomically(ctx context.Context, fn func(in *Repository) error) error {
	return s.store.Update(ctx, func(tx core.Tx) error { return fn(s.In(tx)) })
}

// within is a store whose transactions are parts of one.
type within struct{ tx core.Tx }

// View implements [core.Store].
func (w within) View(_ context.Context, fn func(core.Reader) error) error { return fn(w.tx) }

// Update implements [core.Store].
func (w within) Update(_ context.Context, fn func(core.Tx) error) error { return fn(w.tx) }

// Stream is the name of a run's stream in the journal.
func Stream(runID string) string { return "run/" + runID }

// Create stores a new run and makes the caller its holder, until RecordEnd. It
// sets the run's Status to running, UpdatedAt, and StartedAt if that is zero.
func (s *Repository) Create(ctx context.Context, r *core.Run) error {
	return s.CreateWith(ctx, r, Needs{})
}

// CreateWith is Create for a run that another host can continue, if it has what the run
// needs.
func (s *Repository) CreateWith(ctx context.Context, r *core.Run, n Needs) error {
	if !validID(r.ID) {
		return sdk.Errorf(sdk.Invalid, "run_id_invalid", "run id %q is not 1 to %d letters, digits, dashes, dots and underscores", r.ID, maxIDBytes)
	}
	now := s.clock.Now().UTC().Round(0)
	if r.StartedAt.IsZero() {
		r.StartedAt = now
	}
	r.Status, r.UpdatedAt = core.StatusRunning, now
	if !s.claim(r.ID) { // before it is stored, so that it is never shown as interrupted
		return sdk.Wrap("create run "+r.ID, runExists())
	}
	err := s.store.Update(ctx, func(tx core.Tx) error {
		if err := create(ctx, tx, r); err != nil || s.Holder == nil {
			return err
		}
		return s.putHeld(ctx, tx, r.ID, 1, n)
	})
	if err != nil {
		s.release(r.ID)
		return sdk.Wrap("create run "+r.ID, err)
	}
	s.hold(r.ID, 1)
	return nil
}

func runExists() error { return sdk.Errorf(sdk.Conflict, "run_exists", "a run of that id exists") }

func create(ctx context.Context, tx core.Tx, r *core.Run) error {
	if _, found, err := tx.Get(runKey(r.ID)); err != nil || found {
		if found {
			err = runExists()
		}
		return err
	}
	if seal, err := journal.ReadSeal(tx, Stream(r.ID)); err != nil || seal.Seq > 0 {
		if err == nil {
			err = sdk.Errorf(sdk.Conflict, "run_exists", "a run of that id was pruned")
		}
		return err
	}
	record := runRecord{
		ID: r.ID, Workflow: r.Workflow, Namespace: r.Namespace, Session: r.Session, Parent: r.Parent, File: r.Source.File, Status: r.Status,
		StartedAt: r.StartedAt, UpdatedAt: r.UpdatedAt, Usage: r.Usage, Epoch: 1,
	}
	if err := runs.Add(tx, r.ID, &record); err != nil {
		return err
	}
	if err := contents.Add(tx, r.ID, &runContent{Source: r.Source, State: r.State}); err != nil {
		return err
	}
	return journal.Append(ctx, tx, Stream(r.ID), r.UpdatedAt, journal.RunStarted{
		Workflow: r.Workflow, Source: core.Digest(jsontext.MustEncode(r.Source)), State: core.Digest(r.State),
	})
}

// Resume makes the caller the holder of a run that can be resumed, or whose host is gone,
// and returns the run as running. If its end is final, the error is sdk.Conflict, reason
// "run_not_resumable"; if this process or, as far as is known, another host runs it, the
// reason is "run_active".
func (s *Repository) Resume(ctx context.Context, id string) (*core.Run, error) {
	return s.ResumeWith(ctx, id, Needs{}, nil)
}

// ResumeWith is Resume for a run that another host can continue, if it has what the run
// needs. from is how the run was held by a host that is gone: if that has changed, the error
// is sdk.Conflict, reason [Taken]. It is nil for a resume that a caller asked for.
func (s *Repository) ResumeWith(ctx context.Context, id string, n Needs, from *Held) (*core.Run, error) {
	if !s.claim(id) {
		return nil, sdk.Errorf(sdk.Conflict, "run_active", "run %s is running in this program", id).
			WithHint("wait for it to end")
	}
	var run *core.Run
	var epoch int
	err := s.store.Update(ctx, func(tx core.Tx) (err error) {
		if run, epoch, err = s.resume(ctx, tx, id, n, from); err != nil {
			return err
		}
		return s.putHeld(ctx, tx, id, epoch, n)
	})
	if err != nil {
		s.release(id)
		return nil, sdk.Wrap("resume run "+id, err)
	}
	s.hold(id, epoch)
	return run, nil
}

func (s *Repository) resume(ctx context.Context, tx core.Tx, id string, n Needs, from *Held) (*core.Run, int, error) {
	record, err := readRecord(tx, id)
	if err == nil {
		err = s.free(tx, record, n, from)
	}
	if err != nil {
		return nil, 0, err
	}
	switch {
	case record.resumable():
	case record.Status.Resumable():
		return nil, 0, sdk.Errorf(sdk.Conflict, "run_not_resumable", "the run is a request for a model, whose client is gone").
			WithHint("look at the run").WithAction("runs show", "run", id).WithDetail("status", record.Status)
	default:
		return nil, 0, sdk.Errorf(sdk.Conflict, "run_not_resumable", "the run is %s: only a run that is running, cancelled or ended by an error can be resumed", record.Status).
			WithHint("look at the run").WithAction("runs show", "run", id).WithDetail("status", record.Status)
	}
	if err := uncount(tx, record); err != nil {
		return nil, 0, err
	}
	record.Status, record.StopReason, record.ExhaustedLoops = core.StatusRunning, "", nil
	record.Epoch++
	record.UpdatedAt = s.clock.Now().UTC().Round(0)
	if err := runs.Put(tx, id, record); err != nil {
		return nil, 0, err
	}
	if err := tx.Delete(resultKey(id)); err != nil {
		return nil, 0, err
	}
	err = journal.Append(ctx, tx, Stream(id), record.UpdatedAt, journal.RunResumed{Epoch: record.Epoch})
	if err != nil {
		return nil, 0, err
	}
	run, err := readRun(tx, id)
	return run, record.Epoch, err
}

// hold notes the epoch with which this process runs a run.
func (s *Repository) hold(id string, epoch int) {
	s.held.mu.Lock()
	defer s.held.mu.Unlock()
	s.held.of[id] = epoch
}

// claim reserves a run for its start or a resume, unless this process runs it.
func (s *Repository) claim(id string) bool {
	s.held.mu.Lock()
	defer s.held.mu.Unlock()
	if _, held := s.held.of[id]; held {
		return false
	}
	s.held.of[id] = 0
	return true
}

func (s *Repository) release(id string) {
	s.held.mu.Lock()
	defer s.held.mu.Unlock()
	delete(s.held.of, id)
}
