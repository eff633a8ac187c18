package journal_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/sdk"
)

// entries are a stream's entries that are there.
func (b *book) entries(stream string) (list []journal.Entry) {
	b.Helper()
	err := b.Store.View(b.Context(), func(r core.Reader) error {
		return journal.Read(r, stream, func(e journal.Entry) error { list = append(list, e); return nil })
	})
	if err != nil {
		b.Fatal(err)
	}
	return list
}

// prune removes the first n entries of what a stream has.
func (b *book) prune(stream string, n int) error {
	b.Helper()
	list := b.entries(stream)
	s := journal.Segment{Stream: stream, First: list[0].Seq, Last: list[n-1].Seq, Before: list[0].Prev, Head: list[n-1].Hash, From: list[0].At, To: list[n-1].At}
	return b.Update(b.Context(), func(tx *journal.Tx) error {
		return tx.Prune(journal.SegmentPruned{Segment: s, File: "f.jsonl", Digest: core.Digest(nil), AgentID: "a"})
	})
}

func (b *book) mustPrune(stream string, n int) {
	b.Helper()
	b.record()
	if err := b.prune(stream, n); err != nil {
		b.Fatal(err)
	}
}

// pruned is [journalOf], of which the beginning of decision/gate went in two steps, and
// all of run/a, which ended before run/ab did.
func pruned(t *testing.T) *book {
	b, _ := journalOf(t)
	for range 6 {
		b.append("decision/gate")
	}
	b.mustPrune("decision/gate", 2)
	b.append("decision/gate")
	b.mustPrune("decision/gate", 3)
	b.mustPrune("run/a", 4)
	b.record()
	return b
}

func TestPrune_TheRestFollowsFromTheSeals(t *testing.T) {
	b := pruned(t)
	done, err := b.audit(journal.Head{})
	if err != nil || done.Segments != 3 || done.Pruned != 9 {
		t.Errorf("%+v, %v", done, err)
	}
	if found := b.problems(); len(found) != 0 {
		t.Errorf("found %+v", found)
	}
	if list := b.entries("decision/gate"); len(list) != 2 || list[0].Seq != 6 {
		t.Errorf("left are %+v", list)
	}
	b.append("decision/gate") // it goes on
	if done, err := b.audit(b.record()); err != nil || done.Pruned != 9 {
		t.Errorf("%+v, %v", done, err)
	}
}

// TestPrune_OnlyWhatNothingRestsOn: nothing that the root doesn't know, or that was pruned
// already, is pruned.
func TestPrune_OnlyWhatNothingRestsOn(t *testing.T) {
	b, _ := journalOf(t)
	for _, stream := range []string{"namespace/n", journal.RootStream} {
		if err := b.prune(stream, 1); sdk.ReasonOf(err) != "stream_kept" {
			t.Errorf("%s: %v", stream, err)
		}
	}
	b.append("run/a")
	if err := b.prune("run/a", 5); sdk.ReasonOf(err) != "segment_changed" {
		t.Errorf("before the root has its head: %v", err)
	}
	b.mustPrune("run/a", 5)
	again := func(s journal.SegmentPruned) error {
		return b.Update(t.Context(), func(tx *journal.Tx) error { return tx.Prune(s) })
	}
	if err := again(journal.SegmentPruned{Segment: journal.Segment{Stream: "run/a", First: 1, Last: 5}}); sdk.ReasonOf(err) != "segment_changed" {
		t.Errorf("a second time: %v", err)
	}
	if done, err := b.audit(journal.Head{}); err != nil || done.Segments != 1 {
		t.Errorf("%+v, %v", done, err)
	}
}

// reseal changes the entry of a seal and all that depends on it within the stream: its
// hash, its place in the chain, and the head.
func reseal(seq byte, from, to string) func(core.Tx) error {
	return func(tx core.Tx) error {
		var events []journal.Event
		err := journal.Read(tx, journal.PrunedStream, func(e journal.Entry) error {
			event, _ := journal.As[journal.SegmentPruned](&e)
			if e.Seq == uint64(seq) {
				e.Data = bytes.Replace(e.Data, []byte(from), []byte(to), 1)
				event, _ = journal.As[journal.SegmentPruned](&e)
			}
			events = append(events, event)
			return nil
		})
		if err == nil {
			err = cut(journal.PrunedStream, 0)(tx)
		}
		if err == nil {
			err = journal.Append(context.Background(), tx, journal.PrunedStream, at, events...)
		}
		return err
	}
}

// unrooted makes the root forget everything, so that only the streams themselves can show
// it.
func unrooted(then func(core.Tx) error) func(core.Tx) error {
	return func(tx core.Tx) error { return core.JoinErrors(cut("root", 0)(tx), then(tx)) }
}

// start writes where a stream begins.
func start(stream, value string) func(core.Tx) error {
	return func(tx core.Tx) error { return tx.Put([]byte("event-start/"+stream), []byte(value)) }
}

