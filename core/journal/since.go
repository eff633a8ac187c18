package journal

import (
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// A stream's entries are numbered without gaps, so a number is all that a reader has to
// remember to go on where it stopped. Whatever keeps something that follows from a
// stream, such as the index of recall or a client that listens, keeps the number of the
// last entry that it took in, and asks for those after it.

// goneReason is the reason of the error where entries that a reader needs aren't there.
const goneReason = "entries_gone"

// Since calls fn for each entry of a stream after a number, in order and without a gap,
// until fn returns an error, and returns the head that they lead to. Where the next entry
// was pruned, or the stream ends before the number, it is sdk.NotFound, reason
// "entries_gone" (see [IsGone]), and fn isn't called for what comes after the gap: read
// what the entries are about from the store instead.
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
		err = sdk.Errorf(sdk.NotFound, goneReason, "entry %d of stream %s isn't there: it has entries up to %d, and older ones may be pruned", last+1, core.Cut(stream), head.Seq).
			WithHint("read what is there now, and go on from entry %d", head.Seq).
			WithDetail("stream", stream).WithDetail("after", after).WithDetail("head", head.Seq)
	}
	return head, err
}

// IsGone reports whether an error says that entries after a number aren't there.
func IsGone(err error) bool { return sdk.ReasonOf(err) == goneReason }
