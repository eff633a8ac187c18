package wire

import (
	"context"
	"errors"
	"io"
	"sync/atomic"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/wire/wirepb"
)

// queuedFrames is how many frames may wait for the writer. Callers wait for space
// within their deadlines.
const queuedFrames = 256

// outFrame is a request in the writer's queue. Either the writer takes it or its caller
// removes it.
type outFrame struct {
	b     []byte
	taken atomic.Bool
}

func (f *outFrame) claim() bool { return f.taken.CompareAndSwap(false, true) }

func (f *outFrame) drop() bool {
	if !f.claim() {
		return false
	}
	f.b = nil
	return true
}

// directBytes is how many unanswered bytes there may be for a caller to send its
// request itself. gRPC accepts 64 KiB of a stream without blocking.
const directBytes = 32 << 10

// send sends a frame at once if this can't block, which saves a goroutine switch, and
// otherwise leaves it to the writer. So a plugin that stops reading can't delay
// anyone's deadline.
func (c *Client) send(ctx context.Context, id uint64, f *outFrame) error {
	if c.claimDirect(id, len(f.b)) && c.sending.TryLock() {
		f.claim()
		err := c.stream.SendMsg(outbound(f.b))
		c.sending.Unlock()
		c.sent(err)
		return nil // the reader gets the error that ended it
	}
	select {
	case c.out <- f:
		return nil
	case <-ctx.Done():
		c.withdraw(id, f)
		return c.ended(ctx)
	case <-c.done:
		return c.lost()
	}
}

// claimDirect counts a frame as unanswered until its reply arrives, and reports whether
// there was room for it.
func (c *Client) claimDirect(id uint64, size int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	cl := c.calls[id]
	if cl == nil {
		return false
	}
	cl.size = size
	c.underway += size
	return c.underway <= directBytes
}

// write sends queued frames in their order.
func (c *Client) write() {
	for {
		select {
		case f := <-c.out:
			if !f.claim() {
				continue
			}
			c.sending.Lock()
			err := c.stream.SendMsg(outbound(f.b))
			c.sending.Unlock()
			f.b = nil // its caller waits for the reply without it
			if c.sent(err); err != nil {
				return
			}
		case <-c.done:
			return
		}
	}
}

// sent ends the client when its stream can't send. After an io.EOF, the reader gets the
// actual reason.
func (c *Client) sent(err error) {
	if err != nil && !errors.Is(err, io.EOF) {
		c.fail("send a request", err)
	}
}

// read hands replies to their callers until the stream ends.
func (c *Client) read() {
	for {
		in := &inbound{msg: new(wirepb.Reply)}
		if err := c.stream.RecvMsg(in); err != nil {
			c.fail("read a reply", err)
			return
		}
		if in.err == nil {
			in.id = in.msg.(*wirepb.Reply).GetId()
		}
		c.dispatch(in)
	}
}

func (c *Client) dispatch(in *inbound) {
	var chunk *wirepb.Chunk
	if in.err == nil {
		switch body := in.msg.(*wirepb.Reply).GetBody().(type) {
		case *wirepb.Reply_HostCall:
			c.serveCall(in.id, body.HostCall)
			return
		case *wirepb.Reply_HostCancel:
			c.giveUp(in.id, body.HostCancel.GetId())
			return
		case *wirepb.Reply_Chunk:
			chunk = body.Chunk
		}
	}
	c.mu.Lock()
	cl := c.calls[in.id]
	if cl != nil && chunk == nil {
		delete(c.calls, in.id)
		c.underway -= cl.size
	}
	c.mu.Unlock()
	switch {
	case cl == nil: // no such call
	case chunk == nil:
		cl.reply <- in
	default:
		if err := cl.chunks.add(chunk); err != nil {
			c.dispatch(&inbound{id: in.id, err: err})
		}
	}
}

// fail ends every call, once, for the first reason.
func (c *Client) fail(doing string, err error) {
	c.stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	if c.closed {
		c.err = &sdk.Error{
			Code: sdk.Unavailable, Reason: "connection_lost",
			Message: "the connection to plugin " + c.opts.Plugin + " was closed", Err: ErrLost,
		}
	} else {
		c.err = rpcError(c.opts, doing, err)
	}
	clear(c.calls)
	close(c.done)
}
