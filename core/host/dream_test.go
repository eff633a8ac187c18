package host_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/memory"
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
		if err := h.QueueDreams(t.Context()); err != nil {
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
	p, err := h.NewPool(map[job.Type]job.Handler{job.Dream: job.HandlerFunc(func(ctx context.Context, j *job.Running) (*job.Outcome, error) {
		_, err := h.Dream(ctx, j)
		return nil, err
	})})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.RunUntilIdle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if runs, _, err := h.Memories.DreamRuns(t.Context(), "many", "", 10); err != nil || len(runs) != 1 || runs[0].Status != memory.DreamCompleted {
		t.Errorf("the runs are %+v, %v", runs, err)
	}
	if list := queued(); len(list) != 0 {
		t.Errorf("after the pass these are queued: %+v", list)
	}
}
