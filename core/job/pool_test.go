package job_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/sdk"
)

// crew is jobs in a bubble, on the bubble's clock.
type crew struct {
	*job.Repository
	t     *testing.T
	store core.Store

	mu     sync.Mutex
	faults []error
}

// inBubble runs a test whose time passes when everything waits.
func inBubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, test)
}

func newCrew(t *testing.T, s core.Store, o job.Options) *crew {
	t.Helper()
	if o.Random == nil {
		o.Random = func() float64 { return 0.5 }
	}
	r, err := job.New(&journal.Writer{Store: s}, &core.SystemIDs{}, o)
	must(t, err)
	return &crew{Repository: r, t: t, store: s}
}

func (c *crew) pool(o job.PoolOptions) *job.Pool {
	c.t.Helper()
	o.Report = func(err error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.faults = append(c.faults, err)
	}
	p, err := job.NewPool(c.Repository, o)
	must(c.t, err)
	return p
}

func (c *crew) add(user string, t job.Type, namespace string) string {
	c.t.Helper()
	made, err := c.Enqueue(c.t.Context(), &job.Request{UserID: user, Type: t, Namespace: namespace, IdempotencyKey: user + namespace + string(t)})
	must(c.t, err)
	return made.ID
}

func (c *crew) status(id string) string {
	c.t.Helper()
	j, err := c.Get(c.t.Context(), id)
	must(c.t, err)
	return strings.TrimSuffix(fmt.Sprintf("%s %s", j.Status, j.Reason), " ")
}

func (c *crew) wantStatus(id, want string) {
	c.t.Helper()
	if got := c.status(id); got != want {
		c.t.Errorf("the job is %s, want %s", got, want)
	}
}

func (c *crew) sound() {
	c.t.Helper()
	for _, p := range problems(c.t, c.store) {
		c.t.Errorf("%s %s: %s", p.Part, p.Key, p.Message)
	}
	if len(c.faults) > 0 {
		c.t.Errorf("faults %v", c.faults)
	}
}

// handle makes handlers of all types from a function.
func handle(fn job.HandlerFunc) map[job.Type]job.Handler {
	all := map[job.Type]job.Handler{}
	for _, t := range job.Types() {
		all[t] = fn
	}
	return all
}

// sleep waits, unless the context ends.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestPool_RunsAtMostItsWorkers(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c := newCrew(t, mem.Open(), job.Options{})
		var mu sync.Mutex
		now, most := map[job.Type]int{}, map[string]int{}
		p := c.pool(job.PoolOptions{Runs: 3, Handlers: handle(func(ctx context.Context, j *job.Running) (*job.Outcome, error) {
			mu.Lock()
			now[j.Type]++
			workers := 0
			for _, typ := range job.Types()[:5] {
				workers += now[typ]
			}
			most[string(j.Type)] = max(most[string(j.Type)], now[j.Type])
			most["workers"] = max(most["workers"], workers)
			mu.Unlock()
			defer func() {
				mu.Lock()
				defer mu.Unlock()
				now[j.Type]--
			}()
			return nil, sleep(ctx, time.Second)
		})})
		var ids []string
		for i := range 8 {
			for _, typ := range []job.Type{job.Workflow, job.Reflection, job.Dream} {
				ids = append(ids, c.add(fmt.Sprint("u", i), typ, "n"))
			}
		}
		left, err := p.RunUntilIdle(t.Context())
		must(t, err)
		if left != (job.Idle{}) {
			t.Errorf("left %+v", left)
		}
		for _, id := range ids {
			c.wantStatus(id, "completed done")
		}
		if got := fmt.Sprint(most); got != "map[dream:1 reflection:2 workers:2 workflow:3]" {
			t.Errorf("at once: %s", got)
		}
		c.sound()
	})
}

