package store

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/sdk"
)

// pruneKeys is how many keys one transaction of a pruning removes: some 10 MB of
// decisions, and far below what a transaction may write.
const pruneKeys = 20_000

// Compacter is a [core.Store] that keeps the room of what was deleted until it is compacted.
type Compacter interface {
	// Compact gives back the room of what was deleted from a key on, and before another.
	// What a reader sees that began before stays until a later one.
	Compact(ctx context.Context, from, to []byte) error
}

// PruneOptions say what is pruned.
type PruneOptions struct {
	// Parts are pruned one after the other.
	Parts []PrunePart
	// Dir is the folder of the files that what is pruned is written to first. It is made
	// if need be.
	Dir string
	// DryRun counts what would be pruned, writes no file and removes nothing.
	DryRun bool
	// Progress, if set, is given now and then what was pruned of the part so far, or counted.
	Progress func(PrunedPart)
	// BatchKeys is how many keys a transaction removes, and a file is made of, unless a
	// run alone has more; 0 is 20,000.
	BatchKeys int
}

// PrunePart is a part and the name that its files begin with.
type PrunePart struct {
	Name string
	core.Pruner
}

// PrunedPart counts what was pruned of a part.
type PrunedPart struct {
	Name string `json:"-"`
	// Streams counts the streams whose beginning went, Entries the events in it, and
	// Records the records that they were about.
	Streams int `json:"streams"`
	Entries int `json:"entries"`
	Records int `json:"records"`
	// Files are the files that have them now, in the order in which they were written.
	Files []SegmentFile `json:"files"`
}

// SegmentFile is a file of segments.
type SegmentFile struct {
	Name   string `json:"file"`
	Digest string `json:"digest"`
	Bytes  int64  `json:"bytes"`
}

// Prune removes older events, with the records that they tell of, behind seals. Each
// batch is written to a file that lasts, and then removed and sealed in one transaction;
// so a program that is killed leaves whole steps, and pruning again does the rest. In the
// end the room is given back, where the store is a [Compacter]. What was done is
// returned with an error too.
func Prune(ctx context.Context, w *journal.Writer, o PruneOptions) (done []PrunedPart, err error) {
	if o.BatchKeys == 0 {
		o.BatchKeys = pruneKeys
	}
	if !o.DryRun {
		if _, err := journal.Record(ctx, w); err != nil { // the root keeps the heads of what goes
			return nil, err
		}
	}
	p := &pruning{PruneOptions: o, writer: w, removed: map[string]keyRange{}}
	for _, part := range o.Parts {
		p.done = PrunedPart{Name: part.Name, Files: []SegmentFile{}}
		err := p.part(ctx, part)
		if done = append(done, p.done); err != nil {
			return done, sdk.Wrap("prune "+part.Name, err)
		}
	}
	return done, sdk.Wrap("free the room of what was pruned", p.compact(ctx))
}

// pruning is one under way.
type pruning struct {
	PruneOptions
	writer *journal.Writer
	done   PrunedPart
	last   string // the stream that was counted last
	// removed are the ranges of what was removed, by kind of key.
	removed map[string]keyRange
}

type keyRange struct{ first, last []byte }

// pruneBatch is what one transaction removes.
type pruneBatch struct {
	file     SegmentFile
	segments []journal.Segment
	// keys are to be deleted, emptied are to lose their values, entries counts events.
	keys, emptied [][]byte
	entries       int
}

