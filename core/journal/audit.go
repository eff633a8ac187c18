package journal

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/reflectory/reflectory/core"
)

// Audit proves a whole journal: every stream's chain, and that each head which
// the root recorded is still there.
type Audit struct {
	// Kept is a head of the root that was kept elsewhere. It reveals entries that were
	// cut off or rewritten together with the root. The zero value means none.
	Kept Head
	// Progress, if set, is called now and then with the number of entries checked.
	Progress func(entries int64)

	// strict and recorded are used by the [Checker]: whether each entry must be exactly
	// as the program writes it, and which heads the root recorded, by stream.
	strict   bool
	recorded map[string]uint64
}

// Audited is what an audit checked.
type Audited struct {
	Streams int64 `json:"streams"`
	Entries int64 `json:"entries"`
	// Recorded counts the heads that the root recorded.
	Recorded int64 `json:"recorded_heads"`
	// Segments counts the pruned segments that have seals, and Pruned the entries in
	// them.
	Segments int64 `json:"pruned_segments"`
	Pruned   int64 `json:"pruned_entries"`
	// Root is the root's head.
	Root Head `json:"root"`
}

// progressStep is how many entries lie between two calls of Progress.
const progressStep = 10_000

// Verify returns the first problem as an error: sdk.Internal, reason "journal_broken",
// which names the stream and the entry at fault (details "stream" and "seq"). The counts
// of what was checked until then are returned with the error.
func (a *Audit) Verify(ctx context.Context, r core.Reader) (Audited, error) {
	var done Audited
	err := a.streams(ctx, r, &done, func(err error) error { return err })
	if err == nil {
		err = a.root(ctx, r, &done)
	}
	return done, err
}