// TestPool_IsFair: between two starts for one user every other user with a job that may run
// starts one, and a user whose jobs are slow delays nobody.
func TestPool_IsFair(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c := newCrew(t, mem.Open(), job.Options{})
		var mu sync.Mutex
		var started []string
		p := c.pool(job.PoolOptions{Handlers: handle(func(ctx context.Context, j *job.Running) (*job.Outcome, error) {
			mu.Lock()
			started = append(started, j.UserID)
			mu.Unlock()
			if j.UserID == "slow" {
				return nil, sleep(ctx, 10*time.Minute)
			}
			return nil, sleep(ctx, time.Second)
		})})
		const users, each = 16, 4
		for i := range each {
			c.add("slow", job.Reflection, fmt.Sprint("n/", i))
			for u := range users {
				c.add(fmt.Sprint("u", u), job.Reflection, fmt.Sprint("n/", i))
			}
		}
		began := time.Now()
		_, err := p.RunUntilIdle(t.Context())
		must(t, err)
		if took := time.Since(began); took > 41*time.Minute {
			t.Errorf("it took %s: a slow user held the others up", took)
		}
		last := map[string]int{}
		for i, user := range started {
			if before, again := last[user]; again && user != "slow" {
				between := map[string]bool{}
				for _, other := range started[before+1 : i] {
					between[other] = true
				}
				if delete(between, "slow"); len(between) != users-1 {
					t.Fatalf("between two starts of %s started %d others", user, len(between))
				}
			}
			last[user] = i
		}
		if len(started) != each*(users+1) {
			t.Errorf("%d starts", len(started))
		}
		c.sound()
	})
}

func TestPool_ErrorsDecideHowAJobEnds(t *testing.T) {
	fails := func(code sdk.Code, reason string) error { return sdk.Errorf(code, reason, "it fails") }
	for name, c := range map[string]struct {
		do     func(ctx context.Context, j *job.Running) (*job.Outcome, error)
		want   string
		starts int
		took   time.Duration
	}{
		"at once": {func(context.Context, *job.Running) (*job.Outcome, error) { return nil, fails(sdk.Denied, "veto") }, "failed veto", 1, 0},
		"its reason": {func(context.Context, *job.Running) (*job.Outcome, error) {
			return &job.Outcome{Reason: "mine"}, fails(sdk.Denied, "veto")
		}, "failed mine", 1, 0},
		"unavailable": {func(context.Context, *job.Running) (*job.Outcome, error) { return nil, fails(sdk.Unavailable, "") }, "failed unavailable", 3, 25 * time.Second},
		"timeout":     {func(context.Context, *job.Running) (*job.Outcome, error) { return nil, fails(sdk.Timeout, "slow") }, "failed slow", 3, 25 * time.Second},
		"exhausted":   {func(context.Context, *job.Running) (*job.Outcome, error) { return nil, fails(sdk.Exhausted, "budget") }, "failed budget", 3, 25 * time.Second},
		"no quota": {func(context.Context, *job.Running) (*job.Outcome, error) {
			return nil, sdk.AsPermanent(fails(sdk.Exhausted, "llm_quota"))
		}, "failed llm_quota", 1, 0},
		"foreign": {func(context.Context, *job.Running) (*job.Outcome, error) { return nil, errors.New("oops") }, "failed internal", 1, 0},
		"panics":  {func(context.Context, *job.Running) (*job.Outcome, error) { panic("oops") }, "failed job_panicked", 1, 0},
		"bad outcome": {func(context.Context, *job.Running) (*job.Outcome, error) {
			return &job.Outcome{Result: []byte("{")}, nil
		}, "failed job_result_invalid", 1, 0},
		"bad result": {func(context.Context, *job.Running) (*job.Outcome, error) {
			return &job.Outcome{Result: []byte("{")}, errors.New("oops")
		}, "failed internal", 1, 0},
		"failed effect": {func(context.Context, *job.Running) (*job.Outcome, error) {
			return &job.Outcome{Effects: func(*journal.Tx) error { return fails(sdk.Invalid, "bad_effect") }}, nil
		}, "failed bad_effect", 1, 0},
		"more to do": {func(_ context.Context, j *job.Running) (*job.Outcome, error) {
			return &job.Outcome{Effects: func(*journal.Tx) error {
				if j.Lease().Epoch < 5 { // more often than attempts are counted
					return job.ErrAgain
				}
				return nil
			}}, nil
		}, "completed done", 5, 0},
		"snoozes": {func(_ context.Context, j *job.Running) (*job.Outcome, error) {
			if j.Snoozes < 2 {
				return nil, &job.SnoozeError{Wait: time.Minute, Err: fails(sdk.Exhausted, "rate_limited")}
			}
			return nil, nil
		}, "completed done", 3, 2 * time.Minute},
		"its time is up": {func(ctx context.Context, _ *job.Running) (*job.Outcome, error) { return nil, sleep(ctx, time.Hour) }, "failed job_timeout", 3, 45*time.Minute + 25*time.Second},
		"ignores that its time is up": {func(_ context.Context, j *job.Running) (*job.Outcome, error) {
			if j.Attempts == 1 {
				time.Sleep(time.Hour)
			}
			return nil, nil
		}, "completed done", 2, 15*time.Minute + 15*time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				w := newCrew(t, mem.Open(), job.Options{})
				var starts sync.Map
				p := w.pool(job.PoolOptions{Handlers: handle(func(ctx context.Context, j *job.Running) (*job.Outcome, error) {
					starts.Store(j.Lease().Epoch, true)
					return c.do(ctx, j)
				})})
				id := w.add("u", job.Reflection, "n")
				must(t, p.Start(t.Context()))
				began := time.Now()
				for !strings.HasPrefix(w.status(id), c.want[:6]) && time.Since(began) < 2*time.Hour {
					time.Sleep(time.Second)
				}
				if took := time.Since(began); (took - c.took).Abs() > 5*time.Second {
					t.Errorf("it took %s, want %s", took, c.took)
				}
				must(t, p.Stop(t.Context()))
				w.wantStatus(id, c.want)
				n := 0
				starts.Range(func(any, any) bool { n++; return true })
				if n != c.starts {
					t.Errorf("%d starts, want %d", n, c.starts)
				}
				w.sound()
			})
		})
	}
}

