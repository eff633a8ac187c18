package journal

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/codec"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// The beginning of a stream may be pruned, once it is in a file. A seal proves the rest:
// an event in its own stream, which is never pruned, with the number and hash of the
// last pruned entry. The rest continues from it as it continued from that entry. The key
// event-start/ names the stream's newest seal, so that no search is needed.
//
// A stream may only be pruned if its events prove nothing but records that are pruned
// with them. All memories depend on the streams of namespaces, sessions and workflows'
// graphs, from their first entry on.

// PrunedStream is the stream of the seals.
const PrunedStream = "pruned"

// mayBePruned reports whether a stream belongs to a run, or to a policy point's
// decisions.
func mayBePruned(stream string) bool {
	return strings.HasPrefix(stream, "run/") || strings.HasPrefix(stream, DecisionStream(""))
}

// Seal is the event of a pruned segment, with its number in [PrunedStream]. The zero
// value is the seal of a stream that was never pruned.
type Seal struct {
	Seq uint64
	At  time.Time
	SegmentPruned
}

// end is the last pruned entry, which the next one continues.
func (s *Seal) end() Head { return Head{s.Last, s.Head} }

// start is the value of a stream's event-start/ key.
type start struct {
	Seq  uint64 `json:"seq"`  // the number of the first entry left, or of the next one
	Seal uint64 `json:"seal"` // the number of the seal's entry
}

// ReadSeal returns the newest seal of a stream. If the seal doesn't match the stream's
// beginning, the error is as from [Audit.Verify].
func ReadSeal(r core.Reader, stream string) (Seal, error) {
	if err := checkStream(stream); err != nil {
		return Seal{}, err
	}
	value, found, err := r.Get(startKey(stream))
	if err != nil || !found {
		return Seal{}, err
	}
	var at start
	if codec.Decode(value, &at) != nil || !bytes.Equal(jsontext.MustEncode(at), value) || at.Seq < 2 {
		return Seal{}, broken(stream, 1, "the key event-start/ isn't as the program writes it")
	}
	seal, err := sealAt(r, at.Seal)
	if err == nil && (seal.Stream != stream || seal.Last+1 != at.Seq) {
		err = broken(stream, 1, fmt.Sprintf("it begins at entry %d, but the seal in entry %d of %s isn't for the entries before that", at.Seq, at.Seal, PrunedStream))
	}
	return seal, err
}

// sealAt reads an entry of the stream of seals.
func sealAt(r core.Reader, seq uint64) (Seal, error) {
	e, found, err := Get(r, PrunedStream, seq)
	if err != nil {
		return Seal{}, err
	}
	if !found || e.Seq != seq {
		return Seal{}, broken(PrunedStream, seq, "the entry is gone: a stream needs it as its seal")
	}
	if e.Hash != e.hash(PrunedStream) {
		return Seal{}, broken(PrunedStream, seq, "the seal was edited: its hash doesn't match its content")
	}
	return asSeal(&e)
}

func asSeal(e *Entry) (Seal, error) {
	event, is := As[SegmentPruned](e)
	if !is {
		return Seal{}, broken(PrunedStream, e.Seq, "the entry isn't a seal")
	}
	return Seal{e.Seq, e.At, event}, nil
}

// Seals calls fn for each seal, the oldest first, until it returns false or an error.
func Seals(r core.Reader, fn func(Seal) (more bool, err error)) error {
	return ReadFrom(r, PrunedStream, 0, func(e Entry) (bool, error) {
		seal, err := asSeal(&e)
		if err != nil {
			return false, err
		}
		return fn(seal)
	})
}

// Prune removes the entries of a segment, which is in a file, and seals it. It sets
// Previous. If the segment is no longer the stream's beginning, or the root doesn't have
// it yet, the error is sdk.Conflict, reason "segment_changed".
func (tx *Tx) Prune(s SegmentPruned) error {
	if !mayBePruned(s.Stream) {
		return sdk.Errorf(sdk.Invalid, "stream_kept", "stream %s is never pruned: records depend on it", core.Cut(s.Stream))
	}
	before, err := ReadSeal(tx, s.Stream)
	if err != nil {
		return err
	}
	known := true
	err = tx.Scan(newKey(s.Stream, s.First), newKey(s.Stream, s.Last+1), func(_, _ []byte) (bool, error) {
		known = false
		return false, nil
	})
	if err != nil {
		return err
	}
	if !known || s.First != before.Last+1 || s.Before != before.Head {
		return sdk.Errorf(sdk.Conflict, "segment_changed", "the beginning of stream %s changed while it was written to a file", core.Cut(s.Stream)).
			WithHint("prune again")
	}
	s.Previous = before.Seq
	if err := tx.Append(PrunedStream, s); err != nil {
		return err
	}
	seal, err := tx.Head(PrunedStream)
	if err != nil {
		return err
	}
	if err := tx.Put(startKey(s.Stream), jsontext.MustEncode(start{s.Last + 1, seal.Seq})); err != nil {
		return err
	}
	for seq := s.First; seq <= s.Last; seq++ {
		if err := tx.Delete(eventKey(s.Stream, seq)); err != nil {
			return err
		}
	}
	return nil
}

// checkSeal checks a seal that the audit reached: it continues the stream's previous
// seal, and the stream begins after it.
func (w *walk) checkSeal(e *Entry) error {
	seal, err := asSeal(e)
	if err != nil {
		return err
	}
	w.done.Segments++
	w.done.Pruned += int64(seal.Last - seal.First + 1)
	wrong := func(format string, args ...any) error {
		return broken(PrunedStream, e.Seq, "the seal "+fmt.Sprintf(format, args...))
	}
	if !mayBePruned(seal.Stream) {
		return wrong("is of %s, which is never pruned", core.Cut(seal.Stream))
	}
	var before Seal
	if seal.Previous > 0 && seal.Previous < e.Seq {
		if before, err = sealAt(w.r, seal.Previous); err != nil {
			return err
		}
	}
	newest, err := ReadSeal(w.r, seal.Stream)
	switch {
	case err != nil:
		return err
	case before.Stream != seal.Stream && seal.Previous > 0, seal.Previous != w.sealed[seal.Stream],
		seal.First != before.Last+1, seal.Before != before.Head, seal.Last < seal.First:
		return wrong("doesn't continue the previous seal of %s", core.Cut(seal.Stream))
	case newest.Seq < seal.Seq:
		return wrong("says that entries %d to %d of %s were pruned, but the stream doesn't begin after them", seal.First, seal.Last, core.Cut(seal.Stream))
	case newest.Seq > seal.Seq:
		w.sealed[seal.Stream] = seal.Seq
	default:
		delete(w.sealed, seal.Stream) // keeps only streams with several seals
	}
	return nil
}

// PrunedStreams lists streams that were pruned and whose name begins with prefix, at most
// most.
func PrunedStreams(r core.Reader, prefix string, most int) (streams []string, err error) {
	rest, err := core.Suffixes(r, startKey(prefix), most)
	for i := range rest {
		streams = append(streams, prefix+rest[i])
	}
	return streams, err
}
