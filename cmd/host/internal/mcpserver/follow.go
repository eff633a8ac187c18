package mcpserver

import (
	"context"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reflectory/reflectory/cmd/host/internal/client"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/sdk"
)

// A call that became a task is answered long before its work is done, and its token for
// progress is valid until the task has ended. On standard input and output the connection
// outlives the call, so the client still receives the task's progress there. Over HTTP each
// request is complete in itself, and a client that doesn't know tasks already has its whole
// answer. In both cases, the client can ask for the job at any time.

// followers send a connection's client the progress of the tasks of its calls.
type followers struct {
	ctx context.Context // ends with the connection, and has its caller

	mu    sync.Mutex
	ended bool
	all   sync.WaitGroup
}

type followersKey struct{}

// withFollowers gives the calls of a connection its followers. end stops them and waits.
func withFollowers(ctx context.Context) (_ context.Context, end func()) {
	own, cancel := context.WithCancel(ctx)
	f := &followers{ctx: own}
	return context.WithValue(ctx, followersKey{}, f), func() {
		f.mu.Lock()
		f.ended = true
		f.mu.Unlock()
		cancel()
		f.all.Wait()
	}
}

// follow sends a call's client the progress of the call's job, until the job ends.
func (s *Server) follow(ctx context.Context, req *mcp.CallToolRequest, jobID string) {
	f, _ := ctx.Value(followersKey{}).(*followers)
	if f == nil {
		return
	}
	p := s.progress(f.ctx, req)
	f.mu.Lock()
	defer f.mu.Unlock()
	if p != nil && !f.ended {
		f.all.Go(func() { s.followJob(f.ctx, p, jobID) })
		f.all.Go(func() { s.followPieces(f.ctx, p, jobID) })
	}
}

// followPieces sends the pieces of the outputs of a job's run, which come while a call waits for the job.
func (s *Server) followPieces(ctx context.Context, p *progress, id string) {
	in := &operation.JobResultGet{ID: id, Waiting: operation.Waiting{Wait: operation.MaxWait}}
	for {
		r, err := client.Do[operation.JobResult](ctx, s.config.Client, operation.Call{Events: p.event, Pieces: true}, "job_result", in)
		switch {
		case sdk.Transient(err): // its server starts again
			select {
			case <-ctx.Done():
			case <-time.After(progressPause):
			}
		case err != nil || r.Status.Terminal():
			return
		}
		if ctx.Err() != nil {
			return
		}
	}
}

func (s *Server) followJob(ctx context.Context, p *progress, id string) {
	tick := time.NewTicker(progressPause)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		r, err := client.Do[operation.JobResult](ctx, s.config.Client, operation.Call{}, "job_result", &operation.JobResultGet{ID: id})
		switch {
		case sdk.Transient(err): // its server starts again
		case err != nil || r.Status.Terminal():
			return
		default:
			p.report(r.Progress, 1, statusMessage(r))
			p.rest()
		}
	}
}
