package operation

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/job"
)

// FollowPieces returns what gets the pieces of the outputs of a job's run, which begins once the job does: see
// [host.Runner.FollowPieces]. It is nil for a job without a run, and if the context's caller may not read the run.
func FollowPieces(ctx context.Context, h *host.Host, j *job.Job) (pieces *host.PieceFollower, runID string) {
	var asked work
	if json.Unmarshal(j.Payload, &asked) != nil || asked.RunID == "" || j.Status.Terminal() { // or its request was purged
		return nil, ""
	}
	reads, err := Find("run_get")
	c := Call{Host: h, caller: core.CallerOf(ctx), operation: &reads}
	if err != nil || c.scoped(&reads) != nil || c.allowed(ctx, &reads, place{namespaces: []string{j.Namespace}}) != nil {
		return nil, ""
	}
	return h.Runner.FollowPieces(asked.RunID), asked.RunID
}

// showPieces passes the pieces of outputs to the call's events, if its caller asked for them, until the returned
// function is called.
func showPieces(c *Call, follow func() *host.PieceFollower) (stop func()) {
	if !c.Pieces || c.Events == nil {
		return func() {}
	}
	pieces, ended := follow(), make(chan struct{})
	var passing sync.WaitGroup
	passing.Go(func() {
		defer pieces.Stop()
		for over := false; !over; {
			select {
			case <-pieces.More():
			case <-ended:
				over = true
			}
			for _, piece := range pieces.Take() {
				c.Events(piece)
			}
		}
	})
	return func() { close(ended); passing.Wait() }
}