func drop(keys ...[]byte) func(core.Tx) error {
	return func(tx core.Tx) (err error) {
		for _, k := range keys {
			err = core.JoinErrors(err, tx.Delete(k))
		}
		return err
	}
}

func both(fns ...func(core.Tx) error) func(core.Tx) error {
	return func(tx core.Tx) (err error) {
		for _, fn := range fns {
			err = core.JoinErrors(err, fn(tx))
		}
		return err
	}
}

// seal appends a seal as the program would.
func seal(s journal.SegmentPruned) func(core.Tx) error {
	return func(tx core.Tx) error { return journal.Append(context.Background(), tx, journal.PrunedStream, at, s) }
}

func TestPrune_ForgeriesAreNamed(t *testing.T) {
	hash := func(b *book, stream string, seq uint64) (text string) {
		for _, e := range b.entries(stream) {
			if e.Seq == seq {
				text = e.Hash
			}
		}
		return text
	}
	for _, c := range []struct {
		name   string
		tamper func(b *book) func(core.Tx) error
		stream string
		says   string
	}{
		{"a beginning is dropped without a seal", func(*book) func(core.Tx) error {
			return drop(key("event/", "run/ab", 1))
		}, "run/ab", "entry 1: the entry is gone: 2 follows 0"},
		{"more is dropped than is sealed", func(*book) func(core.Tx) error {
			return drop(key("event/", "decision/gate", 6))
		}, "decision/gate", "entry 6: the entry is gone: 7 follows 5"},
		{"a whole stream is dropped without a seal", func(*book) func(core.Tx) error {
			return both(cut("run/ab", 0), start("run/ab", `{"seq":5,"seal":3}`))
		}, "run/ab", "isn't for the entries before that"},
		{"what says where it begins is dropped", func(*book) func(core.Tx) error {
			return drop([]byte("event-start/decision/gate"))
		}, "decision/gate", "entry 1: the entry is gone: 6 follows 0"},
		{"… of a stream without entries", func(*book) func(core.Tx) error {
			return drop([]byte("event-start/run/a"))
		}, "pruned", "the stream doesn't begin after them"},
		{"it begins later than the seal says", func(*book) func(core.Tx) error {
			return both(start("decision/gate", `{"seq":7,"seal":2}`), drop(key("event/", "decision/gate", 6)))
		}, "decision/gate", "isn't for the entries before that"},
		{"it begins by another stream's seal", func(*book) func(core.Tx) error {
			return start("decision/gate", `{"seq":6,"seal":3}`)
		}, "decision/gate", "isn't for the entries before that"},
		{"it begins by an older seal", func(*book) func(core.Tx) error {
			return start("decision/gate", `{"seq":3,"seal":1}`)
		}, "decision/gate", "entry 3: the entry is gone: 6 follows 2"},
		{"it begins by no seal", func(*book) func(core.Tx) error {
			return start("decision/gate", `{"seq":6,"seal":9}`)
		}, "pruned", "entry 9: the entry is gone: a stream needs it"},
		{"a start in another form", func(*book) func(core.Tx) error {
			return start("decision/gate", `{"seal":2,"seq":6}`)
		}, "decision/gate", "isn't as the program writes it"},
		{"a start of no stream", func(*book) func(core.Tx) error {
			return start("run/nobody", `{"seq":5,"seal":3}`)
		}, "run/nobody", "isn't for the entries before that"},
		{"a seal is edited", func(*book) func(core.Tx) error {
			return edit("pruned", 2, `"last":5`, `"last":6`)
		}, "pruned", "entry 2: the seal was edited"},
		{"an older seal is edited", func(*book) func(core.Tx) error {
			return edit("pruned", 1, `"file":"f`, `"file":"g`)
		}, "pruned", "entry 1: the entry was edited"},
		{"a seal is dropped", func(*book) func(core.Tx) error {
			return drop(key("event/", "pruned", 2))
		}, "pruned", "entry 2: the entry is gone"},
		{"all seals are dropped", func(*book) func(core.Tx) error {
			return cut("pruned", 0)
		}, "pruned", "the entry is gone"},
		{"the seals are written again with another digest", func(*book) func(core.Tx) error {
			return reseal(1, `"digest":"sha256:e`, `"digest":"sha256:f`)
		}, "pruned", "the root recorded"},
		{"a seal that hides an entry after it", func(b *book) func(core.Tx) error {
			return both(unrooted(reseal(2, `"last":5`, `"last":6`)), start("decision/gate", `{"seq":7,"seal":2}`), drop(key("event/", "decision/gate", 6)))
		}, "decision/gate", "entry 7: the entry doesn't continue the one before it"},
		{"a seal of what the root recorded otherwise", func(b *book) func(core.Tx) error {
			head := hash(b, "run/ab", 4)
			s := journal.Segment{Stream: "run/ab", First: 1, Last: 4, Head: "sha256:" + strings.Repeat("0", len(head)-7)}
			forgedHead := func(tx core.Tx) error {
				return tx.Put([]byte("event-head/run/ab"), fmt.Appendf(nil, `{"seq":4,"hash":"%s"}`, s.Head))
			}
			return both(seal(journal.SegmentPruned{Segment: s}), cut("run/ab", 0), start("run/ab", `{"seq":5,"seal":4}`), forgedHead)
		}, "pruned", "entry 4: the seal's entry 4 of run/ab isn't the one that the root recorded"},
		{"a seal of what is still there", func(b *book) func(core.Tx) error {
			return seal(journal.SegmentPruned{Segment: journal.Segment{Stream: "run/ab", First: 1, Last: 4, Head: hash(b, "run/ab", 4)}})
		}, "pruned", "the stream doesn't begin after them"},
		{"a second seal of the same", func(b *book) func(core.Tx) error {
			return both(seal(journal.SegmentPruned{Segment: journal.Segment{Stream: "run/a", First: 1, Last: 4, Head: b.seals()[2].Head}}), start("run/a", `{"seq":5,"seal":4}`))
		}, "pruned", "doesn't continue the previous seal of run/a"},
		{"a seal that leaves a gap", func(b *book) func(core.Tx) error {
			s := journal.SegmentPruned{Segment: journal.Segment{Stream: "decision/gate", First: 7, Last: 7, Before: hash(b, "decision/gate", 6), Head: hash(b, "decision/gate", 7)}, Previous: 2}
			return both(seal(s), start("decision/gate", `{"seq":8,"seal":4}`), drop(key("event/", "decision/gate", 6), key("event/", "decision/gate", 7)))
		}, "pruned", "entry 4: the seal doesn't continue the previous seal of decision/gate"},
		{"a seal of a namespace", func(b *book) func(core.Tx) error {
			s := journal.Segment{Stream: "namespace/n", First: 1, Last: 1, Head: hash(b, "namespace/n", 1)}
			return both(seal(journal.SegmentPruned{Segment: s}), start("namespace/n", `{"seq":2,"seal":4}`), drop(key("event/", "namespace/n", 1)))
		}, "pruned", "entry 4: the seal is of namespace/n, which is never pruned"},
		{"something else among the seals", func(*book) func(core.Tx) error {
			return func(tx core.Tx) error {
				return journal.Append(t.Context(), tx, journal.PrunedStream, at, journal.RunResumed{})
			}
		}, "pruned", "entry 4: the entry isn't a seal"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := pruned(t)
			b.change(c.tamper(b))
			_, err := b.audit(journal.Head{})
			if !journal.IsBroken(err) || !strings.Contains(err.Error(), "journal of "+c.stream+", ") || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v", err)
			}
			if found := b.problems(); len(found) == 0 {
				t.Error("the check finds nothing")
			}
		})
	}
}

