package job_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/store/mem"
)

// kinds are the ways in which a store's jobs may be kept.
var kinds = map[string]struct{ exclusive, divided bool }{
	"one process": {true, false}, "several processes": {}, "hosts": {false, true},
}

// TestClaim_TakesTenantsInTurn: however many jobs a tenant's users have queued, another
// tenant's job is among the next two starts.
func TestClaim_TakesTenantsInTurn(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	for name, kind := range kinds {
		for _, typ := range job.Types() {
			for _, late := range []string{"team/notes", "users/ana", "aaa"}[:coretest.Cases(1, 3)] {
				for _, users := range []int{1, 40} {
					t.Run(fmt.Sprint(name, " ", typ, " ", late, " ", users), func(t *testing.T) {
						b := newBoard(t, job.Options{Exclusive: kind.exclusive, QueuePerUser: 200})
						if kind.divided {
							must(t, b.Divide(t.Context()))
						}
						for i := range coretest.Cases(60, 120) {
							b.add(fmt.Sprint("u", i%users), typ, fmt.Sprint("crowd/", i))
						}
						end := func(c *job.Claimed) { must(t, b.Complete(t.Context(), c.Held, &job.Outcome{})) }
						for range 2 { // once as a newcomer, and once as a tenant that was served before
							for range 3 {
								end(b.claims("h"))
							}
							id, found := b.add("late", typ, late), false
							for range 2 {
								c := b.claims("h")
								found = found || c.ID == id
								end(c)
							}
							if !found {
								t.Fatal("the other tenant's job isn't among the next two")
							}
						}
						b.sound()
					})
				}
			}
		}
	}
}

// TestClaim_TakesUsersOfWorkflowsInTurn: between two starts for one user every other user with
// a queued run starts one.
func TestClaim_TakesUsersOfWorkflowsInTurn(t *testing.T) {
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			b := newBoard(t, job.Options{Exclusive: kind.exclusive})
			for range 50 {
				b.add("a", job.Workflow, "n/1")
			}
			for _, user := range []string{"b", "c", "d"} {
				for range 3 {
					b.add(user, job.Workflow, "n/2")
				}
			}
			if kind.divided {
				must(t, b.Divide(t.Context()))
			}
			for round := range 3 {
				seen := map[string]bool{}
				for range 4 {
					seen[b.claims("h").UserID] = true
				}
				if len(seen) != 4 {
					t.Errorf("round %d serves %v", round, seen)
				}
			}
			b.sound()
		})
	}
}

// TestClaim_SeesEveryReturn: a job that goes back to the queue, or whose time comes, isn't
// forgotten while others are started.
func TestClaim_SeesEveryReturn(t *testing.T) {
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			b := newBoard(t, job.Options{Exclusive: kind.exclusive})
			if kind.divided {
				must(t, b.Divide(t.Context()))
			}
			for i := range 30 {
				b.add(fmt.Sprint("u", i%7), job.Workflow, "crowd")
			}
			id := b.add("late", job.Workflow, "team")
			back := map[string]func(job.Lease) error{
				"release": func(l job.Lease) error { return b.Release(t.Context(), l) },
				"snooze": func(l job.Lease) error {
					_, err := b.Snooze(t.Context(), l, 1, &job.Outcome{Reason: "r"})
					b.clock.Advance(1 << 40)
					return err
				},
				"retry": func(l job.Lease) error {
					_, err := b.Retry(t.Context(), l, &job.Outcome{Reason: "r"})
					b.clock.Advance(1 << 40)
					return err
				},
			}
			for how, put := range back {
				found := false
				for range 3 {
					if c := b.claims("h"); c.ID == id {
						must(t, put(c.Held))
						found = true
						break
					}
				}
				if !found {
					t.Fatalf("before the %s, the other tenant's job isn't started", how)
				}
			}
			b.sound()
		})
	}
}

