package operation

import (
	"context"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/sdk"
)

// MaxWait is how many seconds a request may wait for an end: less than most proxies wait for an
// answer.
const MaxWait = 60

// Waiting is the part of a request that waits for the end of a job or a run.
type Waiting struct {
	// Wait is for how many seconds the answer waits for the end, 0 to 60. An answer without the end
	// shows the state at that time.
	Wait int `json:"wait,omitempty"`
}

// waits reports whether the request may take as long as it chose.
func (w *Waiting) waits() bool { return w.Wait > 0 }

// check refuses a wait that is too long.
func (w *Waiting) check() error {
	if w.Wait >= 0 && w.Wait <= MaxWait {
		return nil
	}
	return sdk.Errorf(sdk.Invalid, "wait_invalid", "wait is %d, not from 0 to %d seconds", w.Wait, MaxWait).
		WithHint("ask again if it hasn't ended by then").WithDetail("field", "wait")
}

// waiter is a request with a [Waiting].
type waiter interface{ waits() bool }

// until is a context that ends with the request's wait, or once the server stops.
func (w Waiting) until(ctx context.Context, c *Call) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(w.Wait)*time.Second)
	if c.Stopping == nil {
		return ctx, cancel
	}
	stop := context.AfterFunc(c.Stopping, cancel)
	return ctx, func() { stop(); cancel() }
}

// job waits until a job has ended, or the request's wait is over.
func (w Waiting) job(ctx context.Context, c *Call, id string) error {
	ctx, cancel := w.until(ctx, c)
	defer cancel()
	defer showPieces(c, func() *host.PieceFollower {
		j, err := c.Host.Jobs.Get(ctx, id)
		if err != nil { // which the wait reports
			return nil
		}
		pieces, _ := FollowPieces(ctx, c.Host, j)
		return pieces
	})()
	if err := c.Host.Jobs.Await(ctx, id); ctx.Err() == nil {
		return err
	}
	return nil
}

// run waits until a run doesn't run any more, or the request's wait is over.
func (w Waiting) run(ctx context.Context, c *Call, id string) error {
	ctx, cancel := w.until(ctx, c)
	defer cancel()
	defer showPieces(c, func() *host.PieceFollower { return c.Host.Runner.FollowPieces(id) })()
	stream := "run/" + id
	var head journal.Head
	err := c.Host.Store.View(ctx, func(r core.Reader) (err error) {
		head, err = journal.ReadHead(r, stream)
		return err
	})
	if err != nil {
		return err
	}
	if run, err := c.Host.Runs.Get(ctx, id); err != nil || run.Status != core.StatusRunning {
		return err
	}
	err = c.Host.Feed.Follow(ctx, stream, head.Seq, func(e journal.Entry) error {
		if e.Type == "run_ended" {
			cancel()
		}
		return nil
	})
	if ctx.Err() != nil { // the run or the wait is over
		return nil
	}
	return err
}
