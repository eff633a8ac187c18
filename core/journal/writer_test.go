package journal_test

import (
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
)

// TestAppendsOfOneTransactionFollowEachOther: their stream's head is written and marked
// only once.
func TestAppendsOfOneTransactionFollowEachOther(t *testing.T) {
	b := newBook(t)
	b.append("run/b")
	err := b.Update(b.Context(), func(tx *journal.Tx) error {
		for i := range uint64(3) {
			for _, stream := range []string{"run/a", "run/b"} {
				if err := tx.Append(stream, journal.RunResumed{Epoch: 1}, journal.RunResumed{Epoch: 2}); err != nil {
					return err
				}
			}
			head, err := tx.Head("run/a")
			if err != nil || head.Seq != 2*i+2 {
				t.Errorf("the head is %v, %v after %d appends", head, err, i+1)
			}
		}
		return tx.Append("run/c") // nothing
	})
	if err != nil {
		t.Fatal(err)
	}
	if marks := b.keys("event-new/"); len(marks) != 3 { // of both, and of run/b before
		t.Errorf("marks %q", marks)
	}
	for stream, want := range map[string]uint64{"run/a": 6, "run/b": 7, "run/c": 0} {
		head, err := readHead(b, stream)
		if err != nil || head.Seq != want {
			t.Errorf("%s: head %v, %v, want %d", stream, head, err, want)
		}
	}
	if _, err := b.audit(b.record()); err != nil {
		t.Error(err)
	}
}

func readHead(b *book, stream string) (head journal.Head, err error) {
	err = b.Store.View(b.Context(), func(r core.Reader) error {
		head, err = journal.ReadHead(r, stream)
		return err
	})
	return head, err
}

// TestAHeadInAnotherFormIsRead covers forms that only the general decoder takes,
// and what neither does.
func TestAHeadInAnotherFormIsRead(t *testing.T) {
	cases := map[string]struct {
		hash string
		bad  bool
	}{
		`{"seq":7,"hash":"x"}`:       {"x", false},
		`{"hash":"x", "seq": 7}`:     {"x", false},
		`{"seq":7,"hash":"\u0078"}`:  {"x", false},
		`{"seq":07,"hash":"x"}`:      {"", true},
		`{"seq":7,"hash":"x"`:        {"", true},
		`{"seq":-7,"hash":"x"}`:      {"", true},
		`{"seq":7,"hash":"x","a":1}`: {"x", false},
		``:                           {"", true},
	}
	for value, want := range cases {
		b := newBook(t)
		b.change(func(tx core.Tx) error { return tx.Put([]byte("event-head/run/a"), []byte(value)) })
		head, err := readHead(b, "run/a")
		if want.bad != (err != nil) || !want.bad && (head.Seq != 7 || head.Hash != want.hash) {
			t.Errorf("%s: %+v, %v", value, head, err)
		}
	}
}
