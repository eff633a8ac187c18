package journal

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/reflectory/reflectory/core"
)

// A stream has many writers, and not all are in this process. So a follower of one reads
// the stream itself, from the number of the last entry that it has: nothing is lost
// or comes twice, also over a break or a restart. All that is passed on in the process is that
// there is something to read.

const (
	// DefaultPoll is how often a feed looks at a stream where nobody woke it: as long as
	// an entry of another process may take to be seen, for one read of one key.
	DefaultPoll = time.Second
	// feedBatch is how many entries are read at once: few enough to hold in memory, and
	// no reader stays open while somebody slow takes them.
	feedBatch = 256
)

// Feed follows streams of a store for those who hear of each entry. It is safe for
// concurrent use, and has nothing to close.
type Feed struct {
	store core.Store
	poll  time.Duration

	mu sync.Mutex
	// waiting are the followers of each stream, by what wakes them.
	waiting map[string]map[chan struct{}]bool
}

// NewFeed follows a store. Poll is how often a stream is looked at that nobody woke;
// 0 is [DefaultPoll].
func NewFeed(s core.Store, poll time.Duration) *Feed {
	if poll == 0 {
		poll = DefaultPoll
	}
	return &Feed{store: s, poll: poll, waiting: map[string]map[chan struct{}]bool{}}
}

// Wake is a [Subscriber]: with it in a [Writer], followers hear at once what that
// commits. What others commit they hear too, but later.
func (f *Feed) Wake(stream string, _ Entry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for wake := range f.waiting[stream] {
		select {
		case wake <- struct{}{}:
		default: // it will look anyway
		}
	}
}

// Follow calls fn for each entry of a stream after a number, whichever process wrote it, in
// order and each once, and waits for more, until fn returns an error or the context ends.
// It returns that error. No transaction is open while fn runs, which may take its time.
// Where the next entry isn't there any more, the error is [Since]'s.
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

// read returns the next entries, at most [feedBatch], also with an error of what comes
// after them.
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

// wait returns what wakes a follower of a stream.
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
