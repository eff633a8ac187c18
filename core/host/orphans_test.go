package host_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/sdk"
)

// ghostRun is a run of a host that is gone.
func ghostRun(ctx context.Context, t *testing.T, s core.Store, id string, n run.Needs) {
	t.Helper()
	err := s.Update(ctx, func(tx core.Tx) error {
		return tx.Put([]byte("host/ghost"), jsontext.MustEncode(store.HostRecord{ID: "ghost", Beat: 1}))
	})
	if err != nil {
		t.Fatal(err)
	}
	runs := run.NewRepository(s, core.SystemClock{})
	runs.Holder, runs.Lives = func() string { return "ghost" }, func(core.Reader, string) (bool, error) { return true, nil }
	text := "name: w\nnodes:\n  - {name: a, action: memory.observe, with: {content: c}}\n"
	r := &core.Run{ID: id, Workflow: "w", Source: core.Source{File: "w.yaml", Text: text}, State: []byte("{}")}
	if err := runs.CreateWith(ctx, r, n); err != nil {
		t.Fatal(err)
	}
}

// sound fails on anything that a check of the store finds.
func sound(t *testing.T, s core.Store) {
	t.Helper()
	checkers, err := host.Checkers(s)
	if err == nil {
		_, err = store.Check(t.Context(), s, checkers, func(p core.Problem) { t.Errorf("%+v", p) })
	}
	if err != nil {
		t.Error(err)
	}
}

// hostsSee is after how long a host knows that another is gone.
func hostsSee() {
	time.Sleep(2 * store.DefaultGone)
	synctest.Wait()
}

// A host that is gone is forgotten, even if it had the run of a job: that continues with the
// job, or with the caller that resumes it.
func TestOrphans_OfJobsKeepNoHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := core.WithCaller(t.Context(), core.Operator("ada"))
		s := mem.Open()
		ghostRun(ctx, t, s, "run-1", run.Needs{Job: true})
		h := open(t, host.Config{Store: s})
		if err := h.Membership.Join(ctx, host.JoinOptions{TakeOver: func(context.Context, run.Held) error { t.Error("it is taken over"); return nil }}); err != nil {
			t.Fatal(err)
		}
		hostsSee()
		if list, err := h.Membership.Hosts(ctx); err != nil || len(list) != 1 {
			t.Errorf("the hosts are %+v: %v", list, err)
		}
		sound(t, s)
		if r, err := h.Runner.Resume(ctx, "run-1", host.RunOptions{}); err != nil || r.Status != core.StatusPassed {
			t.Errorf("resumed, it is %+v: %v", r, err)
		}
		if held, err := h.Runs.Held(ctx); err != nil || len(held) != 0 {
			t.Errorf("held are %v: %v", held, err)
		}
		sound(t, s)
	})
}

// A host that joined since the others looked keeps its runs.
func TestOrphans_LeaveTheRunsOfWhoJustJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := core.WithCaller(t.Context(), core.Operator("ada"))
		s := mem.Open()
		h := open(t, host.Config{Store: s})
		if err := h.Membership.Join(ctx, host.JoinOptions{}); err != nil {
			t.Fatal(err)
		}
		hostsSee()
		ghostRun(ctx, t, s, "run-1", run.Needs{})
		held, err := h.Runs.HeldBy(ctx, "run-1")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.Runner.Resume(ctx, "run-1", host.RunOptions{From: held}); sdk.ReasonOf(err) != run.Taken {
			t.Errorf("it is taken over: %v", err)
		}
		hostsSee() // the ghost is gone by now
		if r, err := h.Runner.Resume(ctx, "run-1", host.RunOptions{From: held}); err != nil || r.Status != core.StatusPassed {
			t.Errorf("resumed, it is %+v: %v", r, err)
		}
		sound(t, s)
	})
}

