package run

import (
	"bytes"
	"context"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/sdk"
)

// Pruner finds the runs that ended before a time and can't be resumed. Use it for one
// pruning only.
type Pruner struct {
	Before time.Time
	// Purged is as in [Checker].
	Purged core.Purged

	next []byte // where the search in the index by time continues
}

var _ core.Pruner = (*Pruner)(nil)

// Prunable implements [core.Pruner]. A run is one part, whatever its length.
func (p *Pruner) Prunable(ctx context.Context, r core.Reader, _ int, fn func(core.Prunable) (bool, error)) error {
	if p.next == nil {
		p.next = timeKey(p.Before, "") // no run ends before it began
	}
	return r.Scan(p.next, core.PrefixEnd([]byte(timePrefix)), func(key, _ []byte) (bool, error) {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		p.next = append(bytes.Clone(key), 0)
		record, err := runs.Named(r, key, timeID(key))
		if err != nil || record.resumable() || record.Status == core.StatusRunning || !record.UpdatedAt.Before(p.Before) {
			return true, err
		}
		part, err := p.run(r, record)
		if err != nil {
			return false, err
		}
		return fn(part)
	})
}

// run returns everything that a run has. A damaged run isn't pruned.
func (p *Pruner) run(r core.Reader, record *runRecord) (core.Prunable, error) {
	id := record.ID
	var damage error
	c := &checking{r: r, purged: p.Purged, report: func(found core.Problem) {
		if damage == nil {
			damage = sdk.Errorf(sdk.Internal, "record_corrupt", "run %s, record %s: %s", id, found.Key, found.Message).
				WithHint("damaged records weren't pruned; check the store").WithAction("store check")
		}
	}}
	if err := c.run(record); err != nil || damage != nil {
		return core.Prunable{}, core.JoinErrors(err, damage)
	}
	head, err := journal.ReadHead(r, Stream(id))
	if err != nil {
		return core.Prunable{}, err
	}
	indexed, err := runs.IndexKeys(id, record)
	if err != nil {
		return core.Prunable{}, err
	}
	part := core.Prunable{
		Stream: Stream(id), First: 1, Last: head.Seq,
		Records: [][]byte{runKey(id), contentKey(id), resultKey(id)},
		Others:  indexed,
		Remove: func(tx core.Tx) error {
			gone := *record // it may be removed from the counts again
			return uncount(tx, &gone)
		},
	}
	visits, err := readVisitRecords(r, record)
	if err != nil {
		return part, err
	}
	for i := range visits {
		part.Records = append(part.Records, visitKey(id, visits[i].Number))
		for _, held := range visits[i].Memories {
			if held.Digest != "" { // otherwise it was purged before
				part.Emptied = append(part.Emptied, textKey(held.MemoryID, id, visits[i].Number))
			}
		}
	}
	err = scanPrefix(r, attemptPrefix+id+"/", func(key, _ []byte) error {
		part.Records = append(part.Records, bytes.Clone(key))
		return nil
	})
	if err != nil {
		return part, err
	}
	prompts, err := promptKeys(r, id)
	part.Others = append(part.Others, prompts...)
	return part, err
}
