package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/sdk"
)

const (
	// MinPrefix is how much of an id [Runs.Find] needs: the part of a UUID before
	// its first dash.
	MinPrefix = 8
	// DefaultListLimit is how many runs [Runs.List] returns unless told.
	DefaultListLimit = 50
	// maxListed is how many runs an ambiguous prefix names.
	maxListed = 10
)

// Get returns a run with its content. One that isn't there is sdk.NotFound,
// reason "run_not_found".
func (s *Runs) Get(ctx context.Context, id string) (run *core.Run, err error) {
	err = s.store.View(ctx, func(r core.Reader) (err error) {
		run, err = readRun(r, id)
		return err
	})
	return run, err
}

// RunNamespace returns where a run is; "" for one of early stores.
func (s *Runs) RunNamespace(ctx context.Context, id string) (namespace string, err error) {
	err = s.store.View(ctx, func(r core.Reader) error {
		record, err := readRecord(r, id)
		if err == nil {
			namespace = record.Namespace
		}
		return err
	})
	return namespace, err
}

// Find returns the run whose id is, or alone starts with, prefix. A prefix that
// fits several runs is sdk.Conflict, reason "run_ambiguous", and names them.
func (s *Runs) Find(ctx context.Context, prefix string) (run *core.Run, err error) {
	err = s.store.View(ctx, func(r core.Reader) error {
		id, err := findID(r, prefix)
		if err != nil {
			return err
		}
		run, err = readRun(r, id)
		return err
	})
	return run, err
}

func findID(r core.Reader, prefix string) (string, error) {
	if !validID(prefix) {
		return "", notFound(prefix)
	}
	if _, found, err := r.Get(runKey(prefix)); found || err != nil {
		return prefix, err
	}
	if len(prefix) < MinPrefix {
		return "", sdk.Errorf(sdk.Invalid, "run_prefix_short", "%q is too short to name a run: give %d characters or more", prefix, MinPrefix).
			WithHint("list the runs with: reflectory runs list")
	}
	var ids []string
	err := core.ScanPrefix(r, runKey(prefix), func(key, _ []byte) (bool, error) {
		ids = append(ids, string(key[len(runPrefix):]))
		return len(ids) <= maxListed, nil
	})
	switch {
	case err != nil:
		return "", err
	case len(ids) == 0:
		return findPruned(r, prefix)
	case len(ids) > 1:
		return "", ambiguous(prefix, ids)
	}
	return ids[0], nil
}

func ambiguous(prefix string, ids []string) error {
	more := ""
	if len(ids) > maxListed {
		ids, more = ids[:maxListed], ", …"
	}
	return sdk.Errorf(sdk.Conflict, "run_ambiguous", "%q fits several runs: %s%s", prefix, strings.Join(ids, ", "), more).
		WithHint("give more of the id").WithDetail("run_ids", ids)
}

// findPruned is findID of runs that were pruned: where one is, the error says.
func findPruned(r core.Reader, prefix string) (id string, err error) {
	streams, err := journal.PrunedStreams(r, Stream(prefix), maxListed+1)
	if err != nil {
		return "", err
	}
	var ids []string
	for _, stream := range streams {
		ids = append(ids, strings.TrimPrefix(stream, Stream("")))
	}
	switch len(ids) {
	case 0:
		return "", notFound(prefix)
	case 1:
		return "", gone(r, ids[0])
	}
	return "", ambiguous(prefix, ids)
}

// gone says that a run isn't there, and where it is if it was pruned.
func gone(r core.Reader, id string) error {
	seal, err := journal.ReadSeal(r, Stream(id))
	if err != nil {
		return err
	}
	if seal.Seq == 0 {
		return notFound(id)
	}
	return sdk.Errorf(sdk.NotFound, "run_pruned", "run %s was pruned at %s: its records and events are in the file %s",
		id, seal.At.Format(time.RFC3339), seal.File).
		WithHint("the file is in the folder that store prune wrote to, unless it was moved; audit verify --segment proves it").
		WithDetail("run_id", id).WithDetail("file", seal.File).WithDetail("digest", seal.Digest)
}

