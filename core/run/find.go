package run

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/table"
	"github.com/reflectory/reflectory/sdk"
)

const (
	// MinPrefix is how many characters of an id [Repository.Find] needs: the part of a
	// UUID before its first dash.
	MinPrefix = table.MinPrefix
	// DefaultListLimit is how many runs [Repository.List] returns by default.
	DefaultListLimit = 50
)

// Get returns a run with its content. If there is none, the error is sdk.NotFound, reason
// "run_not_found". A run that is stored as running is shown as interrupted, unless this
// process or a live host runs it.
func (s *Repository) Get(ctx context.Context, id string) (run *core.Run, err error) {
	err = s.store.View(ctx, func(r core.Reader) (err error) {
		run, err = s.shown(r, id)
		return err
	})
	return run, err
}

// NextEnd is the epoch with which a run will end next: its present epoch while it runs,
// otherwise the epoch after a resume. If a later call returns a larger epoch, the run has
// ended in between, whatever the clocks of hosts show.
func (s *Repository) NextEnd(ctx context.Context, id string) (epoch int, err error) {
	err = s.store.View(ctx, func(r core.Reader) error {
		record, err := readRecord(r, id)
		if err != nil {
			return err
		}
		if epoch = record.Epoch; record.Status != core.StatusRunning {
			epoch++
		}
		return nil
	})
	return epoch, err
}

// shown reads a run with the status that is shown.
func (s *Repository) shown(r core.Reader, id string) (*core.Run, error) {
	run, err := readRun(r, id)
	if err == nil {
		run.Status, err = s.status(r, run.ID, run.Status)
	}
	return run, err
}

// status is the status to show for a stored status. A run that is stored as running, but
// that neither this process nor another host runs, is interrupted.
func (s *Repository) status(r core.Reader, id string, stored core.Status) (core.Status, error) {
	if stored != core.StatusRunning {
		return stored, nil
	}
	s.held.mu.Lock()
	_, held := s.held.of[id]
	s.held.mu.Unlock()
	if held {
		return core.StatusRunning, nil
	}
	if elsewhere, err := s.hasHost(r, id); err != nil || elsewhere {
		return core.StatusRunning, err
	}
	return core.StatusInterrupted, nil
}

// Locate returns the full id of the run whose id is prefix, or the only one whose id
// starts with prefix, and the run's namespace. Its errors are the same as [Repository.Find]'s.
func (s *Repository) Locate(ctx context.Context, prefix string) (id, namespace string, err error) {
	err = s.store.View(ctx, func(r core.Reader) error {
		if id, err = findID(r, prefix); err != nil {
			return err
		}
		record, err := readRecord(r, id)
		if err == nil {
			namespace = record.Namespace
		}
		return err
	})
	return id, namespace, err
}

// RunNamespace returns the namespace of a run.
func (s *Repository) RunNamespace(ctx context.Context, id string) (namespace string, err error) {
	err = s.store.View(ctx, func(r core.Reader) (err error) {
		namespace, err = ReadRunNamespace(r, id)
		return err
	})
	return namespace, err
}

// ReadRunNamespace is [Repository.RunNamespace] in a transaction.
func ReadRunNamespace(r core.Reader, id string) (string, error) {
	record, err := readRecord(r, id)
	if err != nil {
		return "", err
	}
	return record.Namespace, nil
}

// Find returns the run whose id is prefix, or the only one whose id starts with prefix.
// If several match, the error is sdk.Conflict, reason "run_ambiguous", and names them. A
// prefix shorter than [MinPrefix] matches none.
func (s *Repository) Find(ctx context.Context, prefix string) (run *core.Run, err error) {
	err = s.store.View(ctx, func(r core.Reader) error {
		id, err := findID(r, prefix)
		if err != nil {
			return err
		}
		run, err = s.shown(r, id)
		return err
	})
	return run, err
}

func findID(r core.Reader, prefix string) (string, error) {
	if !validID(prefix) {
		return "", RunNotFound(prefix)
	}
	id, err := runs.Find(r, "run", prefix)
	if err != nil || id != "" {
		return id, err
	}
	if len(prefix) < MinPrefix {
		return "", RunNotFound(prefix)
	}
	return findPruned(r, prefix)
}

// findPruned is findID for pruned runs. The error for a pruned run names its file.
func findPruned(r core.Reader, prefix string) (id string, err error) {
	streams, err := journal.PrunedStreams(r, Stream(prefix), table.MaxNamed+1)
	if err != nil {
		return "", err
	}
	var ids []string
	for _, stream := range streams {
		ids = append(ids, strings.TrimPrefix(stream, Stream("")))
	}
	switch len(ids) {
	case 0:
		return "", RunNotFound(prefix)
	case 1:
		return "", gone(r, ids[0])
	}
	return "", table.Ambiguous("run", prefix, ids)
}

