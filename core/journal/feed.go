package journal

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/reflectory/reflectory/core"
)

// A stream has many writers, and not all are in this process. So a follower reads the
// stream itself, from the number of the last entry that it has: nothing is lost or
// repeated, even across an interruption or a restart. The process only passes on that
// there is something new to read.

const (
	// DefaultPoll is how often a feed reads a stream that nothing woke: the longest time
	// until an entry of another process is seen, at the cost of reading one key.
	DefaultPoll = time.Second
	// feedBatch is how many entries are read at once: few enough to hold in memory, so
	// that no reader stays open while a slow follower handles them.
	feedBatch = 256
)

// Feed follows streams of a store for readers that need every entry. It is safe for
// concurrent use, and needn't be closed.
type Feed struct {
	store core.Store
	poll  time.Duration

	mu sync.Mutex
	// waiting are the followers of each stream, by the channel that wakes them.
	waiting map[string]map[chan struct{}]bool
}

// NewFeed follows a store. poll is how often a stream is read that nothing woke; 0 means
// [DefaultPoll].
func NewFeed(s core.Store, poll time.Duration) *Feed {
	if poll == 0 {
		poll = DefaultPoll
	}
	return &Feed{store: s, poll: poll, waiting: map[string]map[chan struct{}]bool{}}
}

// Wake is a [Subscriber]: in a [Writer], it notifies followers at once of that writer's
// commits. They also learn of other writers' commits, but later.
func (f *Feed) Wake(stream string, _ Entry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for wake := range f.waiting[stream] {
		select {
		case wake <- struct{}{}:
		default: // it is already woken
		}
	}
}

// Follow calls fn for each entry of a stream after a number, whichever process wrote it, in
// order and once each, and waits for more, until fn returns an error or the context ends.
// It returns that error. No transaction is open while fn runs, so fn may be slow. If the
// next entry doesn't exist any more, it returns the error of [Since].
func (f *Feed) Follow(ctx context.Context, stream string, after uint64, fn func(Entry) error) error {
	wake := f.wait(stream)
	defer f.forget(stream, wake)
	poll := time.NewTicker(f.poll)
	defer poll.Stop()
	for {
		entries, err := f.read(ctx, stream, after)
		for i := range entries {
			if err := fn(entries[i]); err != nil {
				return err
			}
			after = entries[i].Seq
		}
		if err != nil {
			return err
		}
		if len(entries) == feedBatch {
			continue
		}
		select {
		case <-wake:
		case <-poll.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// read returns the next entries, at most [feedBatch], together with the error of the
// entry after them, if there is one.
func (f *Feed) read(ctx context.Context, stream string, after uint64) (entries []Entry, err error) {
	full := errors.New("enough")
	err = f.store.View(ctx, func(r core.Reader) error {
		_, err := Since(r, stream, after, func(e Entry) error {
			if entries = append(entries, e); len(entries) == feedBatch {
				return full
			}
			return ctx.Err()
		})
		return err
	})
	if errors.Is(err, full) {
		err = nil
	}
	return entries, err
}

// wait returns the channel that wakes a follower of a stream.
func (f *Feed) wait(stream string) chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	wake := make(chan struct{}, 1)
	if f.waiting[stream] == nil {
		f.waiting[stream] = map[chan struct{}]bool{}
	}
	f.waiting[stream][wake] = true
	return wake
}

func (f *Feed) forget(stream string, wake chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if delete(f.waiting[stream], wake); len(f.waiting[stream]) == 0 {
		delete(f.waiting, stream)
	}
}