// A host says once that it can't continue a run, and again if the run comes back.
func TestOrphans_ForgetWhatTheyWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := core.WithCaller(t.Context(), core.Operator("ada"))
		s := mem.Open()
		ghostRun(ctx, t, s, "run-1", run.Needs{})
		var mu sync.Mutex
		warned, asked, fails := 0, 0, true
		h := open(t, host.Config{Store: s, Notices: func(n host.Notice) {
			mu.Lock()
			defer mu.Unlock()
			warned++
		}})
		err := h.Membership.Join(ctx, host.JoinOptions{TakeOver: func(context.Context, run.Held) error {
			mu.Lock()
			defer mu.Unlock()
			asked++
			if fails {
				return errors.New("it can't")
			}
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		set := func(to bool) {
			mu.Lock()
			defer mu.Unlock()
			asked, fails = 0, to
		}
		want := func(what string, warnings int) {
			t.Helper()
			hostsSee()
			mu.Lock()
			defer mu.Unlock()
			if warned != warnings || asked == 0 {
				t.Errorf("%s: warned %d times, asked %d times", what, warned, asked)
			}
		}
		hostsSee()
		want("it fails", 1)
		set(false)
		want("it goes on", 1)
		set(true)
		want("it fails after it went on", 2)
		key := []byte("run-host/run-1")
		var value []byte
		for _, change := range []func(core.Tx) error{
			func(tx core.Tx) (err error) {
				if value, _, err = tx.Get(key); err != nil {
					return err
				}
				return tx.Delete(key)
			},
			func(tx core.Tx) error { return tx.Put(key, value) },
		} {
			if err := s.Update(ctx, change); err != nil {
				t.Fatal(err)
			}
			hostsSee()
		}
		want("it is held again", 3)
	})
}

// blocked are memories of which none is observed before the run ends.
type blocked struct{ core.Memories }

func (blocked) Observe(ctx context.Context, _ *core.ObserveRequest) (*core.Memory, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// A host that is stopped leaves the runs that it took over to the next one.
func TestOrphans_AreLeftToTheNextHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := core.WithCaller(t.Context(), core.Operator("ada"))
		s := mem.Open()
		ghostRun(ctx, t, s, "run-1", run.Needs{})
		joined := func(o host.RunOptions) *host.Host {
			h := open(t, host.Config{Store: s})
			if o.Memories != nil {
				o.Memories = blocked{h.Memories}
			}
			err := h.Membership.Join(ctx, host.JoinOptions{TakeOver: func(ctx context.Context, held run.Held) error {
				o := o
				o.From = &held
				_, err := h.Runner.Resume(core.WithCaller(ctx, held.Caller), held.RunID, o)
				return err
			}})
			if err != nil {
				t.Fatal(err)
			}
			hostsSee()
			return h
		}
		one := joined(host.RunOptions{Memories: blocked{}})
		if held, err := one.Runs.HeldBy(ctx, "run-1"); err != nil || held == nil || held.Host != one.ID {
			t.Fatalf("it is held by %+v: %v", held, err)
		}
		if err := one.Close(); err != nil {
			t.Error(err)
		}
		if held, err := one.Runs.HeldBy(ctx, "run-1"); err != nil || held == nil || held.Host != one.ID {
			t.Errorf("left, it is held by %+v: %v", held, err)
		}
		sound(t, s)
		other := joined(host.RunOptions{})
		if r, err := other.Runs.Get(ctx, "run-1"); err != nil || r.Status != core.StatusPassed {
			t.Errorf("the next host has it as %+v: %v", r, err)
		}
		sound(t, s)
	})
}

// A caller that stops a pool which a drain also stops waits for a bounded time.
func TestDrain_WaitsForJobsForABoundedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := core.WithCaller(t.Context(), core.Operator("ada"))
		h := open(t, host.Config{Store: mem.Open()})
		release := make(chan struct{})
		p, err := h.Workers.NewPool(map[job.Type]job.Handler{job.Compact: job.HandlerFunc(func(context.Context, *job.Running) (*job.Outcome, error) {
			<-release
			return nil, nil
		})})
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Membership.Join(ctx, host.JoinOptions{Pool: p}); err != nil {
			t.Fatal(err)
		}
		if err := p.Start(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Jobs.Enqueue(ctx, &job.Request{UserID: job.SystemUser, Namespace: "n", Type: job.Compact}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := h.Membership.Drain(ctx, h.ID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute) // it learns of that with its beat, and its jobs' grace is over
		limited, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		stopped := make(chan error, 1)
		go func() { stopped <- p.Stop(limited) }()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		select {
		case err := <-stopped:
			if sdk.ReasonOf(err) != "jobs_running" {
				t.Errorf("stopped: %v", err)
			}
		default:
			t.Error("it waits for what the drain waits for")
		}
		close(release)
		if err := p.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
}
