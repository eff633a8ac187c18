package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/sdk"
)

// dreams runs one job of the type dream, whose handler is given, and returns the
// notifications of its namespace.
func dreams(t *testing.T, h *host.Host, namespace string, fn job.HandlerFunc) []*core.Memory {
	t.Helper()
	_, err := h.Jobs.Enqueue(t.Context(), &job.Request{UserID: "u", Namespace: namespace, Type: job.Dream})
	if err != nil {
		t.Fatal(err)
	}
	p, err := h.Workers.NewPool(map[job.Type]job.Handler{job.Dream: fn})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.RunUntilIdle(t.Context()); err != nil {
		t.Fatal(err)
	}
	page, err := h.Memories.List(t.Context(), memory.ListFilter{Namespace: namespace, Kinds: []core.MemoryKind{core.KindNotification}, Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	return page.Memories
}

// TestJobs_NotifyOfTheirEnd with a memory in their namespace that counts for nothing and
// isn't recalled; if there is no room for one, the job ends all the same.
func TestJobs_NotifyOfTheirEnd(t *testing.T) {
	h := open(t, host.Config{})
	done := dreams(t, h, "n", func(context.Context, *job.Running) (*job.Outcome, error) { return nil, nil })
	if len(done) != 1 || done[0].Title != "dream completed" || done[0].Importance != 0 {
		t.Fatalf("%+v", done)
	}
	var about struct {
		JobID string `json:"job_id"`
	}
	if err := json.Unmarshal(done[0].Metadata, &about); err != nil || about.JobID == "" {
		t.Errorf("%s, %v", done[0].Metadata, err)
	}
	failed := dreams(t, h, "m", func(context.Context, *job.Running) (*job.Outcome, error) {
		return nil, sdk.Errorf(sdk.Internal, "broken", "it can't go on")
	})
	if len(failed) != 1 || failed[0].Title != "dream failed: broken" {
		t.Fatalf("%+v", failed)
	}
	found, err := h.Memories.Recall(t.Context(), &core.RecallRequest{Query: "dream completed", RecallFilter: core.RecallFilter{Namespace: "n"}})
	if err != nil || len(found.Memories) > 0 {
		t.Errorf("recalled %+v, %v", found, err)
	}
	if _, err := h.Governance.Set(t.Context(), "m", "limits.max_memories=1"); err != nil {
		t.Fatal(err)
	}
	if left := dreams(t, h, "m", func(context.Context, *job.Running) (*job.Outcome, error) { return nil, nil }); len(left) != 1 {
		t.Errorf("%+v", left)
	}
	jobs, _, err := h.Jobs.List(t.Context(), job.ListFilter{Limit: 1})
	if err != nil || jobs[0].Status != job.StatusCompleted || jobs[0].NotificationFailure != "namespace_full" {
		t.Errorf("%+v, %v", jobs, err)
	}
	parts, err := host.Checkers(h.Store)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Check(t.Context(), h.Store, parts, func(p core.Problem) { t.Errorf("%+v", p) }); err != nil {
		t.Fatal(err)
	}
}

// TestJobs_ProgressIsFollowed by all followers; a slow one gets the newest value; what
// stops hears nothing more.
func TestJobs_ProgressIsFollowed(t *testing.T) {
	h := open(t, host.Config{Sole: true})
	made, err := h.Jobs.Enqueue(t.Context(), &job.Request{UserID: "u", Namespace: "n", Type: job.Dream})
	if err != nil {
		t.Fatal(err)
	}
	heard, stop := h.Workers.FollowProgress(made.ID)
	gone, stopGone := h.Workers.FollowProgress(made.ID)
	stopGone()
	defer stop()
	c, err := h.Jobs.Claim(t.Context(), "h", job.Types())
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Jobs.Progress(t.Context(), c.Held, 0.25); err != nil {
		t.Fatal(err)
	}
	if got := <-heard; got != 0.25 {
		t.Errorf("heard %v", got)
	}
	select {
	case got := <-gone:
		t.Errorf("who stopped hears %v", got)
	default:
	}
}

// A job goes back to its queue if this host may not write where it works: another host may, or the
// tenant is being moved.
func TestJobs_GoBackWhereTheHostMayNotWrite(t *testing.T) {
	for _, refused := range []error{
		store.MovingError("team"), store.ElsewhereError("team"), sdk.Errorf(sdk.Invalid, host.TenantsApart, "it is elsewhere"),
	} {
		h := open(t, host.Config{Store: mem.Open()})
		dreams(t, h, "team", func(context.Context, *job.Running) (*job.Outcome, error) { return nil, sdk.Wrap("dream", refused) })
		jobs, _, err := h.Jobs.List(t.Context(), job.ListFilter{Limit: 1})
		if err != nil || jobs[0].Status != job.StatusQueued || jobs[0].Reason != sdk.ReasonOf(refused) {
			t.Errorf("%v: %+v, %v", refused, jobs, err)
		}
	}
}

// If hosts share the store, a command works on no jobs; a host that joined them does.
func TestCommandPool_OnASharedStore(t *testing.T) {
	handlers := map[job.Type]job.Handler{}
	shared := open(t, host.Config{Store: mem.Open()})
	if _, err := shared.Workers.CommandPool(handlers); sdk.ReasonOf(err) != host.JobsOfServers {
		t.Errorf("a command: %v", err)
	}
	if err := shared.Membership.Join(t.Context(), host.JoinOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := shared.Workers.CommandPool(handlers); err != nil {
		t.Errorf("one of the hosts: %v", err)
	}
	if _, err := open(t, host.Config{}).Workers.CommandPool(handlers); err != nil {
		t.Errorf("on the data folder: %v", err)
	}
}

// Hosts that share a database work off what waits, each job once, and an idle one looks in one
// round trip.
func TestShared_JobsOverHosts(t *testing.T) {
	ctx := core.WithCaller(t.Context(), core.Operator("ada"))
	url := database.Cluster(t).URL(t)
	const users = 20
	var worked atomic.Int64
	all := make(chan struct{})
	handler := job.HandlerFunc(func(context.Context, *job.Running) (*job.Outcome, error) {
		if worked.Add(1) == users*2 {
			close(all)
		}
		return nil, nil
	})
	var hosts []*host.Host
	var pools []*job.Pool
	for range 3 {
		h := openShared(ctx, t, url)
		pool, err := h.Workers.NewPool(map[job.Type]job.Handler{job.Compact: handler, job.Dream: handler})
		if err == nil {
			err = pool.Start(ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
		hosts, pools = append(hosts, h), append(pools, pool)
	}
	for i := range users {
		for _, of := range []job.Type{job.Compact, job.Dream} {
			_, err := hosts[i%3].Jobs.Enqueue(ctx, &job.Request{UserID: fmt.Sprintf("u%d", i), Namespace: "n", Type: of})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	<-all
	for _, p := range pools {
		if err := p.Stop(ctx); err != nil {
			t.Fatal(err)
		}
	}
	list, _, err := hosts[0].Jobs.List(ctx, job.ListFilter{Limit: 3 * users})
	if err != nil || len(list) != 2*users || worked.Load() != 2*users {
		t.Errorf("%d jobs, worked on %d times: %v", len(list), worked.Load(), err)
	}
	for _, j := range list {
		if j.Status != job.StatusCompleted || j.Attempts != 1 {
			t.Errorf("job %s is %s after %d attempts: %s", j.ID, j.Status, j.Attempts, j.Reason)
		}
	}
	_, err = store.Check(ctx, hosts[0].Store, []core.Checker{job.Checker{}}, func(p core.Problem) { t.Errorf("%s: %s", p.Key, p.Message) })
	if err != nil {
		t.Error(err)
	}
	least := ^uint64(0) // what the host does besides now and then counts too
	for range 5 {
		before, err := hosts[0].Databases.Stats(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if claimed, err := hosts[0].Jobs.Claim(ctx, "idle", job.Types()); err != nil || claimed != nil {
			t.Errorf("claimed %+v, %v", claimed, err)
		}
		after, err := hosts[0].Databases.Stats(ctx)
		if err != nil {
			t.Fatal(err)
		}
		least = min(least, after.RoundTrips-before.RoundTrips-1) // without the one that counts
	}
	if least != 1 {
		t.Errorf("an idle look takes %d round trips", least)
	}
}

// wrongClock is wrong by so much.
type wrongClock time.Duration

func (c wrongClock) Now() time.Time { return time.Now().Add(time.Duration(c)) }

// Three forced jobs an hour are three over all hosts, also where their clocks are hours apart.
func TestJobs_ForcedOverHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mem.Open()
		var hosts []*host.Host
		for _, wrong := range []time.Duration{0, 2 * time.Hour, -2 * time.Hour} {
			h := open(t, host.Config{Store: s, Clock: wrongClock(wrong)})
			if err := h.Membership.Join(t.Context(), host.JoinOptions{}); err != nil {
				t.Fatal(err)
			}
			hosts = append(hosts, h)
		}
		time.Sleep(5 * time.Second) // one of them has the lease, and a beat
		n := 0
		force := func() (made int) {
			for range 3 {
				for _, h := range hosts {
					n++
					_, err := h.Jobs.Enqueue(t.Context(), &job.Request{UserID: "u", Namespace: fmt.Sprint("n", n), Type: job.Reflection, Forced: true})
					if err == nil {
						made++
					} else if wait, _ := sdk.AsError(err).Details["retry_after_seconds"].(int); sdk.ReasonOf(err) != job.RateLimited || wait < 1 || wait > 3600 {
						t.Errorf("%v, to be tried again in %d s", err, wait)
					}
				}
			}
			return made
		}
		if made := force(); made != 3 {
			t.Errorf("%d forced jobs are made at once", made)
		}
		time.Sleep(55 * time.Minute)
		if made := force(); made != 0 {
			t.Errorf("%d more are made within the hour", made)
		}
		time.Sleep(6 * time.Minute)
		if made := force(); made != 3 {
			t.Errorf("%d more are made after the hour", made)
		}
	})
}
