package wire

import (
	"context"
	"errors"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/check"
	"github.com/reflectory/reflectory/sdk/wire/wirepb"
)

// call is one call that waits for its reply.
type call struct {
	// reply has room for the one final reply, so the reader never blocks.
	reply  chan *inbound
	chunks *chunkBox
	size   int // of its request, until the reply arrives
	runID  string
	host   hostCalls
}

func newCall(runID string, chunks *chunkBox) *call {
	return &call{reply: make(chan *inbound, 1), runID: runID, chunks: chunks}
}

// roundTrip makes one call with a config. It sends the config's JSON the first time,
// and again if the plugin has forgotten it.
func (c *Client) roundTrip(ctx context.Context, kind sdk.Kind, cfg Config, cl *call,
	build func(*wirepb.Config) *wirepb.Request,
) (*wirepb.Reply, error) {
	cfg = cfg.withDefaults()
	key := configKey{kind, cfg.Digest}
	whole := !c.knows(key)
	for {
		pb := &wirepb.Config{Digest: text(cfg.Digest)}
		if whole {
			pb.Json = cfg.JSON
		}
		reply, err := c.exchange(ctx, build(pb), cl)
		if err == nil {
			c.remember(key)
			return reply, nil
		}
		if whole || sdk.ReasonOf(err) != "config_unknown" {
			return nil, err
		}
		whole = true
	}
}

func (c *Client) knows(key configKey) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.known[key]
	return ok
}

// remember remembers as many keys as the plugin does, then starts over. A config may be
// sent unnecessarily, which costs less than tracking the plugin's order here.
func (c *Client) remember(key configKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.known[key]; ok {
		return
	}
	if len(c.known) >= MaxPrepared {
		clear(c.known)
	}
	c.known[key] = struct{}{}
}

// exchange sends one request and waits for its final reply.
func (c *Client) exchange(ctx context.Context, req *wirepb.Request, cl *call) (*wirepb.Reply, error) {
	if err := ctx.Err(); err != nil {
		return nil, c.ended(ctx)
	}
	req.Id = c.lastID.Add(1)
	req.TimeoutMs = timeoutMillis(ctx)
	frame, err := c.encode(req)
	if err != nil {
		return nil, err
	}
	defer c.endHosting(cl)
	if err := c.register(ctx, req.Id, cl); err != nil {
		return nil, err
	}
	if err := c.send(ctx, req.Id, frame); err != nil {
		return nil, err
	}
	return c.await(ctx, req.Id, cl, frame)
}

func (c *Client) await(ctx context.Context, id uint64, cl *call, frame *outFrame) (*wirepb.Reply, error) {
	for {
		select {
		case in := <-cl.reply:
			cl.chunks.deliver()
			return c.open(in)
		case <-cl.chunks.arrived():
			cl.chunks.deliver()
		case <-ctx.Done():
			return c.lastWord(ctx, id, cl, frame)
		case <-c.done:
			select {
			case in := <-cl.reply: // it arrived before the end
				return c.open(in)
			default:
				return nil, c.lost()
			}
		}
	}
}

// answerTime is how long the client waits for a plugin to answer a call that was given
// up. A supervisor usually has less patience, and ends the plugin.
const answerTime = 1500 * time.Millisecond

// lastWord tells the plugin that a call was given up, and waits a while for its answer:
// a plugin that answers needn't be ended. Without an answer the error is the context's.
func (c *Client) lastWord(ctx context.Context, id uint64, cl *call, frame *outFrame) (*wirepb.Reply, error) {
	if c.withdraw(id, frame) {
		return nil, c.ended(ctx)
	}
	c.sendCancel(id)
	patience := time.NewTimer(answerTime)
	defer patience.Stop()
	for {
		select {
		case in := <-cl.reply:
			cl.chunks.deliver()
			return c.open(in)
		case <-cl.chunks.arrived():
			cl.chunks.deliver()
		case <-c.done:
			return nil, c.ended(ctx)
		case <-patience.C:
			c.forget(id)
			return nil, c.ended(ctx)
		}
	}
}

// open distinguishes a reply from an error.
func (c *Client) open(in *inbound) (*wirepb.Reply, error) {
	if in.err != nil {
		return nil, check.ResponseInvalid("the frame %w", in.err).WithDetail("plugin", c.opts.Plugin)
	}
	reply := in.msg.(*wirepb.Reply)
	if e := reply.GetError(); e != nil {
		return nil, decodeError(e)
	}
	return reply, nil
}

func (c *Client) encode(req *wirepb.Request) (*outFrame, error) {
	b, err := proto.Marshal(req)
	if err != nil {
		return nil, sdk.Errorf(sdk.Internal, "encode", "encode a request for plugin %s: %w", c.opts.Plugin, err)
	}
	if len(b) > c.opts.MessageBytes {
		return nil, check.TooLarge("the request to plugin "+c.opts.Plugin, len(b), c.opts.MessageBytes)
	}
	return &outFrame{b: b}, nil
}

func (c *Client) register(ctx context.Context, id uint64, cl *call) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	c.calls[id] = cl
	cl.host.ctx = ctx
	return nil
}

// withdraw removes a request that is still queued, and reports whether it was.
func (c *Client) withdraw(id uint64, frame *outFrame) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !frame.drop() {
		return false
	}
	if cl := c.calls[id]; cl != nil {
		delete(c.calls, id)
		c.underway -= cl.size
	}
	return true
}

// sendCancel tells the plugin that a call was given up, unless the queue is full: then
// the plugin is stuck anyway.
func (c *Client) sendCancel(id uint64) {
	b, err := proto.Marshal(&wirepb.Request{Id: id, Body: &wirepb.Request_Cancel{Cancel: &wirepb.Cancel{}}})
	if err != nil {
		return // a message without strings can always be encoded
	}
	select {
	case c.out <- &outFrame{b: b}:
	default:
	}
}

// forget stops waiting for a call. Its request stays counted until the reply arrives.
func (c *Client) forget(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cl := c.calls[id]; cl != nil {
		rest := newCall("", nil)
		rest.size = cl.size
		c.calls[id] = rest
	}
}

// ended describes the end of a call's context.
func (c *Client) ended(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		e := sdk.Errorf(sdk.Timeout, "call_timeout", "plugin %s did not answer before the call's deadline", c.opts.Plugin).
			WithHint("raise the timeout, or give the plugin less to do in one call")
		e.Err = ctx.Err()
		return e
	}
	e := sdk.Errorf(sdk.Cancelled, "", "the call of plugin %s was cancelled", c.opts.Plugin)
	e.Err = ctx.Err()
	return e
}

func (c *Client) lost() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// timeoutMillis rounds up, so that the host's own deadline fires first.
func timeoutMillis(ctx context.Context) int64 {
	deadline, ok := ctx.Deadline()
	if !ok {
		return 0
	}
	return max(1, int64((time.Until(deadline)+time.Millisecond-1)/time.Millisecond))
}
