package journal

import (
	"fmt"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// Chain is a stream that is being checked, entry by entry. An error of its methods,
// sdk.Internal of reason "journal_broken", names the entry at fault (detail "seq") and
// whether it was edited, dropped or moved. If the beginning was pruned, the chain
// continues from its seal.
//
// A writer who can replace the whole stream and its head can forge a chain; the root
// detects that, and a head of the root kept elsewhere (see [Audit]).
type Chain struct {
	stream string
	// last is the newest correct entry.
	last Head
}

// Follow begins to check the entries of a stream after one of them; the zero Head is the
// stream's beginning.
func Follow(stream string, after Head) *Chain { return &Chain{stream, after} }

// Add checks the next entry.
func (c *Chain) Add(e *Entry) error {
	if err := e.follows(c.stream, c.last); err != nil {
		return err
	}
	c.last = e.head()
	return nil
}

// Last is the newest correct entry.
func (c *Chain) Last() Head { return c.last }

// end compares the last entry with the stream's head.
func (c *Chain) end(r core.Reader) error {
	end, err := ReadHead(r, c.stream)
	switch {
	case err != nil:
		return err
	case end.Seq > c.last.Seq:
		return broken(c.stream, c.last.Seq+1, fmt.Sprintf("the entry is gone: the stream ends at %d, its head says %d", c.last.Seq, end.Seq))
	case end.Seq < c.last.Seq:
		return broken(c.stream, end.Seq+1, fmt.Sprintf("the entry was added past the head, which says %d", end.Seq))
	case end.Hash != c.last.Hash:
		return broken(c.stream, c.last.Seq, "the entry isn't the one that the head names")
	}
	return nil
}

// follows reports what is wrong with e as the entry after last.
func (e *Entry) follows(stream string, last Head) error {
	want := last.Seq + 1
	switch {
	case e.Seq > want && e.Hash == e.hash(stream):
		return broken(stream, want, fmt.Sprintf("the entry is gone: %d follows %d", e.Seq, last.Seq))
	case e.Seq != want:
		return broken(stream, want, fmt.Sprintf("the entry in its place has the number %d", e.Seq))
	case e.Hash != e.hash(stream):
		return broken(stream, want, "the entry was edited: its hash doesn't match its content")
	case e.Prev != last.Hash:
		return broken(stream, want, "the entry doesn't continue the one before it")
	}
	return nil
}

// brokenReason is the reason of all errors about a damaged journal.
const brokenReason = "journal_broken"

// IsBroken reports whether an error means that a journal was changed after it was
// written.
func IsBroken(err error) bool { return sdk.ReasonOf(err) == brokenReason }

func broken(stream string, seq uint64, problem string) error {
	return sdk.Errorf(sdk.Internal, brokenReason, "journal of %s, entry %d: %s", stream, seq, problem).
		WithHint("something other than this program changed the data: restore a backup, or keep this as evidence").
		WithDetail("stream", stream).WithDetail("seq", seq)
}