// streams checks every stream's chain, and then that each head has its stream. Problems
// are passed to report; an error from report ends the check.
func (a *Audit) streams(ctx context.Context, r core.Reader, done *Audited, report func(error) error) error {
	w := &walk{audit: a, r: r, done: done, report: report, sealed: map[string]uint64{}}
	err := core.ScanPrefix(r, []byte(eventPrefix), func(key, value []byte) (bool, error) {
		return true, cmp.Or(ctx.Err(), w.entry(key, value))
	})
	if err == nil {
		err = w.leave()
	}
	if err != nil {
		return err
	}
	for _, prefix := range []string{headPrefix, startPrefix} {
		err := core.ScanPrefix(r, []byte(prefix), func(key, _ []byte) (bool, error) {
			return true, cmp.Or(ctx.Err(), w.empty(prefix, string(key[len(prefix):])))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// empty checks a stream that has a head, or a start, but no entries.
func (w *walk) empty(prefix, stream string) error {
	if checkStream(stream) != nil {
		return w.report(broken(strconv.Quote(stream), 0, "the key isn't a head or a start"))
	}
	if prefix == startPrefix {
		if _, found, err := w.r.Get(headKey(stream)); err != nil || found {
			return err // the stream was already checked
		}
	}
	seal, err := ReadSeal(w.r, stream)
	if err == nil {
		var found bool
		if _, found, err = w.r.Get(eventKey(stream, seal.Last+1)); found {
			return err // its chain was compared with the head
		}
	}
	if err == nil {
		err = Follow(stream, seal.end()).end(w.r)
	}
	if IsBroken(err) {
		return w.report(err)
	}
	return err
}

// walk goes through all entries, stream by stream.
type walk struct {
	audit  *Audit
	r      core.Reader
	done   *Audited
	report func(error) error
	// stream is the current stream; nil before the first. skip is whether the rest of the
	// stream is skipped, because it is known to be broken.
	stream *Chain
	skip   bool
	// sealed has the previous seal of each stream that was pruned several times.
	sealed map[string]uint64
}

func (w *walk) entry(key, value []byte) error {
	stream, _, ok := splitKey(eventPrefix, key)
	if !ok || checkStream(stream) != nil {
		return w.report(broken(strconv.Quote(string(key[len(eventPrefix):])), 0, "the key isn't an entry"))
	}
	if w.stream == nil || w.stream.stream != stream {
		if err := w.leave(); err != nil {
			return err
		}
		w.done.Streams++
		if err := w.enter(stream); err != nil {
			return err
		}
	}
	if w.done.Entries++; w.audit.Progress != nil && w.done.Entries%progressStep == 0 {
		w.audit.Progress(w.done.Entries)
	}
	if w.skip {
		return nil
	}
	e, err := decode(stream, key, value)
	if err == nil {
		err = w.stream.Add(&e)
	}
	if err == nil && w.audit.strict {
		err = e.exact(stream, value)
	}
	if err == nil && stream == PrunedStream {
		err = w.checkSeal(&e)
	}
	if err != nil && !IsBroken(err) {
		return err
	}
	if err != nil {
		w.skip = true
		return w.report(err)
	}
	return nil
}

// enter begins a stream, at its seal if it has one.
func (w *walk) enter(stream string) error {
	seal, err := ReadSeal(w.r, stream)
	w.stream, w.skip = Follow(stream, seal.end()), err != nil
	if IsBroken(err) {
		return w.report(err)
	}
	return err
}

// leave ends the current stream.
func (w *walk) leave() error {
	if w.stream == nil || w.skip {
		return nil
	}
	err := w.stream.end(w.r)
	if IsBroken(err) {
		return w.report(err)
	}
	return err
}

// root checks that the kept head and all recorded ones are still there.
func (a *Audit) root(ctx context.Context, r core.Reader, done *Audited) error {
	moved, err := readMoved(r)
	if err != nil {
		return err
	}
	err = Read(r, RootStream, func(e Entry) error {
		done.Root = Head{e.Seq, e.Hash}
		if e.Seq == a.Kept.Seq && e.Hash != a.Kept.Hash {
			return broken(RootStream, e.Seq, "the entry isn't the one of the kept head: it, or an earlier one, was rewritten")
		}
		var recorded HeadsRecorded
		if err := json.Unmarshal(e.Data, &recorded); err != nil || e.Type != recorded.eventType() {
			return broken(RootStream, e.Seq, "the entry doesn't record heads")
		}
		for _, h := range recorded.Heads {
			done.Recorded++
			if err := cmp.Or(ctx.Err(), h.holds(r, moved, e.Seq)); err != nil {
				return err
			}
			if a.recorded != nil {
				a.recorded[h.Stream] = max(a.recorded[h.Stream], h.Seq)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if done.Root.Seq < a.Kept.Seq {
		return broken(RootStream, done.Root.Seq+1, fmt.Sprintf("the entry is gone: the kept head is the head of entry %d", a.Kept.Seq))
	}
	return nil
}

// holds checks that an entry of the root still names an existing entry, or one of a stream that was
// moved to another database. The stream's own chain is known to be intact.
func (h *StreamHead) holds(r core.Reader, moved map[string]Head, entry uint64) error {
	if err := checkStream(h.Stream); err != nil {
		return broken(RootStream, entry, "the entry names no stream: "+err.Error())
	}
	key := eventKey(h.Stream, h.Seq)
	value, found, err := r.Get(key)
	if err != nil {
		return err
	}
	if !found {
		seal, err := ReadSeal(r, h.Stream)
		if err == nil && h.Seq <= seal.Last {
			return h.sealed(&seal, entry)
		}
		if done, err := h.movedAway(r, moved, entry); done || err != nil {
			return err
		}
		end, err := ReadHead(r, h.Stream)
		if err != nil {
			return err
		}
		return broken(h.Stream, end.Seq+1, fmt.Sprintf("the entry is gone: the root recorded %d of them in its entry %d", h.Seq, entry))
	}
	e, err := decode(h.Stream, key, value)
	if err == nil && e.Hash != h.Hash {
		err = broken(h.Stream, h.Seq, fmt.Sprintf("the entry isn't the one that the root recorded in its entry %d: it, or an earlier one, was rewritten", entry))
	}
	return err
}

// sealed checks a head that was pruned. The seal has the hash of the last pruned entry;
// the others are in the file.
func (h *StreamHead) sealed(seal *Seal, entry uint64) error {
	if h.Seq == seal.Last && h.Hash != seal.Head {
		return broken(PrunedStream, seal.Seq, fmt.Sprintf("the seal's entry %d of %s isn't the one that the root recorded in its entry %d", h.Seq, core.Cut(h.Stream), entry))
	}
	return nil
}
