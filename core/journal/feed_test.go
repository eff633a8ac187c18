package journal_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/store/mem"
)

// follower notes what it hears.
type follower struct {
	mu   sync.Mutex
	seqs []uint64
	stop context.CancelFunc
	err  error
	done chan struct{}
}

// follow begins to follow a stream after an entry.
func follow(t *testing.T, f *journal.Feed, stream string, after uint64) *follower {
	ctx, stop := context.WithCancel(t.Context())
	l := &follower{stop: stop, done: make(chan struct{})}
	go func() {
		defer close(l.done)
		l.err = f.Follow(ctx, stream, after, func(e journal.Entry) error {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.seqs = append(l.seqs, e.Seq)
			return nil
		})
	}()
	return l
}

func (l *follower) heard() []uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.seqs)
}

// end stops it, and returns how it ended.
func (l *follower) end() error {
	l.stop()
	<-l.done
	return l.err
}

func appendTo(t *testing.T, w *journal.Writer, stream string) {
	t.Helper()
	err := w.Update(t.Context(), func(tx *journal.Tx) error { return tx.Append(stream, journal.RunResumed{Epoch: 1}) })
	if err != nil {
		t.Error(err)
	}
}

// TestFeed_HearsOwnCommitsAtOnceAndOthersSoon: the clock of the bubble stands still until
// all wait, so only the waking can be immediate.
func TestFeed_HearsOwnCommitsAtOnceAndOthersSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mem.Open()
		feed := journal.NewFeed(s, time.Minute)
		own := &journal.Writer{Store: s, Subscribers: []journal.Subscriber{feed.Wake}}
		other := &journal.Writer{Store: s}
		appendTo(t, own, "run/a")
		appendTo(t, other, "run/a")
		all, later := follow(t, feed, "run/a", 0), follow(t, feed, "run/a", 2)
		begun := time.Now()
		wants := func(when string, want ...uint64) {
			t.Helper()
			synctest.Wait()
			if got := all.heard(); !slices.Equal(got, want) {
				t.Errorf("%s: heard %v, want %v", when, got, want)
			}
			if got := later.heard(); !slices.Equal(got, want[2:]) {
				t.Errorf("%s: from entry 3 on heard %v, want %v", when, got, want[2:])
			}
		}
		wants("what was there", 1, 2)
		appendTo(t, own, "run/b")
		wants("another stream", 1, 2)
		appendTo(t, own, "run/a")
		appendTo(t, own, "run/a")
		wants("own commits", 1, 2, 3, 4)
		if now := time.Now(); !now.Equal(begun) { // the bubble's clock stands while nothing waits for it
			t.Errorf("own commits were heard at %v, not at %v", now, begun)
		}
		appendTo(t, other, "run/a")
		wants("another's commit, at once", 1, 2, 3, 4)
		time.Sleep(time.Minute)
		wants("another's commit, after a minute", 1, 2, 3, 4, 5)
		for _, l := range []*follower{all, later} {
			if err := l.end(); !errors.Is(err, context.Canceled) {
				t.Errorf("it ended with %v", err)
			}
		}
	})
}

// TestFeed_LosesNothing makes many writers of two hosts append at once, while followers
// begin anywhere: each gets all that came after, in order, once.
func TestFeed_LosesNothing(t *testing.T) {
	const writers, each = 6, 100
	s := mem.Open()
	feed := journal.NewFeed(s, time.Millisecond)
	hosts := []*journal.Writer{{Store: s, Subscribers: []journal.Subscriber{feed.Wake}}, {Store: s}}
	done := errors.New("all heard")
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			for range each {
				appendTo(t, hosts[i%2], "run/a")
			}
		})
	}
	for after := range uint64(8) {
		all.Go(func() {
			next := after * 50
			err := feed.Follow(t.Context(), "run/a", awaited(t, s, next), func(e journal.Entry) error {
				if next++; e.Seq != next {
					t.Errorf("entry %d came, want %d", e.Seq, next)
				}
				if e.Seq == writers*each {
					return done
				}
				return nil
			})
			if !errors.Is(err, done) {
				t.Errorf("after %d: %v", after*50, err)
			}
		})
	}
	all.Wait()
}

// awaited waits until a stream has an entry, by a feed of its own, and returns its number.
func awaited(t *testing.T, s *mem.Store, seq uint64) uint64 {
	there := errors.New("there")
	if seq > 0 {
		err := journal.NewFeed(s, time.Millisecond).Follow(t.Context(), "run/a", 0, func(e journal.Entry) error {
			if e.Seq == seq {
				return there
			}
			return nil
		})
		if !errors.Is(err, there) {
			t.Error(err)
		}
	}
	return seq
}

func TestFeed_EndsWhereEntriesAreGone(t *testing.T) {
	b := pruned(t)
	feed := journal.NewFeed(b.Store, 0)
	nothing := func(journal.Entry) error { t.Error("an entry came"); return nil }
	for stream, after := range map[string]uint64{"decision/gate": 2, "run/a": 100} {
		if err := feed.Follow(t.Context(), stream, after, nothing); !journal.IsGone(err) {
			t.Errorf("%s after %d: %v", stream, after, err)
		}
	}
}