func TestPool_CancelStopsARunningJob(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(ctx context.Context) (*job.Outcome, error)
		want string
		took time.Duration
	}{
		"obeys": {func(ctx context.Context) (*job.Outcome, error) {
			return &job.Outcome{Result: []byte(`{"done":3}`)}, sleep(ctx, time.Hour)
		}, `cancelled stop {"done":3}`, 0},
		"is done all the same": {func(ctx context.Context) (*job.Outcome, error) {
			return nil, errors.Join(nil, func() error { _ = sleep(ctx, time.Hour); return nil }())
		}, "completed done ", 0},
		"ignores it": {func(context.Context) (*job.Outcome, error) { time.Sleep(time.Minute); return nil, nil }, "cancelled stop ", 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				w := newCrew(t, mem.Open(), job.Options{})
				p := w.pool(job.PoolOptions{Handlers: handle(func(ctx context.Context, _ *job.Running) (*job.Outcome, error) { return c.do(ctx) })})
				id := w.add("u", job.Reflection, "n")
				must(t, p.Start(t.Context()))
				time.Sleep(time.Second)
				_, err := w.Cancel(t.Context(), id, "stop")
				must(t, err)
				time.Sleep(c.took + 2*time.Second)
				j, err := w.Get(t.Context(), id)
				must(t, err)
				if got := fmt.Sprintf("%s %s %s", j.Status, j.Reason, j.Result); got != c.want {
					t.Errorf("the job is %s, want %s", got, c.want)
				}
				time.Sleep(time.Hour) // a handler that ignores it returns at last, and writes nothing
				must(t, p.Stop(t.Context()))
				w.sound()
			})
		})
	}
}

func TestPool_StopDrains(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c := newCrew(t, mem.Open(), job.Options{})
		p := c.pool(job.PoolOptions{Workers: 3, Handlers: handle(func(ctx context.Context, j *job.Running) (*job.Outcome, error) {
			switch j.UserID {
			case "quick":
				return nil, sleep(ctx, 5*time.Second)
			case "deaf":
				time.Sleep(time.Minute)
				return nil, nil
			}
			return nil, sleep(ctx, time.Hour)
		})})
		must(t, p.Stop(t.Context())) // before its start
		p = c.pool(job.PoolOptions{Workers: 3, Handlers: handle(func(ctx context.Context, j *job.Running) (*job.Outcome, error) {
			switch j.UserID {
			case "quick":
				return nil, sleep(ctx, 5*time.Second)
			case "deaf":
				time.Sleep(time.Minute)
				return nil, nil
			}
			return nil, sleep(ctx, time.Hour)
		})})
		quick, slow, deaf := c.add("quick", job.Reflection, "n"), c.add("slow", job.Reflection, "n"), c.add("deaf", job.Reflection, "n")
		waits := c.add("waits", job.Reflection, "n")
		must(t, p.Start(t.Context()))
		time.Sleep(time.Second)
		if !p.Started() || len(p.Running()) != 3 {
			t.Fatalf("running %v", p.Running())
		}
		stopping, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		began := time.Now()
		wantReason(t, p.Stop(stopping), "jobs_running")
		if took := time.Since(began); took != 20*time.Second {
			t.Errorf("the stop took %s", took)
		}
		c.wantStatus(quick, "completed done")
		for _, id := range []string{slow, deaf} {
			c.wantStatus(id, "queued drained")
			if j, err := c.Get(t.Context(), id); err != nil || j.Attempts != 0 {
				t.Errorf("%+v, %v: a shutdown is an attempt", j, err)
			}
		}
		c.wantStatus(waits, "queued")
		must(t, p.Stop(t.Context())) // until the deaf one returns
		c.wantStatus(deaf, "queued drained")
		must(t, p.Stop(t.Context()))
		wantReason(t, p.Start(t.Context()), "pool_started")
		if working, err := c.Working(t.Context()); working || err != nil {
			t.Errorf("somebody works: %v", err)
		}
		c.sound()
	})
}

