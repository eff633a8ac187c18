package client

import (
	"context"
	"crypto/rand"
	"net/http"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/jsontext"
)

// A caller that gives up wants to know how the call ended: whether a run was begun, and how
// to continue it. If the caller closed the connection, the server would stop, but the
// caller wouldn't learn the outcome. So a second request asks the server to cancel the
// call, and the first request waits for the end.

const (
	// cancelTime is how long a server has to end a cancelled call. After that the connection
	// is closed.
	cancelTime = 30 * time.Second
	// cancelPause is the time between two requests to cancel a call that the server doesn't
	// know: the call may not have arrived yet.
	cancelPause = 20 * time.Millisecond
)

// cancellation cancels a call on the server once its caller gives up.
type cancellation struct {
	remote *Remote
	call   string
	// abandon closes the connection of the call.
	abandon context.CancelFunc
	// stop prevents the cancellation. False means that the cancellation has begun; done is
	// then closed when it is over.
	stop func() bool
	done chan struct{}
}

// cancelAfter cancels a call on the server when ctx ends, and returns the context of the
// call's request. end must be called.
func (r *Remote) cancelAfter(ctx context.Context) (*cancellation, context.Context) {
	own, abandon := context.WithCancel(context.WithoutCancel(ctx))
	c := &cancellation{remote: r, call: rand.Text(), abandon: abandon, done: make(chan struct{})}
	c.stop = context.AfterFunc(ctx, func() {
		defer close(c.done)
		c.cancel(own)
	})
	return c, own
}

// end is called once the call is over.
func (c *cancellation) end() {
	c.abandon()
	if !c.stop() {
		<-c.done
	}
}

// cancel asks the server to cancel the call, until the server has or the call is over, and
// then waits for the end.
func (c *cancellation) cancel(own context.Context) {
	limited, done := context.WithTimeout(own, cancelTime)
	defer done()
	for asked := false; !asked; {
		request, err := http.NewRequestWithContext(limited, http.MethodPost, base+CancelPath(c.call), nil)
		if err != nil {
			break
		}
		request.Header.Set(VersionHeader, c.remote.version)
		answer, err := c.remote.http.Do(request)
		if err != nil {
			break
		}
		_ = answer.Body.Close()
		if asked = answer.StatusCode == http.StatusNoContent; !asked {
			select {
			case <-limited.Done():
				asked = true
			case <-time.After(cancelPause):
			}
		}
	}
	<-limited.Done()
	c.abandon()
}

// addPins adds a header with the origins of the plugins that the call may use.
func (r *Remote) addPins(request *http.Request, o *operation.Operation) error {
	if r.Pins == nil || o.Scope != core.ScopeRun && o.Scope != core.ScopeEvaluate || !o.Long {
		return nil
	}
	pins, err := r.Pins()
	if err == nil && len(pins) > 0 {
		request.Header.Set(PinsHeader, string(jsontext.MustEncode(pins)))
	}
	return err
}