// part prunes a part, batch by batch.
func (p *pruning) part(ctx context.Context, part PrunePart) error {
	if p.DryRun {
		return p.writer.Store.View(ctx, func(r core.Reader) error {
			return part.Prunable(ctx, r, max(1, p.BatchKeys/2), func(one core.Prunable) (bool, error) {
				before := p.done.Entries
				p.count(one.Stream, int(one.Last-one.First+1), len(one.Records))
				if p.Progress != nil && p.done.Entries/pruneKeys > before/pruneKeys {
					p.Progress(p.done)
				}
				return true, nil
			})
		})
	}
	for {
		batch, err := p.write(ctx, part)
		if err != nil || len(batch.segments) == 0 {
			return err
		}
		if err := p.writer.Update(ctx, func(tx *journal.Tx) error { return p.remove(tx, batch) }); err != nil {
			return err
		}
		for i := range batch.segments {
			s := &batch.segments[i]
			p.count(s.Stream, int(s.Last-s.First+1), s.Records)
			p.note(journal.EntryKey(s.Stream, s.First), journal.EntryKey(s.Stream, s.Last))
		}
		for _, key := range slices.Concat(batch.keys, batch.emptied) {
			p.note(key, key)
		}
		p.done.Files = append(p.done.Files, batch.file)
		if p.Progress != nil {
			p.Progress(p.done)
		}
	}
}

func (p *pruning) count(stream string, entries, records int) {
	if stream != p.last {
		p.done.Streams, p.last = p.done.Streams+1, stream
	}
	p.done.Entries += entries
	p.done.Records += records
}

// write writes the next batch to a file. Without one there is no file.
func (p *pruning) write(ctx context.Context, part PrunePart) (batch pruneBatch, err error) {
	var file *segmentWriter
	defer func() {
		if file != nil {
			file.discard()
		}
	}()
	var newest time.Time
	err = p.writer.Store.View(ctx, func(r core.Reader) error {
		return part.Prunable(ctx, r, max(1, p.BatchKeys/2), func(one core.Prunable) (bool, error) {
			if file == nil {
				if file, err = createSegments(p.Dir); err != nil {
					return false, err
				}
			}
			s, err := file.segment(ctx, r, one)
			if err != nil {
				return false, err
			}
			if s.To.After(newest) {
				newest = s.To
			}
			batch.segments = append(batch.segments, s)
			batch.keys = append(append(batch.keys, one.Records...), one.Others...)
			batch.emptied = append(batch.emptied, one.Emptied...)
			batch.entries += int(s.Last - s.First + 1)
			return batch.entries+len(batch.keys)+len(batch.emptied) < p.BatchKeys, nil
		})
	})
	if err != nil || file == nil {
		return pruneBatch{}, err
	}
	batch.file.Bytes = file.bytes
	batch.file.Name, batch.file.Digest, err = file.finish(part.Name, newest)
	return batch, err
}

// remove seals the segments of a batch, and removes them.
func (p *pruning) remove(tx *journal.Tx, batch pruneBatch) error {
	for _, s := range batch.segments {
		err := tx.Prune(journal.SegmentPruned{Segment: s, File: batch.file.Name, Digest: batch.file.Digest, AgentID: tx.Caller().Label})
		if err != nil {
			return err
		}
	}
	for _, key := range batch.keys {
		if err := tx.Delete(key); err != nil {
			return err
		}
	}
	for _, key := range batch.emptied {
		_, there, err := tx.Get(key)
		if err == nil && there { // its memory wasn't purged
			err = tx.Put(key, nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// note widens the range of its kind by keys that were removed.
func (p *pruning) note(first, last []byte) {
	kind, rest, _ := strings.Cut(string(first), "/")
	if kind == "event" {
		part, _, _ := strings.Cut(rest, "/")
		kind += "/" + part
	}
	r, there := p.removed[kind]
	if !there || bytes.Compare(first, r.first) < 0 {
		r.first = first
	}
	if !there || bytes.Compare(last, r.last) > 0 {
		r.last = last
	}
	p.removed[kind] = r
}

// compact gives back the room of what was removed.
func (p *pruning) compact(ctx context.Context) error {
	engine, can := p.writer.Store.(Compacter)
	if !can {
		return nil
	}
	for _, r := range p.removed {
		if err := engine.Compact(ctx, r.first, append(slices.Clip(r.last), 0)); err != nil {
			return err
		}
	}
	return nil
}
