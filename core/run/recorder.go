package run

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/sdk"
)

// maxAttemptBytes is the largest record of an attempt. A loop's result holds up to two
// attempts, the returned one and the newest, and must fit in a value. It is as large as
// three messages of plugins (8 MiB each).
const maxAttemptBytes = 24 << 20

// Recorder records the progress of a run that the caller created or resumed. Each call is
// one durable commit, and refuses a record that doesn't continue what was recorded:
// attempt k+1 needs the verdict of attempt k, visit n+1 the end of visit n. RecordEnd
// releases the run, whether it succeeds or not.
func (s *Repository) Recorder(r *core.Run) core.RunRecorder {
	s.held.mu.Lock()
	defer s.held.mu.Unlock()
	return &recorder{runs: s, id: r.ID, epoch: s.held.of[r.ID]}
}

// recorder implements [core.RunRecorder] for one epoch of a run.
type recorder struct {
	runs  *Repository
	id    string
	epoch int
	// newest is the last record that this recorder wrote.
	newest atomic.Pointer[written]
}

// written is the record of a run as it was written, and the head of its stream from the
// same transaction.
type written struct {
	value  []byte
	record runRecord
	head   journal.Head
}

// Attempts implements [core.RunRecorder].
func (c *recorder) Attempts(visit int, node string) core.AttemptRecorder {
	return &attempts{recorder: c, visit: visit, node: node}
}

// RecordVisit implements [core.RunRecorder].
func (c *recorder) RecordVisit(ctx context.Context, v *core.Visit) error {
	op := func() string { return fmt.Sprintf("record visit %d (%s) of run %s", v.Number, v.Node, c.id) }
	return c.update(ctx, op, func(tx core.Tx, record *runRecord) (journal.Event, error) {
		if v.Number != record.Visits+1 {
			return nil, outOfOrder("visit %d after visit %d", v.Number, record.Visits)
		}
		if last := record.Last; last.Iteration > 0 && last.Node != v.Node {
			return nil, outOfOrder("visit %d is at node %s, its attempts at node %s", v.Number, v.Node, last.Node)
		}
		stored, err := shortened(v, record)
		if err != nil {
			return nil, err
		}
		visit := visitRecord{Visit: *stored}
		visit.Prompts = nil
		digest := core.Digest(v.Result)
		if record.Last.Iteration == 0 { // a loop returns no memories
			if err := putTexts(tx, c.id, &visit, c.runs.Purged); err != nil {
				return nil, err
			}
			digest = core.Digest(visit.Result)
		}
		record.Memories = record.Memories || visit.apart()
		record.Visits, record.Last, record.Open = v.Number, lastAttempt{}, core.RunUsage{}
		return journal.VisitRecorded{
			Visit: v.Number, Node: v.Node, Skipped: v.Skipped, Next: v.Next, Result: digest, Memories: visit.Memories,
		}, core.JoinErrors(visitRecords.Put(tx, c.id+"/"+numbers(v.Number), &visit), addPrompts(tx, c.id, v.Number, 0, v.Prompts, c.runs.Purged))
	})
}

