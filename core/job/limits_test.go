package job_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/store/mem"
)

// TestPool_BoundsTheRunsOfEach: no more of a user's runs, and in a namespace, are worked on at once
// than the limits say, and as many as they allow.
func TestPool_BoundsTheRunsOfEach(t *testing.T) {
	for name, tt := range map[string]struct {
		runs, user, namespace int
		users, namespaces     int // over which 40 runs are spread
		most                  int // at once
	}{
		"no limits":                 {runs: 32, users: 1, namespaces: 1, most: 32},
		"of a user":                 {runs: 32, user: 8, users: 1, namespaces: 1, most: 8},
		"of two users":              {runs: 32, user: 8, users: 2, namespaces: 1, most: 16},
		"of more users than places": {runs: 10, user: 8, users: 2, namespaces: 1, most: 10},
		"in a namespace":            {runs: 32, namespace: 3, users: 4, namespaces: 1, most: 3},
		"in two namespaces":         {runs: 32, namespace: 3, users: 4, namespaces: 2, most: 6},
		"both, the user's first":    {runs: 32, user: 2, namespace: 5, users: 1, namespaces: 2, most: 2},
		"both, the namespace's":     {runs: 32, user: 8, namespace: 5, users: 4, namespaces: 1, most: 5},
		"one place":                 {runs: 1, user: 8, namespace: 5, users: 4, namespaces: 2, most: 1},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				c, most := newCrew(t, mem.Open(), job.Options{Exclusive: true}), &gauge{}
				for i := range 40 {
					_, err := c.Enqueue(t.Context(), &job.Request{
						UserID: fmt.Sprint("u", i%tt.users), Type: job.Workflow, Namespace: fmt.Sprint("n/", i/tt.users%tt.namespaces), IdempotencyKey: fmt.Sprint(i),
					})
					must(t, err)
				}
				p := c.pool(job.PoolOptions{Runs: tt.runs, RunsPerUser: tt.user, RunsPerNamespace: tt.namespace, Handlers: handle(
					func(ctx context.Context, _ *job.Running) (*job.Outcome, error) {
						defer most.enter()()
						return nil, sleep(ctx, time.Second)
					})})
				left, err := p.RunUntilIdle(t.Context())
				must(t, err)
				if left.Queued > 0 || most.most != tt.most {
					t.Errorf("%d are left, and up to %d ran at once, want %d", left.Queued, most.most, tt.most)
				}
				c.sound()
			})
		})
	}
}

// gauge counts what is done at once.
type gauge struct {
	mu        sync.Mutex
	now, most int
}

func (g *gauge) enter() (leave func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.now++
	g.most = max(g.most, g.now)
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.now--
	}
}

// TestPool_ALateUserIsServedNext: behind 64 users with fifty runs each, one more user's run starts
// before two of the others have ended.
func TestPool_ALateUserIsServedNext(t *testing.T) {
	for _, tenant := range []string{"same", "another"} {
		inBubble(t, func(t *testing.T) {
			c := newCrew(t, mem.Open(), job.Options{Exclusive: true})
			for i := range 64 * 50 {
				c.add(fmt.Sprint("u", i%64), job.Workflow, fmt.Sprintf("same/%d", i/64))
			}
			next, late, done := make(chan struct{}), make(chan struct{}), 0
			p := c.pool(job.PoolOptions{Runs: 32, RunsPerUser: 8, Handlers: handle(func(ctx context.Context, j *job.Running) (*job.Outcome, error) {
				if j.UserID == "late" {
					close(late)
					return nil, nil
				}
				select {
				case <-next:
				case <-ctx.Done():
				}
				return nil, ctx.Err()
			})})
			must(t, p.Start(t.Context()))
			for range 100 {
				next <- struct{}{}
			}
			synctest.Wait()
			c.add("late", job.Workflow, tenant+"/n")
			for started := false; !started; {
				select {
				case <-late:
					started = true
				default:
					next <- struct{}{}
					done++
					synctest.Wait()
				}
			}
			if done > 2 {
				t.Errorf("%s: it starts after %d others have ended", tenant, done)
			}
			stopping, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			must(t, p.Stop(stopping))
		})
	}
}

// TestPool_ARunThatWaitsHasNoWorker: while runs wait for something that others have, others are begun in their
// place, up to four times as many; and all of them end.
func TestPool_ARunThatWaitsHasNoWorker(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c := newCrew(t, mem.Open(), job.Options{Exclusive: true})
		for i := range 20 {
			c.add(fmt.Sprint("u", i), job.Workflow, fmt.Sprint("n/", i))
		}
		waiting, working, model := &gauge{}, &gauge{}, make(chan struct{})
		p := c.pool(job.PoolOptions{Runs: 3, Handlers: handle(func(ctx context.Context, _ *job.Running) (*job.Outcome, error) {
			left := waiting.enter()
			back := job.Waits(ctx)
			select {
			case <-model:
			case <-ctx.Done():
			}
			back()
			back()
			left()
			defer working.enter()()
			return nil, sleep(ctx, time.Second)
		})})
		must(t, p.Start(t.Context()))
		synctest.Wait()
		if waiting.now != 12 {
			t.Errorf("%d runs wait, want 12", waiting.now)
		}
		for range 20 {
			model <- struct{}{}
			synctest.Wait()
		}
		must(t, p.Stop(t.Context()))
		if working.most > 12 {
			t.Errorf("%d ran at once", working.most)
		}
		job.Waits(t.Context())() // without a job, nothing waits
		c.sound()
	})
}
