package journal_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/core/store/pebble"
	"github.com/reflectory/reflectory/sdk"
)

// book is a store with a journal in it.
type book struct {
	*testing.T
	*journal.Writer
}

func newBook(t *testing.T) *book {
	return &book{t, &journal.Writer{Store: mem.Open(), Clock: &coretest.Clock{}}}
}

// append adds events to streams, one to each.
func (b *book) append(streams ...string) {
	b.Helper()
	for _, stream := range streams {
		if err := b.Update(b.Context(), func(tx *journal.Tx) error { return tx.Append(stream, journal.RunResumed{Epoch: 1}) }); err != nil {
			b.Fatal(err)
		}
	}
}

func (b *book) record() journal.Head {
	b.Helper()
	head, err := journal.Record(b.Context(), b.Writer)
	if err != nil {
		b.Fatal(err)
	}
	return head
}

// change writes behind the journal's back.
func (b *book) change(fn func(core.Tx) error) {
	b.Helper()
	if err := b.Store.Update(b.Context(), fn); err != nil {
		b.Fatal(err)
	}
}

func (b *book) audit(kept journal.Head) (done journal.Audited, err error) {
	audit := journal.Audit{Kept: kept}
	err = b.Store.View(b.Context(), func(r core.Reader) (err error) {
		done, err = audit.Verify(b.Context(), r)
		return err
	})
	return done, err
}

// keys lists the keys with a prefix.
func (b *book) keys(prefix string) (list []string) {
	b.Helper()
	err := b.Store.View(b.Context(), func(r core.Reader) error {
		return r.Scan([]byte(prefix), []byte(prefix+"\xff"), func(key, _ []byte) (bool, error) {
			list = append(list, string(key))
			return true, nil
		})
	})
	if err != nil {
		b.Fatal(err)
	}
	return list
}

func TestTheRootRecordsWhatChanged(t *testing.T) {
	b := newBook(t)
	if head := b.record(); head != (journal.Head{}) || len(b.keys("")) != 0 {
		t.Errorf("an empty journal has the root %v", head)
	}
	b.append("run/a", "run/b", "run/a")
	first := b.record()
	if again := b.record(); again != first || first.Seq != 1 {
		t.Errorf("nothing changed, and the root went from %v to %v", first, again)
	}
	b.append("run/b")
	b.record()
	var got []string
	err := b.Store.View(t.Context(), func(r core.Reader) error {
		return journal.Read(r, journal.RootStream, func(e journal.Entry) error {
			got = append(got, e.Type+" "+fmt.Sprint(bytes.Count(e.Data, []byte(`"stream"`)))+" "+string(e.Data[:40]))
			return nil
		})
	})
	want := []string{`heads_recorded 2 {"heads":[{"stream":"run/a","seq":2,"has`, `heads_recorded 1 {"heads":[{"stream":"run/b","seq":2,"has`}
	if err != nil || strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%v, %v", got, err)
	}
	if marks := b.keys("event-new/"); len(marks) != 0 {
		t.Errorf("marks are left: %q", marks)
	}
	done, err := b.audit(first)
	if err != nil || done.Streams != 3 || done.Entries != 6 || done.Recorded != 3 || done.Root.Seq != 2 {
		t.Errorf("%+v, %v", done, err)
	}
}

// TestTheRootTakesStreamsFromBeforeItsTime: their entries have no marks.
func TestTheRootTakesStreamsFromBeforeItsTime(t *testing.T) {
	disk, err := pebble.Open(t.Context(), pebble.Options{Dir: t.TempDir(), Durability: pebble.Relaxed})
	if err != nil {
		t.Fatal(err)
	}
	defer disk.Close()
	b := newBook(t)
	b.Store = disk
	const streams = 5000 // more than one entry records
	b.change(func(tx core.Tx) error {
		for i := range streams {
			if err := journal.Append(t.Context(), tx, fmt.Sprintf("run/%d", i), at, journal.RunResumed{}); err != nil {
				return err
			}
		}
		return nil
	})
	b.change(func(tx core.Tx) error {
		for _, mark := range b.keys("event-new/") {
			if err := tx.Delete([]byte(mark)); err != nil {
				return err
			}
		}
		return nil
	})
	head := b.record()
	done, err := b.audit(head)
	if err != nil || head.Seq != 2 || done.Recorded != streams {
		t.Errorf("%+v, %v", done, err)
	}
}

