package client

import (
	"context"
	"crypto/rand"
	"net/http"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
)

// A caller who gives up wants to know what became of the call: whether a run was begun, and
// how to go on with it. To end the connection would tell the server to stop, but nobody
// would hear how it did. So the server is asked to by another request, and this one waits
// for the end.

const (
	// cancelTime is how long a server has to end what was cancelled. After that the
	// connection is ended.
	cancelTime = 30 * time.Second
	// cancelPause is between two requests to cancel a call that the server doesn't know: it
	// may be on its way.
	cancelPause = 20 * time.Millisecond
)

// cancellation cancels a call on the server once its caller gives up.
type cancellation struct {
	remote *Remote
	call   string
	// abandon ends the connection of the call.
	abandon context.CancelFunc
	// stop keeps the cancellation from beginning; false is that it has begun, and done is
	// closed once it is over.
	stop func() bool
	done chan struct{}
}

// cancelAfter has a call cancelled on the server after ctx, and returns the context of its
// request. end must be called.
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

// cancel asks the server to, until it has or the call is over, and then waits for that.
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

// addPins says where the plugins come from that the call may use.
func (r *Remote) addPins(request *http.Request, o *operation.Operation) error {
	if r.Pins == nil || o.Scope != core.ScopeRun && o.Scope != core.ScopeEvaluate || !o.Long {
		return nil
	}
	pins, err := r.Pins()
	if err == nil && len(pins) > 0 {
		request.Header.Set(PinsHeader, string(core.MustJSON(pins)))
	}
	return err
}
