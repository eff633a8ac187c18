package journal_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/store/pebble"
	"github.com/reflectory/reflectory/sdk"
)

// stopping is a store whose writes fail after a number of them.
type stopping struct {
	core.Store
	left int
}

func (s *stopping) Update(ctx context.Context, fn func(core.Tx) error) error {
	if s.left == 0 {
		return sdk.Errorf(sdk.Unavailable, "store_io", "the disk is full")
	}
	s.left--
	return s.Store.Update(ctx, fn)
}

// newest are the heads of all streams but the root, and recorded what the root says
// of them.
func (b *book) newest() (newest, recorded map[string]uint64) {
	b.Helper()
	newest, recorded = map[string]uint64{}, map[string]uint64{}
	err := b.Store.View(b.Context(), func(r core.Reader) error {
		err := journal.Streams(r, func(s journal.StreamHead) (bool, error) {
			if s.Stream != journal.RootStream {
				newest[s.Stream] = s.Seq
			}
			return true, nil
		})
		if err != nil {
			return err
		}
		return journal.Read(r, journal.RootStream, func(e journal.Entry) error {
			heads := decoded(b.T, e)
			for _, h := range heads.Heads {
				recorded[h.Stream] = h.Seq
			}
			return nil
		})
	})
	if err != nil {
		b.Fatal(err)
	}
	return newest, recorded
}

// TestNoHeadIsMissedWhereverRecordingStops: what is left is recorded by the next,
// also in a store from before the root's time.
func TestNoHeadIsMissedWhereverRecordingStops(t *testing.T) {
	for _, marked := range []bool{true, false} {
		for stop := range 3 {
			b := newBook(t)
			b.append("run/a", "run/b", "run/a")
			if !marked {
				b.change(func(tx core.Tx) error {
					for _, mark := range b.keys("event-new/") {
						_ = tx.Delete([]byte(mark))
					}
					return nil
				})
			}
			w := *b.Writer
			w.Store = &stopping{b.Store, stop}
			_, _ = journal.Record(t.Context(), &w)
			b.append("run/b", "run/c")
			b.record()
			newest, recorded := b.newest()
			if fmt.Sprint(newest) != fmt.Sprint(recorded) || len(newest) != 3 {
				t.Errorf("marked %t, stopped after %d: heads %v, recorded %v", marked, stop, newest, recorded)
			}
			if _, err := b.audit(journal.Head{}); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestTheRootGoesAlongWithManyWriters: to streams of their own and to a shared one.
func TestTheRootGoesAlongWithManyWriters(t *testing.T) {
	const writers, rounds = 16, 30
	disk, err := pebble.Open(t.Context(), pebble.Options{Dir: t.TempDir(), Durability: pebble.Relaxed})
	if err != nil {
		t.Fatal(err)
	}
	defer disk.Close()
	b := &book{t, &journal.Writer{Store: disk, Clock: &coretest.Clock{}}}
	var all sync.WaitGroup
	done := make(chan struct{})
	for i := range writers {
		all.Go(func() {
			for range rounds {
				err := b.Update(t.Context(), func(tx *journal.Tx) error {
					return core.JoinErrors(tx.Append(fmt.Sprint("run/", i), journal.RunResumed{}), tx.Append("namespace/n", journal.RunResumed{}))
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	var recorder sync.WaitGroup
	recorder.Go(func() {
		for {
			if _, err := journal.Record(t.Context(), b.Writer); err != nil {
				t.Error(err)
			}
			select {
			case <-done:
				return
			default:
			}
		}
	})
	all.Wait()
	close(done)
	recorder.Wait()
	kept := b.record()
	newest, recorded := b.newest()
	if fmt.Sprint(newest) != fmt.Sprint(recorded) || newest["namespace/n"] != writers*rounds {
		t.Errorf("heads %v, recorded %v", newest, recorded)
	}
	if audited, err := b.audit(kept); err != nil || audited.Streams != writers+2 {
		t.Errorf("%+v, %v", audited, err)
	}
	if marks := b.keys("event-new/"); len(marks) > 0 {
		t.Errorf("%d marks are left", len(marks))
	}
}

func decoded(t *testing.T, e journal.Entry) (heads journal.HeadsRecorded) {
	t.Helper()
	if err := json.Unmarshal(e.Data, &heads); err != nil {
		t.Fatal(err)
	}
	return heads
}
