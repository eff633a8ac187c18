package job_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/journal"
)

// crowd queues jobs of many users, several each.
func crowd(t testing.TB, s core.Store, users, each int) *job.Repository {
	t.Helper()
	r, err := job.New(&journal.Writer{Store: s}, &core.SystemIDs{}, job.Options{QueueTotal: users*each + 1, Exclusive: true})
	must(t, err)
	for i := range each {
		for from := 0; from < users; from += 100 {
			must(t, (&journal.Writer{Store: s}).Update(t.Context(), func(tx *journal.Tx) error {
				for u := from; u < min(users, from+100); u++ {
					q := job.Request{UserID: fmt.Sprint("user-", u), Type: job.Types()[i%5], Namespace: fmt.Sprint("n/", i), Payload: []byte(`{"focus":"a question"}`)}
					if _, err := r.EnqueueTx(t.Context(), tx, &q); err != nil {
						return err
					}
				}
				return nil
			}))
		}
	}
	return r
}

// reads counts what a store's transactions look at.
type reads struct {
	core.Store
	gets, scanned int
}

func (s *reads) Update(ctx context.Context, fn func(core.Tx) error) error {
	return s.Store.Update(ctx, func(tx core.Tx) error { return fn(readsTx{tx, s}) })
}

type readsTx struct {
	core.Tx
	counted *reads
}

func (tx readsTx) Get(key []byte) ([]byte, bool, error) {
	tx.counted.gets++
	return tx.Tx.Get(key)
}

func (tx readsTx) Scan(from, to []byte, fn func(key, value []byte) (bool, error)) error {
	return tx.Tx.Scan(from, to, func(key, value []byte) (bool, error) {
		tx.counted.scanned++
		return fn(key, value)
	})
}

// TestClaim_ReadsTheSameHoweverManyWait: what a claim looks at doesn't grow with the queue.
func TestClaim_ReadsTheSameHoweverManyWait(t *testing.T) {
	var first string
	for _, users := range []int{2, 50, 400} {
		s := &reads{Store: newBoard(t, job.Options{}).store}
		r := crowd(t, s, users, 5)
		_, err := r.Claim(t.Context(), "h", nil) // the first one looks at all that wait for a time
		must(t, err)
		s.gets, s.scanned = 0, 0
		if c, err := r.Claim(t.Context(), "h", job.Types()); err != nil || c == nil {
			t.Fatal(c, err)
		}
		now := fmt.Sprintf("%d keys got, %d scanned", s.gets, s.scanned)
		if first == "" {
			first = now
		}
		if now != first || s.scanned > 0 || s.gets > 40 {
			t.Errorf("with %d users: %s; with 2: %s", users, now, first)
		}
	}
}

// BenchmarkQueue measures the queue with 10,000 jobs of 1,000 users, without waiting for the
// disk.
func BenchmarkQueue(b *testing.B) {
	s := onDisk(b)
	r := crowd(b, s, 1000, 10)
	ctx := b.Context()
	b.Run("claim and release", func(b *testing.B) {
		for b.Loop() {
			c, err := r.Claim(ctx, "h", job.Types())
			if err != nil || c == nil {
				b.Fatal(c, err)
			}
			must(b, r.Release(ctx, c.Held))
		}
	})
	b.Run("find", func(b *testing.B) {
		for b.Loop() { // after thousands of starts
			must(b, s.View(ctx, func(reader core.Reader) error {
				id, err := r.NextReady(reader, job.Types())
				if id == "" {
					b.Fatal("nothing is found")
				}
				return err
			}))
		}
	})
	c, err := r.Claim(ctx, "h", job.Types())
	must(b, err)
	b.Run("poll", func(b *testing.B) {
		for b.Loop() {
			if _, err := r.Get(ctx, c.ID); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("peek", func(b *testing.B) {
		for b.Loop() {
			if _, err := r.Peek(ctx, c.ID); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("enqueue, that is active", func(b *testing.B) {
		q := job.Request{UserID: "user-5", Type: job.Reflection, Namespace: "n/0"}
		for b.Loop() {
			if _, err := r.Enqueue(ctx, &q); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// TestBudget counts what a claim costs, with its commit.
func TestBudget(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	r := crowd(t, newBoard(t, job.Options{}).store, 100, 5)
	coretest.Budget{Path: "a claim of a job", Allocations: 510}.Check(t, func() {
		if c, err := r.Claim(t.Context(), "h", job.Types()); err != nil || c == nil {
			t.Fatal(c, err)
		}
	})
}
