package mcpserver

import (
	"context"
	"fmt"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/sdk"
)

const (
	// progressPause is the least time between two messages of progress.
	progressPause = 500 * time.Millisecond
	// maxPiece is how many characters of an output a message has at most, the newest: more than models write
	// between two messages, and few enough to be shown.
	maxPiece = 1000
	// pieceStep is by how much the progress grows with the pieces of an output, as the protocol demands of every
	// message: so little that a day of them is less than a fifth of one step.
	pieceStep = 1e-6
)

// progress reports a call's progress to a client.
type progress struct {
	now  func() time.Time
	send func(done, total float64, message string)

	mu   sync.Mutex
	last time.Time
	// sent is the progress of the last message, and done and total are how far the work is.
	sent, done, total float64
	// piece is what was written of an output since the last message, and where.
	piece core.OutputChunk
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
	p.done, p.total = max(done, p.done), total // which the next piece's message has, if this isn't sent
	if done > p.sent {
		p.sendAt(done, message)
	}
}

// sendAt sends a message, unless one was sent just now.
func (p *progress) sendAt(done float64, message string) (sent bool) {
	now := p.now()
	if !p.last.IsZero() && now.Sub(p.last) < progressPause {
		return false
	}
	p.last, p.sent = now, done
	p.send(done, p.total, message)
	return true
}

// add adds a piece of an output to the next message.
func (p *progress) add(c core.OutputChunk) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.Offset > 0 && c.Visit == p.piece.Visit && c.Node == p.piece.Node && c.Iteration == p.piece.Iteration {
		c.Text = p.piece.Text + c.Text
	}
	if n := utf8.RuneCountInString(c.Text) - maxPiece; n > 0 {
		c.Text = "…" + string([]rune(c.Text)[n+1:])
	}
	p.piece = c
	p.showPiece()
}

// showPiece sends what was written since the last message, unless one was sent just now.
func (p *progress) showPiece() {
	if p.piece.Text == "" {
		return
	}
	message := fmt.Sprintf("%s: iteration %d: %s", p.piece.Node, p.piece.Iteration, sdk.Visible(p.piece.Text))
	if p.sendAt(max(p.done, p.sent)+pieceStep, message) {
		p.piece.Text = ""
	}
}

// rest sends what was written of an output shortly after the last message.
func (p *progress) rest() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.showPiece()
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
	case core.OutputChunk:
		p.add(e)
	case core.AttemptJudged:
		a := e.Attempt
		p.report(float64(a.Iteration), float64(e.Max), fmt.Sprintf("%s: iteration %d of %d has its verdict", e.Node, a.Iteration, e.Max))
	}
}
