package decisions

import (
	"cmp"
	"context"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/sdk"
)

// batch is what one transaction writes.
type batch struct {
	records []record
	// events are in the order in which they came.
	events []entry
	bytes  int
	// lost is the number of decisions lost earlier, which the batch's first decision
	// reports; reportsLost is whether the batch has that decision.
	lost        uint64
	reportsLost bool
}

type record struct {
	key, value []byte
}

// entry is an event for a stream, and the subject that led to it.
type entry struct {
	stream, subject string
	event           journal.Event
}

// commit writes as many queued decisions as fit in a batch. It returns how many it took,
// how many of these weren't written, and why.
func (l *Log) commit(ctx context.Context, from []queued) (taken, failed int, cause error) {
	b := &batch{lost: l.unreported()}
	for _, q := range from {
		if b.bytes > batchBytes {
			break
		}
		taken++
		if err := b.add(q); err != nil {
			failed++
			cause = cmp.Or[error](cause, err)
		}
	}
	if len(b.events) == 0 {
		return taken, failed, cause
	}
	if err := l.options.Writer.Update(ctx, b.write); err != nil {
		return taken, taken, sdk.Wrap("record decisions", err)
	}
	if b.reportsLost {
		l.markReported(b.lost)
	}
	return taken, failed, cause
}

// unreported counts the lost decisions that the journal doesn't report yet; markReported notes that
// it now does.
func (l *Log) unreported() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost.count - l.lost.reported
}

func (l *Log) markReported(n uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost.reported += n
}

// add makes a decision's event and record. The first event of a
// batch reports how many decisions were lost earlier.
func (b *batch) add(q queued) error {
	if q.event != nil {
		b.events = append(b.events, entry{stream: journal.PolicyStream, event: q.event})
		return nil
	}
	if err := (core.Caller{Subject: q.decision.Subject}).Validate(); err != nil {
		return err // a single bad decision mustn't fail the whole batch
	}
	event, value, err := q.decision.Make()
	if err != nil {
		return sdk.Wrap("record a decision of "+string(q.decision.Point), err)
	}
	event.ID, event.Record = q.id, core.Digest(value)
	if !b.reportsLost {
		event.Lost, b.reportsLost = b.lost, true
	}
	b.records = append(b.records, record{recordKey(q.id), value})
	b.bytes += len(value)
	b.events = append(b.events, entry{journal.DecisionStream(string(q.decision.Point)), q.decision.Subject, event})
	return nil
}

func (b *batch) write(tx *journal.Tx) error {
	for _, r := range b.records {
		if err := tx.Put(r.key, r.value); err != nil {
			return err
		}
	}
	for _, e := range b.events {
		if err := tx.AppendFor(e.subject, e.stream, e.event); err != nil {
			return err
		}
	}
	return nil
}