// TestWorking_SeesBeatsRiseAndNoClock: another process sees that a pool works while its beats
// rise, though its clock is behind, and no longer once it was killed.
func TestWorking_SeesBeatsRiseAndNoClock(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := mem.Open()
		killable := &stuckStore{Store: s}
		c := newCrew(t, killable, job.Options{})
		var elsewhere coretest.Clock
		other, err := job.New(&journal.Writer{Store: s, Clock: &elsewhere}, &core.SystemIDs{}, job.Options{})
		must(t, err)
		working := func(want bool) {
			t.Helper()
			if got, err := other.Working(t.Context()); got != want || err != nil {
				t.Errorf("working: %v, %v", got, err)
			}
		}
		working(false)
		p := c.pool(job.PoolOptions{Handlers: handle(func(context.Context, *job.Running) (*job.Outcome, error) { return nil, nil })})
		must(t, p.Start(t.Context()))
		working(true)
		killable.stop(true)
		working(false)
		killable.stop(false)
		working(true)
		must(t, p.Stop(t.Context()))
		working(false)
	})
}

func TestPool_ProgressIsVisibleAndWrittenOnceASecond(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var mu sync.Mutex
		var written []float64
		c := newCrew(t, mem.Open(), job.Options{Progressed: func(_ string, p float64) {
			mu.Lock()
			defer mu.Unlock()
			written = append(written, p)
		}})
		p := c.pool(job.PoolOptions{Handlers: handle(func(ctx context.Context, j *job.Running) (*job.Outcome, error) {
			for i := range 100 {
				j.Progress(float64(i) / 100)
				j.Progress(0.01)
				time.Sleep(100 * time.Millisecond)
			}
			return nil, nil
		})})
		id := c.add("u", job.Dream, "n")
		must(t, p.Start(t.Context()))
		time.Sleep(5500 * time.Millisecond)
		j, err := c.Peek(t.Context(), id)
		must(t, err)
		if j.Progress < 0.4 || j.Progress > 0.55 || j.StartedAt == nil || j.Status != job.StatusRunning {
			t.Errorf("after half of it: %+v", j)
		}
		time.Sleep(10 * time.Second)
		must(t, p.Stop(t.Context()))
		if len(written) < 8 || len(written) > 11 || !slices.IsSorted(written) {
			t.Errorf("written %v", written)
		}
		c.wantStatus(id, "completed done")
		c.sound()
	})
}

func TestPool_StepIsPaidOnce(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c := newCrew(t, mem.Open(), job.Options{})
		paid := 0
		p := c.pool(job.PoolOptions{Handlers: handle(func(ctx context.Context, j *job.Running) (*job.Outcome, error) {
			answer, err := j.Step(ctx, "ask", func(context.Context) (json.RawMessage, []string, error) {
				paid++
				return []byte(`"42"`), nil, nil
			})
			if err != nil || j.Attempts < 3 {
				return nil, errors.Join(err, sdk.Errorf(sdk.Unavailable, "", "down"))
			}
			return &job.Outcome{Result: answer}, nil
		})})
		id := c.add("u", job.Reflection, "n")
		j, err := p.RunJob(t.Context(), id)
		must(t, err)
		if string(j.Result) != `"42"` || paid != 1 || j.Attempts != 3 {
			t.Errorf("%+v, paid %d times", j, paid)
		}
		c.sound()
	})
}