// seals are all of them.
func (b *book) seals() (list []journal.Seal) {
	b.Helper()
	err := b.Store.View(b.Context(), func(r core.Reader) error {
		return journal.Seals(r, func(s journal.Seal) (bool, error) { list = append(list, s); return true, nil })
	})
	if err != nil {
		b.Fatal(err)
	}
	return list
}

// TestPrune_RandomLives compares a journal that is appended to, recorded and pruned at
// random with lists of its hashes: what is left is their end, the seals are the rest, and
// an audit with heads that were kept before finds nothing.
func TestPrune_RandomLives(t *testing.T) {
	streams := []string{"decision/gate", "decision/loop", "run/a"}
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 1))
		b, all, gone := newBook(t), map[string][]string{}, map[string]int{}
		var heads []journal.Head
		for range 40 {
			stream := streams[rng.IntN(len(streams))]
			switch list := b.entries(stream); {
			case rng.IntN(3) > 0 || len(list) == 0:
				b.append(stream)
				last := b.entries(stream)
				all[stream] = append(all[stream], last[len(last)-1].Hash)
			default:
				n := 1 + rng.IntN(len(list))
				b.mustPrune(stream, n)
				gone[stream] += n
			}
			if rng.IntN(4) == 0 {
				heads = append(heads, b.record())
			}
		}
		b.record()
		for _, stream := range streams {
			var left []string
			for _, e := range b.entries(stream) {
				left = append(left, e.Hash)
			}
			if got, want := strings.Join(left, " "), strings.Join(all[stream][gone[stream]:], " "); got != want {
				t.Errorf("seed %d, %s: left is %s, not %s", seed, stream, got, want)
			}
		}
		for _, s := range b.seals() {
			if list := all[s.Stream]; s.Head != list[s.Last-1] || s.First > 1 && s.Before != list[s.First-2] {
				t.Errorf("seed %d: seal %+v", seed, s)
			}
		}
		for _, head := range append(heads[:min(len(heads), 2)], journal.Head{}) {
			if done, err := b.audit(head); err != nil || done.Pruned != int64(gone[streams[0]]+gone[streams[1]]+gone[streams[2]]) {
				t.Fatalf("seed %d, head %s: %+v, %v", seed, head, done, err)
			}
		}
		if found := b.problems(); len(found) != 0 {
			t.Errorf("seed %d: %+v", seed, found)
		}
	}
}
