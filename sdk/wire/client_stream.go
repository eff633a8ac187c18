package wire

import (
	"errors"
	"io"
	"sync/atomic"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/wire/wirepb"
)

// queuedFrames is how many frames may wait for the writer. Callers wait for
// room, within their deadlines.
const queuedFrames = 256

// outFrame is a request in the writer's queue. Either the writer takes it or its
// caller drops it.
type outFrame struct {
	b     []byte
	taken atomic.Bool
}

func (f *outFrame) take() bool { return f.taken.CompareAndSwap(false, true) }

func (f *outFrame) drop() bool {
	if !f.take() {
		return false
	}
	f.b = nil
	return true
}

// write sends queued frames in their order. It is the stream's only sender, so
// that a plugin that stops reading holds up nobody's deadline.
func (c *Client) write() {
	for {
		select {
		case f := <-c.out:
			if !f.take() {
				continue
			}
			if err := c.stream.SendMsg(outbound(f.b)); err != nil {
				if !errors.Is(err, io.EOF) {
					c.fail("send a request", err)
				}
				return // the reader learns the reason of an io.EOF
			}
		case <-c.done:
			return
		}
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
		chunk = in.msg.(*wirepb.Reply).GetChunk()
	}
	c.mu.Lock()
	cl := c.calls[in.id]
	if cl != nil && chunk == nil {
		delete(c.calls, in.id)
	}
	c.mu.Unlock()
	switch {
	case cl == nil: // its caller has given up, or never was
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