// TestPool_RunsAsWhoAsked: a handler's context has the caller of the job.
func TestPool_RunsAsWhoAsked(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c := newCrew(t, mem.Open(), job.Options{})
		var who core.Caller
		p := c.pool(job.PoolOptions{Handlers: handle(func(ctx context.Context, j *job.Running) (*job.Outcome, error) {
			who = core.CallerOf(ctx)
			return nil, nil
		})})
		ctx := core.WithCaller(t.Context(), core.Caller{Subject: "alice", Namespaces: []string{"a/**"}})
		_, err := c.Enqueue(ctx, &job.Request{UserID: "u", Type: job.Dream, Namespace: "a"})
		must(t, err)
		_, err = p.RunUntilIdle(core.WithCaller(t.Context(), core.Operator("host")))
		must(t, err)
		if who.Subject != "alice" || who.Has(core.ScopeOperate) {
			t.Errorf("it ran as %+v", who)
		}
		c.sound()
	})
}

// TestPool_TakesOverWhoShowsNoBeat: two processes on one store. The first is stopped for
// longer than the lease, and writes nothing when it continues.
func TestPool_TakesOverWhoShowsNoBeat(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		stuck := &stuckStore{Store: mem.Open()}
		first, second := newCrew(t, stuck, job.Options{}), newCrew(t, stuck.Store, job.Options{})
		late := make(chan error, 1)
		goOn := make(chan struct{})
		p1 := first.pool(job.PoolOptions{Handlers: handle(func(ctx context.Context, j *job.Running) (*job.Outcome, error) {
			<-goOn
			late <- j.Update(context.WithoutCancel(ctx), func(tx *journal.Tx) error { return tx.Put([]byte("late"), nil) })
			return nil, nil
		})})
		id := first.add("u", job.Reflection, "n")
		must(t, p1.Start(t.Context()))
		time.Sleep(30 * time.Second) // it lives, so that nobody takes its job
		var ran atomic.Int32
		p2 := second.pool(job.PoolOptions{Handlers: handle(func(context.Context, *job.Running) (*job.Outcome, error) { ran.Add(1); return nil, nil })})
		must(t, p2.Start(t.Context()))
		time.Sleep(30 * time.Second)
		if second.wantStatus(id, "running"); ran.Load() > 0 {
			t.Fatal("a job was taken whose holder lives")
		}
		j, err := second.Get(t.Context(), id)
		if err != nil || j.Lease.Beat < 10 {
			t.Errorf("after a minute the beat is %+v, %v", j.Lease, err)
		}
		stuck.stop(true)
		began := time.Now()
		for ran.Load() == 0 && time.Since(began) < time.Minute {
			time.Sleep(100 * time.Millisecond)
		}
		if took := time.Since(began); took < 8*time.Second || took > 12*time.Second {
			t.Errorf("it was taken over after %s", took)
		}
		stuck.stop(false)
		close(goOn)
		time.Sleep(5 * time.Second)
		if err := <-late; sdk.ReasonOf(err) != job.LeaseLost {
			t.Errorf("the late write: %v", err)
		}
		must(t, p1.Stop(t.Context()))
		must(t, p2.Stop(t.Context()))
		second.wantStatus(id, "completed done")
		if n := ran.Load(); n != 1 {
			t.Errorf("it ran %d times", n)
		}
		second.sound()
	})
}

// stuckStore is a store that a process can't write to while it is stopped.
type stuckStore struct {
	core.Store
	mu      sync.Mutex
	stopped bool
}

func (s *stuckStore) stop(stopped bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = stopped
}

func (s *stuckStore) Update(ctx context.Context, fn func(core.Tx) error) error {
	s.mu.Lock()
	stopped := s.stopped
	s.mu.Unlock()
	if stopped {
		return sdk.Errorf(sdk.Unavailable, "store_io", "the process is stopped")
	}
	return s.Store.Update(ctx, fn)
}

