package journal

import (
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// A stream's entries are numbered without gaps, so a number is all that a reader has to
// remember to continue where it stopped. Anything derived from a stream, such as the
// index of recall, and any client that listens, keeps the number of the last entry that
// it processed, and asks for the entries after it.

// goneReason is the reason of the error if entries that a reader needs don't exist.
const goneReason = "entries_gone"

// Since calls fn for each entry of a stream after a number, in order and without a gap,
// until fn returns an error, and returns the head that they lead to. If the next entry
// was pruned, or the stream ends before the number, the error is sdk.NotFound, reason
// "entries_gone" (see [IsGone]), and fn isn't called for entries after the gap: then read
// the subject of the entries from the store instead.
func Since(r core.Reader, stream string, after uint64, fn func(Entry) error) (Head, error) {
	head, err := ReadHead(r, stream)
	if err != nil || head.Seq == after {
		return head, err
	}
	last := after
	if head.Seq > after {
		err = ReadFrom(r, stream, after+1, func(e Entry) (bool, error) {
			if e.Seq != last+1 {
				return false, nil
			}
			last = e.Seq
			return last < head.Seq, fn(e)
		})
	}
	if err == nil && last != head.Seq {
		err = sdk.Errorf(sdk.NotFound, goneReason, "stream %[2]s has no entry %[1]d: it has entries up to %[3]d, and older ones may be pruned", last+1, core.Cut(stream), head.Seq).
			WithHint("read the present state, and continue from entry %d", head.Seq).
			WithDetail("stream", stream).WithDetail("after", after).WithDetail("head", head.Seq)
	}
	return head, err
}

// IsGone reports whether an error means that the entries after a number don't exist.
func IsGone(err error) bool { return sdk.ReasonOf(err) == goneReason }

// SinceAhead adds to reads what [Since] reads.
func SinceAhead(reads *core.Reads, stream string, after uint64) {
	reads.Keys = append(reads.Keys, headKey(stream))
	reads.Ranges = append(reads.Ranges, core.Range{From: eventKey(stream, after+1), To: eventsEnd(stream)})
}