// journalOf is a journal of three streams with four entries each, all recorded,
// and the head that was kept.
func journalOf(t *testing.T) (*book, journal.Head) {
	b := newBook(t)
	for range 4 {
		b.append("namespace/n", "run/a", "run/ab")
		b.record()
	}
	return b, b.record()
}

// problems are those that the journal's check finds.
func (b *book) problems() (list []core.Problem) {
	b.Helper()
	err := b.Store.View(b.Context(), func(r core.Reader) error {
		return journal.Checker{}.Check(b.Context(), r, func(p core.Problem) { list = append(list, p) })
	})
	if err != nil {
		b.Fatal(err)
	}
	return list
}

func key(prefix, stream string, seq byte) []byte {
	return []byte(prefix + stream + "\x00\x00\x00\x00\x00\x00\x00\x00" + string([]byte{seq}))
}

// cut removes the entries of a stream after seq, with a head that fits.
func cut(stream string, seq byte) func(core.Tx) error {
	return func(tx core.Tx) error {
		for s := seq + 1; s <= 8; s++ {
			if err := tx.Delete(key("event/", stream, s)); err != nil {
				return err
			}
		}
		if seq == 0 {
			return tx.Delete([]byte("event-head/" + stream))
		}
		value, _, err := tx.Get(key("event/", stream, seq))
		if err != nil {
			return err
		}
		hash := value[bytes.LastIndex(value, []byte(`"hash":`)):]
		return tx.Put([]byte("event-head/"+stream), fmt.Appendf(nil, `{"seq":%d,%s`, seq, hash))
	}
}

// edit replaces text in an entry.
func edit(stream string, seq byte, from, to string) func(core.Tx) error {
	return func(tx core.Tx) error {
		value, _, err := tx.Get(key("event/", stream, seq))
		if err != nil {
			return err
		}
		return tx.Put(key("event/", stream, seq), bytes.Replace(value, []byte(from), []byte(to), 1))
	}
}

// forge writes a stream again, whole and with other content.
func forge(stream string) func(core.Tx) error {
	return func(tx core.Tx) error {
		if err := cut(stream, 0)(tx); err != nil {
			return err
		}
		for range 4 {
			if err := journal.Append(context.Background(), tx, stream, at, journal.RunResumed{Epoch: 7}); err != nil {
				return err
			}
		}
		return nil
	}
}