// TestClaim_LooksForANewJobOnce: a process that makes all changes reads the sets of ready jobs
// once, and from then on looks only for the jobs that it moved since its last claim.
func TestClaim_LooksForANewJobOnce(t *testing.T) {
	b := newBoard(t, job.Options{Exclusive: true})
	b.add("a", job.Workflow, "n")
	b.claims("h")
	for _, user := range []string{"b", "c", "d"} {
		b.add(user, job.Workflow, "n")
	}
	if n := b.Notes(); n != 3 {
		t.Errorf("%d jobs are looked for, want 3", n)
	}
	b.claims("h")
	if n := b.Notes(); n != 0 {
		t.Errorf("after a claim %d jobs are looked for", n)
	}
}

// TestPool_LetsATenantHaveHalf of the workers while another tenant waits or had some lately, and all
// otherwise.
func TestPool_LetsATenantHaveHalf(t *testing.T) {
	for _, c := range []struct {
		typ           job.Type
		runs, workers int
	}{{job.Workflow, 32, 2}, {job.Workflow, 5, 1}, {job.Workflow, 2, 1}, {job.Reflection, 1, 8}, {job.Reflection, 1, 3}, {job.Compact, 1, 4}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) { inBubble(t, func(t *testing.T) { letHalf(t, c.typ, c.runs, c.workers) }) })
	}
}

func letHalf(t *testing.T, typ job.Type, runs, workers int) {
	s := mem.Open()
	defer s.Close()
	jobs := newCrew(t, s, job.Options{Exclusive: true})
	places := workers
	if typ == job.Workflow {
		places = runs
	}
	ends := map[string]chan struct{}{"crowd": make(chan struct{}), "team": make(chan struct{})}
	running := make(chan map[string]int, 1)
	running <- map[string]int{}
	add := func(tenant string, n int) {
		now := <-running
		now[tenant] += n
		running <- now
	}
	p := jobs.pool(job.PoolOptions{Runs: runs, Workers: workers, PerType: map[job.Type]int{typ: 1000}, Handlers: map[job.Type]job.Handler{
		typ: job.HandlerFunc(func(ctx context.Context, j *job.Running) (*job.Outcome, error) {
			tenant := core.Tenant(j.Namespace)
			add(tenant, 1)
			defer add(tenant, -1)
			select {
			case <-ends[tenant]:
			case <-ctx.Done():
			}
			return nil, ctx.Err()
		}),
	}})
	for i := range 3 * places {
		jobs.add(fmt.Sprint("u", i), typ, fmt.Sprint("crowd/", i))
	}
	must(t, p.Start(t.Context()))
	has := func(tenant string) int {
		synctest.Wait()
		now := <-running
		defer func() { running <- now }()
		return now[tenant]
	}
	if n := has("crowd"); n != places {
		t.Errorf("alone, the tenant has %d workers of %d", n, places)
	}
	for i := range places {
		jobs.add(fmt.Sprint("late", i), typ, fmt.Sprint("team/", i))
	}
	for range places / 2 { // each place that ends goes to the tenant that waits
		before := has("team")
		ends["crowd"] <- struct{}{}
		if after := has("team"); after != before+1 {
			t.Errorf("the waiting tenant has %d workers after an end, and %d before", after, before)
		}
	}
	if n := has("crowd"); n > (places+1)/2 {
		t.Errorf("the tenant has %d workers of %d, while another waits", n, places)
	}
	for has("team") > 0 {
		ends["team"] <- struct{}{}
	}
	if n := has("crowd"); n > (places+1)/2 {
		t.Errorf("the tenant has %d workers of %d, just after another had some", n, places)
	}
	jobs.add("late", typ, "team/again")
	if n := has("team"); n != 1 {
		t.Errorf("a tenant that comes again soon has %d workers at once", n)
	} else {
		ends["team"] <- struct{}{}
	}
	<-time.After(12 * time.Second) // longer than it counts
	if n := has("crowd"); n != places {
		t.Errorf("alone again, the tenant has %d workers of %d", n, places)
	}
	must(t, p.Stop(t.Context()))
}