// gone is the error for a run that doesn't exist, with its file if it was pruned.
func gone(r core.Reader, id string) error {
	seal, err := journal.ReadSeal(r, Stream(id))
	if err != nil {
		return err
	}
	if seal.Seq == 0 {
		return RunNotFound(id)
	}
	return sdk.Errorf(sdk.NotFound, "run_pruned", "run %s was pruned at %s: its records and events are in the file %s",
		id, seal.At.Format(time.RFC3339), seal.File).
		WithHint("the file is in the folder that store prune wrote to, unless it was moved; audit verify --segment proves it").
		WithDetail("run_id", id).WithDetail("file", seal.File).WithDetail("digest", seal.Digest)
}

// RunNotFound is the error for a run that doesn't exist.
func RunNotFound(id string) error {
	if len(id) > maxIDBytes {
		id = id[:maxIDBytes] + "…"
	}
	return sdk.Errorf(sdk.NotFound, "run_not_found", "there is no run %q", id).
		WithHint("list the runs").WithAction("runs list")
}

// ListFilter selects runs. A zero field selects all.
type ListFilter struct {
	// Status is one of core.RunStatuses, as shown.
	Status   core.Status
	Workflow string
	// Since leaves out runs that began before; the zero time selects all.
	Since time.Time
	// In selects runs by namespace.
	In func(namespace string) bool
	// Limit is how many are returned at most; 0 is [DefaultListLimit].
	Limit int
	// After continues an earlier list: it is the value that List returned as next.
	After string
}

// List returns runs without their content (Source except File, State, Error, Result), the
// newest first. next is where the next page begins; "" at the end. If After isn't such a
// value, the error is sdk.Invalid, reason "place_invalid".
func (s *Repository) List(ctx context.Context, f ListFilter) (list []core.Run, next string, err error) {
	if f.Limit <= 0 {
		f.Limit = DefaultListLimit
	}
	from := []byte(timePrefix)
	if f.After != "" {
		if from, err = keyAfter(f.After); err != nil {
			return nil, "", err
		}
	}
	to := core.PrefixEnd([]byte(timePrefix))
	if !f.Since.IsZero() {
		to = timeKey(f.Since.Add(-1), "") // the newest come first
	}
	err = s.store.View(ctx, func(r core.Reader) error {
		page, more, err := runs.Page(r, timePrefix, from, to, f.Limit, func(id string, record *runRecord) (_ bool, err error) {
			record.Status, err = s.status(r, id, record.Status)
			return f.fits(record), err
		})
		list, next = nil, ""
		for _, record := range page {
			list = append(list, record.run())
		}
		if more {
			last := page[len(page)-1]
			next = strconv.FormatInt(last.StartedAt.UnixNano(), 10) + "/" + last.ID
		}
		return err
	})
	return list, next, err
}

// keyAfter is the first key after a position in the time index; the run at that position
// may be gone.
func keyAfter(place string) ([]byte, error) {
	nanos, id, _ := strings.Cut(place, "/")
	started, err := strconv.ParseInt(nanos, 10, 64)
	if err != nil || !validID(id) {
		return nil, sdk.Errorf(sdk.Invalid, "place_invalid", "%q isn't a place in the list of runs", core.Cut(place))
	}
	return append(timeKey(time.Unix(0, started), id), 0), nil
}

func (f *ListFilter) fits(r *runRecord) bool {
	return (f.Status == "" || f.Status == r.Status) && (f.Workflow == "" || f.Workflow == r.Workflow) && (f.In == nil || f.In(r.Namespace))
}

func readRecord(r core.Reader, id string) (*runRecord, error) {
	if !validID(id) {
		return nil, RunNotFound(id)
	}
	record, err := runs.Get(r, id)
	if err == nil && record == nil {
		err = gone(r, id)
	}
	return record, err
}

func readRun(r core.Reader, id string) (*core.Run, error) {
	record, err := readRecord(r, id)
	if err != nil {
		return nil, err
	}
	content, err := contents.Get(r, id)
	if err != nil {
		return nil, err
	}
	if content == nil {
		return nil, contents.Damaged(contentKey(id), "it is missing")
	}
	end, err := ends.Get(r, id)
	if err != nil {
		return nil, err
	}
	if end == nil {
		end = &runResult{}
	}
	run := record.run()
	run.Source, run.State, run.Error = content.Source, content.State, end.Error
	run.Result, err = readResult(r, record, end)
	return &run, err
}

// readResult makes the result of a run from its visits. A run that is running, or that
// ended with an error outside a loop, has none.
func readResult(r core.Reader, record *runRecord, end *runResult) (json.RawMessage, error) {
	if len(end.Result) > 0 || record.Status.Resumable() && end.Open == nil {
		return end.Result, nil
	}
	return resultOf(r, record, end, readVisits)
}

// resultOf makes the result of a run that has ended, from the visits that read returns.
func resultOf(r core.Reader, record *runRecord, end *runResult, read visitReader) (json.RawMessage, error) {
	visits, loops, err := historyBy(r, record, read)
	if err != nil {
		return nil, err
	}
	if end.Open != nil {
		if err := complete(resultKey(record.ID), end.Open, loops); err != nil {
			return nil, err
		}
		visits = append(visits, *end.Open)
	}
	var results core.Results
	for i := range visits {
		results.Add(&visits[i])
	}
	run := record.run()
	return results.Run(&run), nil
}