func notFound(id string) error {
	if len(id) > maxIDBytes {
		id = id[:maxIDBytes] + "…"
	}
	return sdk.Errorf(sdk.NotFound, "run_not_found", "there is no run %q", id).
		WithHint("list the runs with: reflectory runs list")
}

// ListFilter selects runs. A zero field selects all.
type ListFilter struct {
	Status   core.Status
	Workflow string
	// Limit is how many are returned at most; 0 is [DefaultListLimit].
	Limit int
}

// List returns runs without their content (Source but for File, State, Error,
// Result), the newest first.
func (s *Runs) List(ctx context.Context, f ListFilter) (runs []core.Run, err error) {
	if f.Limit <= 0 {
		f.Limit = DefaultListLimit
	}
	err = s.store.View(ctx, func(r core.Reader) error {
		from := []byte(timePrefix)
		return core.ScanPrefix(r, from, func(key, _ []byte) (bool, error) {
			record, err := readIndexed(r, key)
			if err != nil {
				return false, err
			}
			if f.fits(record) {
				runs = append(runs, record.run())
			}
			return len(runs) < f.Limit, nil
		})
	})
	return runs, err
}

func (f *ListFilter) fits(r *runRecord) bool {
	return (f.Status == "" || f.Status == r.Status) && (f.Workflow == "" || f.Workflow == r.Workflow)
}

// readIndexed reads the run that a key of the time index names.
func readIndexed(r core.Reader, key []byte) (*runRecord, error) {
	id := timeID(key)
	record, err := readRecord(r, id)
	if sdk.CodeOf(err) == sdk.NotFound {
		return nil, corrupt(id, key, "it names a run that isn't there")
	}
	return record, err
}

func readRecord(r core.Reader, id string) (*runRecord, error) {
	if !validID(id) {
		return nil, notFound(id)
	}
	var record runRecord
	found, err := get(r, id, runKey(id), &record)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, gone(r, id)
	}
	if record.ID != id {
		return nil, corrupt(id, runKey(id), fmt.Sprintf("it calls itself run %q", record.ID))
	}
	return &record, nil
}

func readRun(r core.Reader, id string) (*core.Run, error) {
	record, err := readRecord(r, id)
	if err != nil {
		return nil, err
	}
	var content runContent
	found, err := get(r, id, contentKey(id), &content)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, corrupt(id, contentKey(id), "it is missing")
	}
	var end runResult
	if _, err := get(r, id, resultKey(id), &end); err != nil {
		return nil, err
	}
	run := record.run()
	run.Source, run.State, run.Error = content.Source, content.State, end.Error
	run.Result, err = readResult(r, record, &end)
	return &run, err
}

// readResult makes the result of a run from its visits. A run that ended by an
// error outside a loop has none, nor has one that is running.
func readResult(r core.Reader, record *runRecord, end *runResult) (json.RawMessage, error) {
	if len(end.Result) > 0 || record.Status.Resumable() && end.Open == nil {
		return end.Result, nil
	}
	return resultOf(r, record, end, readVisits)
}

// resultOf makes the result of a run that has ended, from visits as read reads them.
func resultOf(r core.Reader, record *runRecord, end *runResult, read visitReader) (json.RawMessage, error) {
	visits, loops, err := historyBy(r, record, read)
	if err != nil {
		return nil, err
	}
	if end.Open != nil {
		if err := complete(record.ID, resultKey(record.ID), end.Open, loops); err != nil {
			return nil, err
		}
		visits = append(visits, *end.Open)
	}
	var results core.Results
	for i := range visits {
		results.Add(&visits[i])
	}
	return results.Run(record.ID, record.Status), nil
}
