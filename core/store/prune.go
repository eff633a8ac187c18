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
// decisions, and far below the limit of a transaction.
const pruneKeys = 20_000

// Compacter is a [core.Store] in which deleted data takes up space until it is compacted.
type Compacter interface {
	// Compact frees the space of deleted data from one key up to another. Data that an
	// earlier reader still sees is left until a later call.
	Compact(ctx context.Context, from, to []byte) error
}

// PruneOptions determine what is pruned.
type PruneOptions struct {
	// Parts are pruned one after the other.
	Parts []PrunePart
	// Dir is the folder of the files to which data is written before it is pruned. It is
	// created if necessary.
	Dir string
	// DryRun only counts what would be pruned: no file is written, and nothing is removed.
	DryRun bool
	// RecordHeads makes the journal's root record the heads of what is pruned. Nil means
	// [journal.Record], for a store that no other host uses.
	RecordHeads func(context.Context) error
	// Progress, if set, is called now and then with what was pruned, or counted, of the
	// part so far.
	Progress func(PrunedPart)
	// BatchKeys is how many keys a transaction removes, and a file holds, unless a single
	// run has more; 0 is 20,000.
	BatchKeys int
}

// PrunePart is a part, and the prefix of its files' names.
type PrunePart struct {
	Name string
	core.Pruner
}

// PrunedPart counts what was pruned of a part.
type PrunedPart struct {
	Name string `json:"-"`
	// Streams counts the streams whose beginning was pruned, Entries the pruned events, and
	// Records the records of these events.
	Streams int `json:"streams"`
	Entries int `json:"entries"`
	Records int `json:"records"`
	// Files are the files with the pruned data, in the order in which they were written.
	Files []SegmentFile `json:"files"`
}

// SegmentFile is a file of segments.
type SegmentFile struct {
	Name   string `json:"file"`
	Digest string `json:"digest"`
	Bytes  int64  `json:"bytes"`
}

// Prune removes older events, with the records that they report, and leaves seals. Each
// batch is written to a file and synced, and then removed and sealed in one transaction.
// So a program that is killed leaves complete steps, and pruning again does the rest. At
// the end the space is freed, if the store is a [Compacter]. What was done is returned
// even with an error.
func Prune(ctx context.Context, w *journal.Writer, o PruneOptions) (done []PrunedPart, err error) {
	if o.BatchKeys == 0 {
		o.BatchKeys = pruneKeys
	}
	if !o.DryRun {
		if err := o.recordHeads(ctx, w); err != nil { // the root keeps the heads of pruned entries
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
	return done, sdk.Wrap("free the space of pruned data", p.compact(ctx))
}

func (o *PruneOptions) recordHeads(ctx context.Context, w *journal.Writer) error {
	if o.RecordHeads != nil {
		return o.RecordHeads(ctx)
	}
	_, err := journal.Record(ctx, w)
	return err
}

// pruning is a pruning in progress.
type pruning struct {
	PruneOptions
	writer *journal.Writer
	done   PrunedPart
	last   string // the stream that was counted last
	// removed are the removed ranges of keys, by kind of key.
	removed map[string]keyRange
}

type keyRange struct{ first, last []byte }

// pruneBatch is what one transaction removes.
type pruneBatch struct {
	file     SegmentFile
	segments []journal.Segment
	// keys are the keys to delete, emptied the keys that lose their values, and entries
	// counts events.
	keys, emptied [][]byte
	entries       int
	// also are further changes that the parts make.
	also []func(core.Tx) error
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

// write writes the next batch to a file. If there is none, it writes no file.
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
			if one.Remove != nil {
				batch.also = append(batch.also, one.Remove)
			}
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
	for _, change := range batch.also {
		if err := change(tx); err != nil {
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
		if err == nil && there { // the memory wasn't purged
			err = tx.Put(key, nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// note extends the range of its kind by removed keys.
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

// compact frees the space of removed data.
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
