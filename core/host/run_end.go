package host

import (
	"context"
	"errors"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/sdk"
)

// errLeft is the cause with which a run stops on this host if another host continues it.
var errLeft = sdk.Errorf(sdk.Cancelled, "run_left", "this host stops: another one goes on with the run")

// runEnd records how a run ended, without the fence of the job that ran it: only the run's
// own epoch may forbid this. Otherwise, if a job was cancelled or timed out and its handler
// took too long to end, the job's fence would refuse the write, and the run would stay
// running.
type runEnd struct {
	core.RunRecorder
	runs *run.Repository
	// ctx is the run's context.
	ctx context.Context
}

// RecordEnd implements [core.RunRecorder]. A run that is left to another host has no end.
func (e runEnd) RecordEnd(ctx context.Context, r *core.Run, open *core.Visit) error {
	if r.Status == core.StatusCancelled && errors.Is(context.Cause(e.ctx), errLeft) {
		e.runs.Leave(r.ID)
		return errLeft
	}
	return e.RunRecorder.RecordEnd(store.WithoutFence(ctx), r, open)
}
