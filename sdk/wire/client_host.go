package wire

import (
	"context"
	"encoding/json"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/check"
	"github.com/reflectory/reflectory/sdk/wire/wirepb"
)

// hostCalls are the plugin's questions to the host during one call. The client's lock
// guards everything but the wait.
type hostCalls struct {
	// ctx is the call's, and nil once the call is over: no more questions are accepted.
	ctx   context.Context
	asked int
	open  map[uint64]context.CancelFunc
	group sync.WaitGroup
}

// admit registers one question and returns its context.
func (h *hostCalls) admit(id uint64) (context.Context, error) {
	if h == nil || h.ctx == nil {
		return nil, callEnded()
	}
	if _, taken := h.open[id]; taken {
		return nil, sdk.Errorf(sdk.Invalid, "request_invalid", "the host was asked twice under the id %d", id).
			WithHint("number the questions of a call")
	}
	if len(h.open) >= check.MaxHostOpen {
		return nil, sdk.Errorf(sdk.Exhausted, "host_calls_exceeded", "more than %d questions to the host at a time", check.MaxHostOpen).
			WithHint("wait for answers before you ask more")
	}
	h.asked++
	if err := check.HostCalls(h.asked); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(h.ctx)
	if h.open == nil {
		h.open = map[uint64]context.CancelFunc{}
	}
	h.open[id] = cancel
	return ctx, nil
}

// endHosting ends the questions of a call: open ones are cancelled. It returns once all
// of them have ended.
func (c *Client) endHosting(cl *call) {
	c.mu.Lock()
	cl.host.ctx = nil
	for _, cancel := range cl.host.open {
		cancel()
	}
	c.mu.Unlock()
	cl.host.group.Wait()
}

// serveCall serves a question of the plugin on a new goroutine, which the call waits for. It
// refuses at once a question that can't be served.
func (c *Client) serveCall(callID uint64, q *wirepb.HostCall) {
	err := check.HostCall(sdk.Service(q.GetService()), q.GetBody())
	c.mu.Lock()
	defer c.mu.Unlock()
	cl := c.calls[callID]
	var ctx context.Context
	if err == nil {
		var host *hostCalls
		if cl != nil {
			host = &cl.host
		}
		ctx, err = host.admit(q.GetId())
	}
	if err != nil {
		// The reader must not block. A plugin that floods the queue gets no answer.
		if frame := c.hostReply(callID, q.GetId(), nil, err); frame != nil {
			select {
			case c.out <- frame:
			default:
			}
		}
		return
	}
	cl.host.group.Go(func() { c.serveHost(ctx, callID, cl, q) })
}

func (c *Client) serveHost(ctx context.Context, callID uint64, cl *call, q *wirepb.HostCall) {
	body, err := c.opts.Host(ctx, HostCall{RunID: cl.runID, Service: sdk.Service(q.GetService()), Body: q.GetBody()})
	c.mu.Lock()
	cancel := cl.host.open[q.GetId()]
	delete(cl.host.open, q.GetId())
	c.mu.Unlock()
	defer cancel()
	if ctx.Err() != nil {
		return // nobody waits
	}
	if frame := c.hostReply(callID, q.GetId(), body, err); frame != nil {
		select {
		case c.out <- frame:
		case <-ctx.Done():
		case <-c.done:
		}
	}
}

// hostReply encodes an answer, or the reason why it can't be sent.
func (c *Client) hostReply(callID, id uint64, body json.RawMessage, err error) *outFrame {
	frame := &wirepb.Request{Id: callID, Body: &wirepb.Request_HostReply{HostReply: encodeHostReply(id, body, err)}}
	b, err := proto.Marshal(frame)
	if err == nil && len(b) > c.opts.MessageBytes {
		err = check.TooLarge("the host's answer", len(b), c.opts.MessageBytes)
		frame.Body = &wirepb.Request_HostReply{HostReply: encodeHostReply(id, nil, err)}
		b, err = proto.Marshal(frame)
	}
	if err != nil {
		return nil // bytes and valid text can always be encoded
	}
	return &outFrame{b: b}
}

// giveUp ends a question that the plugin no longer waits for.
func (c *Client) giveUp(callID, id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cl := c.calls[callID]; cl != nil {
		if cancel := cl.host.open[id]; cancel != nil {
			cancel()
		}
	}
}
