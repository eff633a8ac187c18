package job_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/job"
)

// TestShards_TakeTurns: no user waits until another's shard is empty, and a holder begins at a
// shard of its own.
func TestShards_TakeTurns(t *testing.T) {
	b := newBoard(t, job.Options{})
	must(t, b.Divide(t.Context()))
	users := []string{"a", "b", "c"}
	for _, user := range users {
		for range 3 {
			b.add(user, job.Workflow, "n")
		}
	}
	if len(slices.Compact(slices.Sorted(slices.Values([]string{job.ShardFor("a"), job.ShardFor("b"), job.ShardFor("c")})))) != 3 {
		t.Fatal("the users aren't in three shards")
	}
	firsts := map[string]bool{}
	for _, holder := range []string{"h1", "h2", "h3"} {
		var served []string
		for range users {
			served = append(served, b.claims(holder).UserID)
		}
		firsts[served[0]] = true
		if slices.Sort(served); !slices.Equal(served, users) {
			t.Errorf("%s serves %v", holder, served)
		}
	}
	if len(firsts) < 2 {
		t.Errorf("all holders begin with %v", firsts)
	}
	if b.claim("h1") != nil {
		t.Error("more jobs than were queued")
	}
	b.sound()
}

// TestShards_AClaimChangesOnlyWhatItMust: none of the shards whose jobs aren't due.
func TestShards_AClaimChangesOnlyWhatItMust(t *testing.T) {
	b := newBoard(t, job.Options{})
	updates := &updates{Store: b.store}
	b.store = updates
	b.restart(job.Options{})
	must(t, b.Divide(t.Context()))
	users := []string{"a", "b", "c"}
	for _, user := range users {
		b.add(user, job.Workflow, "n")
		b.add(user, job.Workflow, "n")
		_, err := b.Snooze(t.Context(), b.claims("h").Held, time.Hour, &job.Outcome{Reason: "r"})
		must(t, err)
	}
	for range users {
		b.claims("h")
	}
	before := updates.n
	if c := b.claim("h"); c != nil || updates.n > before {
		t.Errorf("%d updates for a claim of nothing: %v", updates.n-before, c)
	}
	b.clock.Advance(time.Hour)
	for range users {
		b.claims("h")
	}
	b.sound()
}

// updates counts a store's updates.
type updates struct {
	core.Store
	n int
}

func (s *updates) Update(ctx context.Context, fn func(core.Tx) error) error {
	s.n++
	return s.Store.Update(ctx, fn)
}

// TestDivide_KeepsJobs of every status: what may run does, and what is counted is the same.
func TestDivide_KeepsJobs(t *testing.T) {
	b, _ := manyStates(t)
	before, err := b.Counts(t.Context())
	must(t, err)
	due, err := b.NextDue(t.Context())
	must(t, err)
	waits, err := b.OldestWait(t.Context())
	must(t, err)
	for range 2 {
		must(t, b.Divide(t.Context()))
		b.sound()
	}
	after, err := b.Counts(t.Context())
	must(t, err)
	later, err := b.NextDue(t.Context())
	must(t, err)
	still, err := b.OldestWait(t.Context())
	must(t, err)
	if !slices.Equal(after, before) || !later.Equal(due) || len(still) != len(waits) {
		t.Errorf("%v, %v, %v; before %v, %v, %v", after, later, still, before, due, waits)
	}
	var queued []string
	for _, user := range []string{"new", "newer", "newest"} {
		queued = append(queued, b.add(user, job.Workflow, "n"))
		b.clock.Advance(1)
	}
	jobs, _, err := b.List(t.Context(), job.ListFilter{Limit: 3})
	must(t, err)
	for i, j := range jobs { // the newest first, over shards
		if j.ID != queued[len(queued)-1-i] {
			t.Errorf("job %d of the list is %s, want %s", i, j.ID, queued[len(queued)-1-i])
		}
	}
	b.sound()
}

// TestShards_BoundWhatWaitsOfAll: the bound of all jobs holds over the shards, as far as was
// looked at them.
func TestShards_BoundWhatWaitsOfAll(t *testing.T) {
	b := newBoard(t, job.Options{QueueTotal: 2})
	must(t, b.Divide(t.Context()))
	b.add("a", job.Workflow, "n")
	b.add("b", job.Workflow, "n")
	_, err := b.Claim(t.Context(), "h", nil) // which looks
	must(t, err)
	_, err = b.Enqueue(t.Context(), &job.Request{UserID: "c", Type: job.Dream, Namespace: "n"})
	wantReason(t, err, job.QueueFull)
}
