package host

import (
	"context"
	"errors"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/core/store/mem"
)

// The fence of a job keeps a run from continuing, but not from recording its end; a run
// that is left to another host has none.
func TestRunEnd_IsRecordedBehindAFence(t *testing.T) {
	for cause, want := range map[error]core.Status{errors.New("the job was cancelled"): core.StatusCancelled, errLeft: core.StatusInterrupted} {
		s := store.Fenceable(mem.Open())
		runs := run.NewRepository(s, &coretest.Clock{})
		r := &core.Run{ID: "run-1", Workflow: "w", State: []byte("{}")}
		if err := runs.Create(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		refused := errors.New("the job is another's")
		ctx, cancel := context.WithCancelCause(store.WithFence(t.Context(), func(core.Reader) error { return refused }))
		cancel(cause)
		recorder := runEnd{runs.Recorder(r), runs, ctx}
		ctx = context.WithoutCancel(ctx)
		if err := recorder.RecordVisit(ctx, &core.Visit{Number: 1, Node: "n"}); !errors.Is(err, refused) {
			t.Errorf("a visit: %v", err)
		}
		r.Status = core.StatusCancelled
		if err := recorder.RecordEnd(ctx, r, nil); err != nil && !errors.Is(err, errLeft) {
			t.Errorf("the end: %v", err)
		}
		if now, err := runs.Get(t.Context(), r.ID); err != nil || now.Status != want || runs.Runs(r.ID) {
			t.Errorf("%v: the run is %+v: %v", cause, now, err)
		}
	}
}
