package journal_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/sdk"
)

// since is what Since reads, and where it ends.
func (b *book) since(stream string, after uint64) (seqs []uint64, head journal.Head, err error) {
	b.Helper()
	err = b.Store.View(b.Context(), func(r core.Reader) error {
		head, err = journal.Since(r, stream, after, func(e journal.Entry) error { seqs = append(seqs, e.Seq); return nil })
		return err
	})
	return seqs, head, err
}

func TestSince_ReadsWhatCameAfter(t *testing.T) {
	b := newBook(t)
	b.append("run/a", "run/a", "run/b", "run/a", "run/ab")
	for after, want := range [][]uint64{{1, 2, 3}, {2, 3}, {3}, nil} {
		head, _ := readHead(b, "run/a")
		if got, to, err := b.since("run/a", uint64(after)); err != nil || !slices.Equal(got, want) || to != head {
			t.Errorf("after %d: %v up to %v, %v, want %v up to %v", after, got, to, err, want, head)
		}
	}
	if got, head, err := b.since("run/none", 0); err != nil || got != nil || head != (journal.Head{}) {
		t.Errorf("of no stream: %v up to %v, %v", got, head, err)
	}
	stop := errors.New("stop")
	err := b.Store.View(t.Context(), func(r core.Reader) error {
		_, err := journal.Since(r, "run/a", 0, func(journal.Entry) error { return stop })
		return err
	})
	if !errors.Is(err, stop) {
		t.Errorf("an error of fn: %v", err)
	}
}

// TestSince_SaysWhatIsGone: what was pruned, what nobody wrote yet, and what is lost.
func TestSince_SaysWhatIsGone(t *testing.T) {
	b := pruned(t) // decision/gate begins at entry 6
	lost, _ := journalOf(t)
	lost.change(drop(key("event/", "run/ab", 2)))
	for _, c := range []struct {
		name   string
		b      *book
		stream string
		after  uint64
		want   []uint64
		gone   bool
	}{
		{"pruned", b, "decision/gate", 2, nil, true},
		{"the last pruned one", b, "decision/gate", 5, []uint64{6, 7}, false},
		{"all of it pruned", b, "run/a", 1, nil, true},
		{"all of it pruned, and read before", b, "run/a", 4, nil, false},
		{"more than there is", b, "decision/gate", 100, nil, true},
		{"a lost entry", lost, "run/ab", 0, []uint64{1}, true},
	} {
		got, _, err := c.b.since(c.stream, c.after)
		if !slices.Equal(got, c.want) || journal.IsGone(err) != c.gone || (err != nil) != c.gone {
			t.Errorf("%s: %v, %v", c.name, got, err)
		}
		if c.gone && (sdk.CodeOf(err) != sdk.NotFound || sdk.AsError(err).Hint == "") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
