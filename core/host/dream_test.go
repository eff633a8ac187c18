package host_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/store/mem"
)

// TestDream_IsQueuedWhereItIsDue: in namespaces with five new records, once, until a pass was
// there.
func TestDream_IsQueuedWhereItIsDue(t *testing.T) {
	h := open(t, host.Config{Sole: true})
	for namespace, n := range map[string]int{"many": 5, "few": 4} {
		for i := range n {
			if _, err := h.Memories.Observe(t.Context(), &core.ObserveRequest{Namespace: namespace, Content: fmt.Sprint("thing number ", i)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	queued := func() []job.Job {
		t.Helper()
		if err := h.Dreams.Queue(t.Context()); err != nil {
			t.Fatal(err)
		}
		list, _, err := h.Jobs.List(t.Context(), job.ListFilter{Limit: 10, Status: job.StatusQueued})
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	for range 2 {
		if list := queued(); len(list) != 1 || list[0].Namespace != "many" || list[0].Type != job.Dream || list[0].UserID != job.SystemUser {
			t.Fatalf("queued: %+v", list)
		}
	}
	p, err := h.Workers.NewPool(map[job.Type]job.Handler{job.Dream: job.HandlerFunc(func(ctx context.Context, j *job.Running) (*job.Outcome, error) {
		_, err := h.Dreams.Run(ctx, j)
		return nil, err
	})})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.RunUntilIdle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if runs, _, err := h.Memories.Dreams.List(t.Context(), "many", time.Time{}, "", 10); err != nil || len(runs) != 1 || runs[0].Status != memory.DreamCompleted {
		t.Errorf("the runs are %+v, %v", runs, err)
	}
	if list := queued(); len(list) != 0 {
		t.Errorf("after the pass these are queued: %+v", list)
	}
}

// TestDream_IsLookedForEveryTenMinutes: a job is made once, if a pass is due at that moment,
// and not by a server that is started again while the job waits. Nothing is due within a day
// of the last pass, nor while another program's report is fresh.
func TestDream_IsLookedForEveryTenMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mem.Open()
		begin := func() (h *host.Host, end func()) {
			h, err := host.Open(t.Context(), host.Config{Store: s, Sole: true, Settings: settings(t)})
			if err != nil {
				t.Fatal(err)
			}
			stop := h.Dreams.Start()
			return h, func() {
				stop()
				if err := h.Close(); err != nil {
					t.Error(err)
				}
			}
		}
		h, end := begin()
		observe := func(contents ...string) {
			t.Helper()
			for _, content := range contents {
				if _, err := h.Memories.Observe(t.Context(), &core.ObserveRequest{Namespace: "ns", Content: content}); err != nil {
					t.Fatal(err)
				}
			}
		}
		after := func(wait time.Duration, want int) {
			t.Helper()
			time.Sleep(wait)
			synctest.Wait()
			list, _, err := h.Jobs.List(t.Context(), job.ListFilter{Limit: 10, Status: job.StatusQueued})
			if err != nil || len(list) != want {
				t.Errorf("after %s these are queued, %v: %+v", wait, err, list)
			}
		}
		pass := func() {
			t.Helper()
			p, err := h.Workers.NewPool(map[job.Type]job.Handler{job.Dream: job.HandlerFunc(func(ctx context.Context, j *job.Running) (*job.Outcome, error) {
				_, err := h.Dreams.Run(ctx, j)
				return nil, err
			})})
			if err == nil {
				_, err = p.RunUntilIdle(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		away := func(d time.Duration) { // in which no server looks
			end()
			time.Sleep(d)
			h, end = begin()
		}
		observe("one", "two", "three", "four", "five")
		after(10*time.Minute-time.Second, 0)
		after(time.Second, 1)
		away(time.Hour)
		after(30*time.Minute, 1)
		pass()
		observe("six", "seven", "eight", "nine", "ten")
		away(23*time.Hour - 20*time.Minute)
		after(20*time.Minute-time.Second, 0)
		after(time.Second, 1)
		pass()
		away(20 * time.Hour)
		observe("a", "b", "c", "d", "## Organization Report\nremoved: 3")
		away(24*time.Hour - 20*time.Minute)
		after(20*time.Minute-time.Second, 0)
		after(time.Second, 1)
		end()
	})
}
