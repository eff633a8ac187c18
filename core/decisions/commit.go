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
	// streams are the events by their stream, in the order of order.
	streams map[string][]journal.Event
	order   []string
	bytes   int
	// lost is what was lost before, which the first decision tells, and told
	// whether there is one.
	lost uint64
	told bool
}

type record struct {
	key, value []byte
}

// commit writes as many of the queued as a batch holds. It returns how many it
// took, how many of these aren't written, and why.
func (l *Log) commit(ctx context.Context, from []queued) (taken, failed int, cause error) {
	b := &batch{streams: map[string][]journal.Event{}, lost: l.untold()}
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
	if len(b.order) == 0 {
		return taken, failed, cause
	}
	if err := l.writer.Update(ctx, b.write); err != nil {
		return taken, taken, sdk.Wrap("record decisions", err)
	}
	if b.told {
		l.tell(b.lost)
	}
	return taken, failed, cause
}

// untold counts what was lost and isn't told in the journal, and tell notes that
// it is.
func (l *Log) untold() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost.count - l.lost.told
}

func (l *Log) tell(n uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost.told += n
}

// add makes a decision's event and record. The first tells what was lost before.
func (b *batch) add(q queued) error {
	if q.event != nil {
		b.append(journal.PolicyStream, q.event)
		return nil
	}
	event, value, err := q.decision.Make()
	if err != nil {
		return sdk.Wrap("record a decision of "+string(q.decision.Point), err)
	}
	event.ID, event.Record = q.id, core.Digest(value)
	if !b.told {
		event.Lost, b.told = b.lost, true
	}
	b.records = append(b.records, record{recordKey(q.id), value})
	b.bytes += len(value)
	b.append(journal.DecisionStream(string(q.decision.Point)), event)
	return nil
}

func (b *batch) append(stream string, e journal.Event) {
	if _, there := b.streams[stream]; !there {
		b.order = append(b.order, stream)
	}
	b.streams[stream] = append(b.streams[stream], e)
}

func (b *batch) write(tx *journal.Tx) error {
	for _, r := range b.records {
		if err := tx.Put(r.key, r.value); err != nil {
			return err
		}
	}
	for _, stream := range b.order {
		if err := tx.Append(stream, b.streams[stream]...); err != nil {
			return err
		}
	}
	return nil
}