// RecordEnd implements [core.RunRecorder].
func (c *recorder) RecordEnd(ctx context.Context, r *core.Run, open *core.Visit) error {
	defer c.runs.release(c.id)
	op := func() string { return "record the end of run " + c.id }
	return c.update(ctx, op, func(tx core.Tx, record *runRecord) (journal.Event, error) {
		if r.Status == core.StatusRunning || r.Status == core.StatusInterrupted || r.Status == "" {
			return nil, outOfOrder("an end with status %q", r.Status)
		}
		end := runResult{Error: r.Error}
		if open != nil {
			if err := addPrompts(tx, c.id, open.Number, 0, open.Prompts, c.runs.Purged); err != nil {
				return nil, err
			}
		}
		if open != nil && open.Result != nil {
			visit := *open
			visit.Prompts = nil
			var err error
			if end.Open, err = shortened(&visit, record); err != nil {
				return nil, err
			}
		}
		record.Status, record.StopReason, record.ExhaustedLoops = r.Status, r.StopReason, r.ExhaustedLoops
		record.Score, record.Iterations, record.Usage, record.Open = r.Score, r.Iterations, r.Usage, r.Open
		record.Recalled, record.Used = r.Recalled, r.Used
		if err := countEnd(tx, record); err != nil {
			return nil, err
		}
		if !r.Status.Resumable() {
			if err := steps.DeleteAll(tx, c.id+"/"); err != nil {
				return nil, err
			}
		}
		result := r.Result
		if record.Memories {
			var err error
			if result, err = resultOf(tx, record, &end, readVisitsAsStored); err != nil {
				return nil, err
			}
		}
		if err := c.runs.dropHeld(tx, c.id); err != nil {
			return nil, err
		}
		return journal.RunEnded{Status: r.Status, StopReason: r.StopReason, ExhaustedLoops: r.ExhaustedLoops, Result: core.Digest(result)},
			ends.Put(tx, c.id, &end)
	})
}

// update runs one change of the run's record together with its journal entry.
func (c *recorder) update(ctx context.Context, op func() string, change func(core.Tx, *runRecord) (journal.Event, error)) error {
	var next *written
	err := c.runs.store.Update(ctx, func(tx core.Tx) (err error) {
		if next, err = c.read(tx); err != nil {
			return err
		}
		record := &next.record
		if err := c.holds(record); err != nil {
			return err
		}
		old := *record
		record.UpdatedAt = c.runs.clock.Now().UTC().Round(0)
		event, err := change(tx, record)
		if err != nil {
			return err
		}
		if next.value, err = runs.Value(c.id, record); err != nil {
			return err
		}
		if err := core.JoinErrors(tx.Put(runKey(c.id), next.value), runs.Index(tx, c.id, &old, record)); err != nil {
			return err
		}
		next.head, err = journal.AppendAfter(ctx, tx, Stream(c.id), next.head, record.UpdatedAt, event)
		return err
	})
	if err != nil {
		return sdk.Wrap(op(), err)
	}
	c.newest.Store(next)
	return nil
}

// read returns the run's record and the head of its stream. A record that is byte for
// byte what this recorder wrote last isn't decoded again. Each entry of the journal
// changes the record, so the head is then known too.
func (c *recorder) read(tx core.Tx) (*written, error) {
	if last := c.newest.Load(); last != nil {
		value, _, err := tx.Get(runKey(c.id))
		if err != nil {
			return nil, err
		}
		if bytes.Equal(value, last.value) {
			same := *last
			return &same, nil
		}
	}
	record, err := readRecord(tx, c.id)
	if err != nil {
		return nil, err
	}
	head, err := journal.ReadHead(tx, Stream(c.id))
	return &written{record: *record, head: head}, err
}

// holds refuses a recorder that isn't, or is no longer, the run's holder.
func (c *recorder) holds(r *runRecord) error {
	switch {
	case c.epoch != r.Epoch:
		return sdk.Errorf(sdk.Conflict, "run_taken_over", "the run was resumed elsewhere (epoch %d, this is %d)", r.Epoch, c.epoch).
			WithHint("let the other program continue the run; see its progress").WithAction("runs show", "run", c.id)
	case r.Status != core.StatusRunning:
		return sdk.Errorf(sdk.Conflict, "run_ended", "the run has ended: it is %s", r.Status)
	}
	return nil
}

// attempts implements [core.AttemptRecorder] for one visit.
type attempts struct {
	*recorder
	visit int
	node  string
}