// TestPool_ExclusiveStoreIsTakenOverAtOnce: a process that has the store's lock knows that
// the one before it is gone, and nobody writes beats.
func TestPool_ExclusiveStoreIsTakenOverAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := mem.Open()
		before := newCrew(t, s, job.Options{Exclusive: true})
		id := before.add("u", job.Reflection, "n")
		if claimed, err := before.Claim(t.Context(), "dead", job.Types()); err != nil || claimed.ID != id {
			t.Fatal(claimed, err)
		}
		c := newCrew(t, s, job.Options{Exclusive: true})
		p := c.pool(job.PoolOptions{Handlers: handle(func(context.Context, *job.Running) (*job.Outcome, error) { return nil, nil })})
		began := time.Now()
		j, err := p.RunJob(t.Context(), id)
		must(t, err)
		if took := time.Since(began); took > time.Second || j.Attempts != 1 || j.Status != job.StatusCompleted {
			t.Errorf("after %s: %+v", took, j)
		}
		for key := range dump(t, s) {
			if strings.HasPrefix(key, "job-holder/") {
				t.Errorf("there is %s", key)
			}
		}
		c.sound()
	})
}

// TestPool_WritesWhatTheStoreRefusedFirst: an end that can't be written is written later.
func TestPool_WritesWhatTheStoreRefusedFirst(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		stuck := &stuckStore{Store: mem.Open()}
		c := newCrew(t, stuck, job.Options{Exclusive: true})
		p := c.pool(job.PoolOptions{Handlers: handle(func(context.Context, *job.Running) (*job.Outcome, error) { stuck.stop(true); return nil, nil })})
		id := c.add("u", job.Reflection, "n")
		must(t, p.Start(t.Context()))
		time.Sleep(5 * time.Second)
		c.wantStatus(id, "running")
		stuck.stop(false)
		time.Sleep(2 * time.Second)
		c.wantStatus(id, "completed done")
		must(t, p.Stop(t.Context()))
		if len(c.faults) == 0 {
			t.Error("nothing was reported")
		}
		c.faults = nil
		c.sound()
	})
}

// failingStore is a store of which one transaction, once told to, waits until somebody lets
// it fail.
type failingStore struct {
	core.Store
	waiting, fail chan struct{}
	on            atomic.Bool
}

func (s *failingStore) Update(ctx context.Context, fn func(core.Tx) error) error {
	if s.on.CompareAndSwap(true, false) {
		s.waiting <- struct{}{}
		<-s.fail
		return sdk.Errorf(sdk.Unavailable, "store_stuck", "the store fails")
	}
	return s.Store.Update(ctx, fn)
}

// TestPool_SettlesAJobWhoseHandlerReturnsWhileItIsAbandoned: if that attempt to write its
// end fails, the handler's return writes it.
func TestPool_SettlesAJobWhoseHandlerReturnsWhileItIsAbandoned(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := &failingStore{Store: mem.Open(), waiting: make(chan struct{}), fail: make(chan struct{})}
		c := newCrew(t, s, job.Options{Exclusive: true})
		deaf := make(chan struct{})
		all := handle(func(context.Context, *job.Running) (*job.Outcome, error) { <-deaf; return nil, nil })
		p := c.pool(job.PoolOptions{ // which claims nothing while its worker is busy
			Grace: time.Second, Workers: 1, Handlers: map[job.Type]job.Handler{job.Reflection: all[job.Reflection]},
		})
		id := c.add("u", job.Reflection, "n")
		must(t, p.Start(t.Context()))
		synctest.Wait()
		_, err := c.Cancel(t.Context(), id, "")
		must(t, err)
		synctest.Wait() // its context has ended
		s.on.Store(true)
		<-s.waiting // the pool writes that it was cancelled
		close(deaf)
		synctest.Wait() // the handler has returned
		s.fail <- struct{}{}
		synctest.Wait()
		if status := c.status(id); status == "running" {
			t.Errorf("the job is %s", status)
		}
		must(t, p.Stop(t.Context()))
		c.faults = nil
		c.sound()
	})
}