func TestAuditNamesTheFirstBadEntry(t *testing.T) {
	cases := []struct {
		name   string
		tamper func(core.Tx) error
		stream string
		seq    uint64
		says   string
	}{
		{"edited", edit("run/a", 2, `"epoch":1`, `"epoch":2`), "run/a", 2, "edited"},
		{"dropped", func(tx core.Tx) error { return tx.Delete(key("event/", "run/ab", 3)) }, "run/ab", 3, "gone: 4 follows 2"},
		{"reordered", func(tx core.Tx) error {
			two, _, _ := tx.Get(key("event/", "run/a", 2))
			three, _, _ := tx.Get(key("event/", "run/a", 3))
			_ = tx.Put(key("event/", "run/a", 2), three)
			return tx.Put(key("event/", "run/a", 3), two)
		}, "run/a", 2, "gone: 3 follows 1"},
		{"a cut tail", cut("run/a", 2), "run/a", 3, "gone: the root recorded 3 of them"},
		{"a stream wholly removed", cut("namespace/n", 0), "namespace/n", 1, "gone: the root recorded 1 of them"},
		{"all entries, not the head", func(tx core.Tx) error {
			for s := range byte(5) {
				_ = tx.Delete(key("event/", "run/a", s))
			}
			return nil
		}, "run/a", 1, "its head says 4"},
		{"a stream written again", forge("run/a"), "run/a", 1, "rewritten"},
		{"the root edited", edit("root", 2, "run/ab", "run/ac"), "root", 2, "edited"},
		{"the root cut", cut("root", 3), "root", 4, "the kept head is the head of entry 4"},
		{"the root wholly removed", cut("root", 0), "root", 1, "the kept head"},
		{"a root of something else", func(tx core.Tx) error { return journal.Append(t.Context(), tx, "root", at, journal.RunResumed{}) }, "root", 5, "doesn't record heads"},
		{"a root of no stream", func(tx core.Tx) error {
			return journal.Append(t.Context(), tx, "root", at, journal.HeadsRecorded{Heads: []journal.StreamHead{{Stream: "a\nb"}}})
		}, "root", 5, "names no stream"},
		{"a key that is none", func(tx core.Tx) error { return tx.Put([]byte("event/run/a\x00short"), nil) }, `"run/a\x00short"`, 0, "isn't an entry"},
		{"a head of no stream", func(tx core.Tx) error { return tx.Put([]byte("event-head/a\nb"), nil) }, `"a\nb"`, 0, "isn't a head or a start"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b, kept := journalOf(t)
			if _, err := b.audit(kept); err != nil {
				t.Fatal(err)
			}
			b.change(c.tamper)
			_, err := b.audit(kept)
			details := sdk.AsError(err)
			if sdk.ReasonOf(err) != "journal_broken" || details.Details["stream"] != c.stream || details.Details["seq"] != c.seq || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %s %d and %q", err, c.stream, c.seq, c.says)
			}
			// The check has no head that was kept elsewhere, and otherwise reports the
			// same, once.
			list := b.problems()
			if strings.Contains(c.says, "the kept head") {
				// Even without one it shows that streams continued after the root's end.
				if c.name != "the root cut" && len(list) != 0 || c.name == "the root cut" && len(list) != 1 {
					t.Errorf("without a head: %+v", list)
				}
			} else if len(list) != 1 || list[0].Part != "journal" || !strings.Contains(list[0].Key, c.stream) || !strings.Contains(list[0].Message, c.says) {
				t.Errorf("the check tells %+v, want %s and %q", list, c.stream, c.says)
			}
		})
	}
}

// TestOnlyAKeptHeadFindsWhatWasCutFromEverything: streams and root end at the same
// earlier moment, or were written again together.
func TestOnlyAKeptHeadFindsWhatWasCutFromEverything(t *testing.T) {
	together := map[string]func(core.Tx) error{
		"cut": func(tx core.Tx) error {
			for _, stream := range []string{"namespace/n", "run/a", "run/ab", "root"} {
				if err := cut(stream, 3)(tx); err != nil {
					return err
				}
			}
			return nil
		},
		"nothing is left": func(tx core.Tx) error {
			for _, stream := range []string{"namespace/n", "run/a", "run/ab", "root"} {
				if err := cut(stream, 0)(tx); err != nil {
					return err
				}
			}
			return nil
		},
	}
	for name, tamper := range together {
		t.Run(name, func(t *testing.T) {
			b, kept := journalOf(t)
			b.change(tamper)
			if _, err := b.audit(journal.Head{}); err != nil {
				t.Errorf("without a head: %v", err)
			}
			if _, err := b.audit(kept); sdk.ReasonOf(err) != "journal_broken" || !strings.Contains(err.Error(), "journal of root") {
				t.Errorf("with the head: %v", err)
			}
		})
	}
	b, kept := journalOf(t)
	b.change(func(tx core.Tx) error {
		for _, stream := range []string{"namespace/n", "run/a", "run/ab", "root"} {
			if err := cut(stream, 0)(tx); err != nil {
				return err
			}
		}
		return nil
	})
	b.change(forge("run/a"))
	for range 5 {
		b.append("run/a")
		b.record()
	}
	if _, err := b.audit(journal.Head{}); err != nil {
		t.Errorf("without a head: %v", err)
	}
	if _, err := b.audit(kept); sdk.ReasonOf(err) != "journal_broken" || !strings.Contains(err.Error(), "rewritten") {
		t.Errorf("with the head: %v", err)
	}
}