// RecordOutput implements [core.AttemptRecorder].
func (c *attempts) RecordOutput(ctx context.Context, a *core.Attempt) error {
	return c.update(ctx, c.op("output", a), func(tx core.Tx, record *runRecord) (journal.Event, error) {
		if err := c.begins(record, a); err != nil {
			return nil, err
		}
		if a.Judged {
			return nil, outOfOrder("attempt %d is already judged: record its verdict", a.Iteration)
		}
		record.Last = lastAttempt{Node: c.node, Iteration: a.Iteration}
		return journal.OutputRecorded{
			Visit: c.visit, Node: c.node, Iteration: a.Iteration, Role: string(a.Role), Output: core.Digest(a.Output),
		}, c.put(tx, a)
	})
}

// RecordVerdict implements [core.AttemptRecorder]. An attempt that wasn't recorded before
// its evaluation, because its generator failed and nothing was evaluated, is recorded as
// a whole.
func (c *attempts) RecordVerdict(ctx context.Context, a *core.Attempt) error {
	return c.update(ctx, c.op("verdict", a), func(tx core.Tx, record *runRecord) (journal.Event, error) {
		if !a.Judged {
			return nil, outOfOrder("attempt %d has no verdict", a.Iteration)
		}
		if err := c.judges(record, a); err != nil {
			return nil, err
		}
		record.Last = lastAttempt{Node: c.node, Iteration: a.Iteration, Judged: true}
		record.Score, record.Iterations = a.Score, a.Iteration
		record.Usage.Usage = record.Usage.Add(a.Usage)
		return journal.VerdictRecorded{
			Visit: c.visit, Node: c.node, Iteration: a.Iteration, Score: a.Score,
			Valid: a.Valid, Accepted: a.Accepted, Output: core.Digest(a.Output),
		}, c.put(tx, a)
	})
}

// begins checks that the attempt is the visit's next one.
func (c *attempts) begins(r *runRecord, a *core.Attempt) error {
	last := r.Last
	switch {
	case c.visit != r.Visits+1:
		return outOfOrder("an attempt of visit %d while visit %d is open", c.visit, r.Visits+1)
	case last.Iteration > 0 && last.Node != c.node:
		return outOfOrder("an attempt of node %s while visit %d is at node %s", c.node, c.visit, last.Node)
	case a.Iteration != last.Iteration+1:
		return outOfOrder("attempt %d after attempt %d", a.Iteration, last.Iteration)
	case last.Iteration > 0 && !last.Judged:
		return outOfOrder("attempt %d before the verdict of attempt %d", a.Iteration, last.Iteration)
	}
	return nil
}

// judges checks that the attempt is the recorded one without a verdict, or a new one.
func (c *attempts) judges(r *runRecord, a *core.Attempt) error {
	waits := c.visit == r.Visits+1 && c.node == r.Last.Node && !r.Last.Judged
	if waits && a.Iteration == r.Last.Iteration {
		return nil
	}
	return c.begins(r, a)
}

func (c *attempts) put(tx core.Tx, a *core.Attempt) error {
	id := c.id + "/" + numbers(c.visit, a.Iteration)
	record := attemptRecord{Node: c.node, Attempt: *a}
	record.Attempt.Prompts = nil
	value, err := attemptRecords.Value(id, &record)
	if err != nil {
		return err
	}
	if len(value) > maxAttemptBytes {
		return sdk.Errorf(sdk.Exhausted, "attempt_too_large", "attempt %d of node %s has %d bytes (limit %d)",
			a.Iteration, c.node, len(value), maxAttemptBytes).
			WithHint("let the plugins return less: a shorter output, less feedback, fewer errors")
	}
	return core.JoinErrors(tx.Put([]byte(attemptPrefix+id), value), addPrompts(tx, c.id, c.visit, a.Iteration, a.Prompts, c.runs.Purged))
}

func (c *attempts) op(what string, a *core.Attempt) func() string {
	return func() string {
		return fmt.Sprintf("record %s of attempt %d (visit %d, %s) of run %s", what, a.Iteration, c.visit, c.node, c.id)
	}
}

// outOfOrder reports a defect of the recorder's caller, so it has no hint.
func outOfOrder(format string, args ...any) error {
	return sdk.Errorf(sdk.Internal, "record_out_of_order", "out of order: "+format, args...)
}
