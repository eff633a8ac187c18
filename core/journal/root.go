package journal

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// RootStream is the stream that records the heads of all others.
const RootStream = "root"

// RootInterval is how often the root records what changed.
const RootInterval = time.Second

// maxHeads is how many new heads one entry of the root records at most.
const maxHeads = 4096

// Record records the heads that changed since the root's last entry, and returns the
// root's head. If nothing changed, it writes nothing. A stream whose head can't be read
// is skipped; the others are recorded, and the error names the first that was. The root's entries have no
// subject: the host writes them by itself, while it handles other requests.
func Record(ctx context.Context, w *Writer) (Head, error) {
	ctx = core.WithCaller(ctx, core.Caller{})
	head, err := rootHead(ctx, w)
	if err == nil && head.Seq == 0 {
		err = markAll(ctx, w)
	}
	if err != nil {
		return head, sdk.Wrap("record the heads of the journal", err)
	}
	from, end := []byte(newPrefix), core.PrefixEnd([]byte(newPrefix))
	var unread error // the first
	for from != nil {
		var found addedEntries
		if found, err = findAdded(ctx, w, newPrefix, from, end); err != nil {
			break
		}
		if unread == nil {
			unread = found.unread
		}
		if err = found.record(ctx, w); err != nil {
			break
		}
		from = found.next
	}
	if err = core.JoinErrors(err, unread); err != nil {
		return Head{}, sdk.Wrap("record the heads of the journal", err)
	}
	return rootHead(ctx, w)
}

func rootHead(ctx context.Context, w *Writer) (head Head, err error) {
	err = w.Store.View(ctx, func(r core.Reader) error {
		head, err = ReadHead(r, RootStream)
		return err
	})
	return head, err
}

// markAll marks every stream, for a store that has streams from before it had a
// root.
func markAll(ctx context.Context, w *Writer) error {
	for from, end := []byte(headPrefix), core.PrefixEnd([]byte(headPrefix)); from != nil; {
		found, err := findAdded(ctx, w, headPrefix, from, end)
		if err != nil {
			return err
		}
		err = w.Store.Update(ctx, func(tx core.Tx) error {
			for _, h := range found.heads {
				if err := mark(tx, h.Stream, h.Head); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		from = found.next
	}
	return nil
}

// addedEntries are the heads that changed, and the marks that announced them.
type addedEntries struct {
	heads []StreamHead
	marks [][]byte // the keys that were found
	// unread is the error of the first head that couldn't be read; nil for none.
	unread error
	// next is where the search continues; nil is the end.
	next []byte
}

// findAdded looks for marks, or for heads, in a snapshot. Commits made meanwhile have
// marks of their own, so recording these heads conflicts with no writer.
func findAdded(ctx context.Context, w *Writer, prefix string, from, end []byte) (found addedEntries, err error) {
	err = w.Store.View(ctx, func(r core.Reader) error {
		last := ""
		return r.Scan(from, end, func(key, _ []byte) (bool, error) {
			if len(found.marks) == maxHeads {
				found.next = append([]byte{}, key...)
				return false, nil
			}
			found.marks = append(found.marks, append([]byte{}, key...))
			stream, _, _ := strings.Cut(string(key[len(prefix):]), "\x00")
			if stream == last || stream == RootStream {
				return true, nil
			}
			last = stream
			head, err := ReadHead(r, stream)
			switch {
			case err != nil && found.unread == nil:
				found.unread = err
			case err == nil && head.Seq > 0:
				found.heads = append(found.heads, StreamHead{stream, head})
			}
			return true, ctx.Err()
		})
	})
	return found, err
}

// record writes one entry of the root, and removes the marks.
func (n *addedEntries) record(ctx context.Context, w *Writer) error {
	if len(n.marks) == 0 {
		return nil
	}
	return w.Update(ctx, func(tx *Tx) error {
		for _, mark := range n.marks {
			if err := tx.Delete(mark); err != nil {
				return err
			}
		}
		if len(n.heads) == 0 {
			return nil
		}
		return tx.Append(RootStream, HeadsRecorded{n.heads})
	})
}

// storeWithCommits is a store that counts its commits. If there was no commit, the rooter
// needn't look for marks: that search is slow, because the engine keeps deleted marks for
// a while.
type storeWithCommits interface{ Commits() uint64 }

// Rooter records the heads of a journal every [RootInterval] while something
// changes, and when it is closed.
type Rooter struct {
	writer *Writer
	lead   Lead
	stop   context.CancelFunc
	done   chan struct{}
	close  sync.Once

	mu  sync.Mutex
	err error
}

// Lead makes only one of the hosts that share a store write the root. If that is this host,
// it calls record with the store to write through; otherwise it doesn't call it. last says
// that this host closes its journal.
type Lead func(ctx context.Context, last bool, record func(core.Store) error) error

// StartRooter starts a rooter. Close must be called.
func StartRooter(w *Writer) *Rooter { return startRooter(w, nil) }

// StartSharedRooter starts a rooter on a store that other hosts change too. Close must be
// called.
func StartSharedRooter(w *Writer, lead Lead) *Rooter { return startRooter(w, lead) }

func startRooter(w *Writer, lead Lead) *Rooter {
	ctx, stop := context.WithCancel(context.Background())
	r := &Rooter{writer: w, lead: lead, stop: stop, done: make(chan struct{})}
	go r.run(ctx)
	return r
}

func (r *Rooter) run(ctx context.Context) {
	defer close(r.done)
	tick := time.NewTicker(RootInterval)
	defer tick.Stop()
	seen := ^uint64(0) // an earlier host may have left marks
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if !r.changed(&seen) && r.Err() == nil {
				continue
			}
			err := r.record(ctx, false)
			if ctx.Err() == nil { // else Close records the rest
				r.note(err)
			}
		}
	}
}

// record records what changed, if this host records the root.
func (r *Rooter) record(ctx context.Context, last bool) error {
	if r.lead == nil {
		_, err := Record(ctx, r.writer)
		return err
	}
	return r.lead(ctx, last, func(s core.Store) error {
		fenced := *r.writer
		fenced.Store = s
		_, err := Record(ctx, &fenced)
		return err
	})
}

// changed reports whether there may be something to record since commit seen, and updates
// seen. What other hosts change isn't counted.
func (r *Rooter) changed(seen *uint64) bool {
	store, counts := r.writer.Store.(storeWithCommits)
	if !counts || r.lead != nil {
		return true
	}
	before := *seen
	*seen = store.Commits()
	return *seen != before
}

func (r *Rooter) note(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
}

// Err is the error of the last recording; nil if it succeeded.
func (r *Rooter) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Close records what is left, and stops. It is idempotent, and must be called before the
// store is closed.
func (r *Rooter) Close(ctx context.Context) error {
	r.close.Do(func() {
		r.stop()
		<-r.done
		r.note(r.record(ctx, true))
	})
	return r.Err()
}