// TestPool_StopWhileItStarts: the pool has stopped once both have returned.
func TestPool_StopWhileItStarts(t *testing.T) {
	held := &heldStore{Store: mem.Open(), begun: make(chan struct{}), release: make(chan struct{})}
	c := newCrew(t, held, job.Options{})
	p := c.pool(job.PoolOptions{Handlers: handle(func(context.Context, *job.Running) (*job.Outcome, error) { return nil, nil })})
	var both sync.WaitGroup
	both.Go(func() {
		if err := p.Start(t.Context()); err != nil && sdk.ReasonOf(err) != "pool_started" {
			t.Error(err)
		}
	})
	<-held.begun // it writes its first beat
	both.Go(func() {
		if err := p.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
	close(held.release)
	both.Wait()
	if p.Started() {
		t.Error("the pool works on")
	}
	if left, err := c.Holders(t.Context()); err != nil || len(left) > 0 {
		t.Errorf("holders %v, %v", left, err)
	}
}

// heldStore is a store whose first transaction waits.
type heldStore struct {
	core.Store
	begun, release chan struct{}
	once           sync.Once
}

func (s *heldStore) Update(ctx context.Context, fn func(core.Tx) error) error {
	s.once.Do(func() {
		close(s.begun)
		<-s.release
	})
	return s.Store.Update(ctx, fn)
}

// TestPool_KeepsHowFarAFailedJobCame: what the handler said last isn't lost between two
// writes.
func TestPool_KeepsHowFarAFailedJobCame(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c := newCrew(t, mem.Open(), job.Options{Exclusive: true})
		p := c.pool(job.PoolOptions{Handlers: handle(func(_ context.Context, j *job.Running) (*job.Outcome, error) {
			j.Progress(0.75)
			return nil, sdk.Errorf(sdk.Internal, "broken", "it can't go on")
		})})
		id := c.add("u", job.Reflection, "n")
		must(t, p.Start(t.Context()))
		synctest.Wait()
		if j, err := c.Get(t.Context(), id); err != nil || j.Progress != 0.75 || j.Status != job.StatusFailed {
			t.Errorf("%+v, %v", j, err)
		}
		must(t, p.Stop(t.Context()))
		c.sound()
	})
}

func TestRunUntilIdle_LeavesWhatWaits(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c := newCrew(t, mem.Open(), job.Options{})
		failing := map[job.Type]job.Handler{job.Reflection: job.HandlerFunc(func(context.Context, *job.Running) (*job.Outcome, error) {
			return nil, sdk.Errorf(sdk.Unavailable, "", "down")
		})}
		id, unknown := c.add("u", job.Reflection, "n"), c.add("v", job.Dream, "n")
		left, err := c.pool(job.PoolOptions{Handlers: failing}).RunUntilIdle(t.Context())
		must(t, err)
		if left.Queued != 2 || time.Until(left.Next) > 5*time.Second || left.Next.IsZero() {
			t.Errorf("left %+v", left)
		}
		c.wantStatus(id, "queued unavailable")
		c.wantStatus(unknown, "queued")
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		_, err = c.pool(job.PoolOptions{Handlers: handle(func(ctx context.Context, _ *job.Running) (*job.Outcome, error) { return nil, sleep(ctx, time.Hour) })}).RunUntilIdle(ctx)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("ended: %v", err)
		}
		c.wantStatus(unknown, "queued drained")
		c.sound()
	})
}

// TestPool_ManyUsersOnDisk: what pools of two processes do together, with real commits.
func TestPool_ManyUsersOnDisk(t *testing.T) {
	s := onDisk(t)
	var mu sync.Mutex
	ran := map[string]int{}
	handlers := handle(func(_ context.Context, j *job.Running) (*job.Outcome, error) {
		mu.Lock()
		defer mu.Unlock()
		ran[j.ID]++
		return &job.Outcome{Effects: func(tx *journal.Tx) error { return tx.Put([]byte("effect/"+j.ID), nil) }}, nil
	})
	first, second := newCrew(t, s, job.Options{}), newCrew(t, s, job.Options{})
	p1, p2 := first.pool(job.PoolOptions{Handlers: handlers}), second.pool(job.PoolOptions{Handlers: handlers})
	var all sync.WaitGroup
	for u := range 16 {
		all.Go(func() {
			for _, typ := range job.Types() {
				if _, err := first.Enqueue(t.Context(), &job.Request{UserID: fmt.Sprint("u", u), Type: typ, Namespace: "n", IdempotencyKey: "k"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	for _, p := range []*job.Pool{p1, p2} {
		all.Go(func() {
			if _, err := p.RunUntilIdle(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	jobs, _, err := first.List(t.Context(), job.ListFilter{Status: job.StatusCompleted, Limit: 1000})
	must(t, err)
	if len(jobs) != 96 || len(ran) != 96 {
		t.Errorf("%d jobs completed, %d ran", len(jobs), len(ran))
	}
	for id, n := range ran {
		if n != 1 {
			t.Errorf("job %s ran %d times", id, n)
		}
	}
	first.sound()
}
