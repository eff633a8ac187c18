package mcpserver

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
)

// progressPause is the least time between two messages of progress.
const progressPause = 500 * time.Millisecond

// progress reports a call's progress to a client.
type progress struct {
	now  func() time.Time
	send func(done, total float64, message string)

	mu   sync.Mutex
	last time.Time
	done float64
}

// progress returns the receiver of a call's progress; nil if the client doesn't
// ask for progress.
func (s *Server) progress(ctx context.Context, req *mcp.CallToolRequest) *progress {
	token := req.Params.GetProgressToken()
	if token == nil {
		return nil
	}
	return &progress{now: s.config.Now, send: func(done, total float64, message string) {
		_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: done, Total: total, Message: message})
	}}
}

// report sends the progress, unless a message was sent just now. done may only grow.
func (p *progress) report(done, total float64, message string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if done <= p.done || !p.last.IsZero() && now.Sub(p.last) < progressPause {
		return
	}
	p.last, p.done = now, done
	p.send(done, total, message)
}

// step reports an operation's progress.
func (p *progress) step(s operation.Progress) {
	p.report(float64(s.Done), float64(s.Total), s.What)
}

// event reports the progress of a run by an event: it counts the judged attempts.
func (p *progress) event(e core.Event) {
	switch e := e.(type) {
	case core.IterationStarted:
		p.report(float64(e.Iteration)-0.5, float64(e.Max), fmt.Sprintf("%s: iteration %d of %d", e.Node, e.Iteration, e.Max))
	case core.AttemptJudged:
		a := e.Attempt
		p.report(float64(a.Iteration), float64(e.Max), fmt.Sprintf("%s: iteration %d of %d has its verdict", e.Node, a.Iteration, e.Max))
	}
}
