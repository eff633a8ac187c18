package wire

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/check"
	"github.com/reflectory/reflectory/sdk/wire/wirepb"
)

// ClientOptions set up a [Client].
type ClientOptions struct {
	// Plugin is the plugin's name in messages.
	Plugin string
	// MessageBytes limits one message in each direction. Default [DefaultMessageBytes].
	MessageBytes int
	// Host answers what the plugin asks during its calls. By default it refuses.
	Host HostFunc
}

// Config is a config and the digest that names it.
type Config struct {
	// JSON is a JSON object; nil means {}.
	JSON json.RawMessage
	// Digest is equal for equal configs only; if it is "", it is computed from JSON.
	Digest string
}

// Client is the host's half: it runs any number of calls at a time over one
// stream. It is safe for concurrent use.
//
// A call whose context ends returns at once with sdk.Timeout or sdk.Cancelled, and the
// client tells the plugin. When the stream ends, calls fail with [ErrLost] in their
// chain. A result or an error that came from the plugin never wraps anything.
type Client struct {
	opts     ClientOptions
	manifest *sdk.Manifest
	stream   grpc.ClientStream
	stop     context.CancelFunc
	out      chan *outFrame
	done     chan struct{}
	running  sync.WaitGroup
	lastID   atomic.Uint64

	sending sync.Mutex

	mu       sync.Mutex
	calls    map[uint64]*call
	underway int // bytes of requests without replies so far
	known    map[configKey]struct{}
	err      error
	closed   bool
}

// configKey names a prepared config.
type configKey struct {
	kind   sdk.Kind
	digest string
}

// NewClient asks the plugin at conn to describe itself, refuses a plugin with another
// contract version, and opens the stream. The connection still belongs to the caller.
// ctx limits only the start; [Client.Close] ends the client.
func NewClient(ctx context.Context, conn grpc.ClientConnInterface, o ClientOptions) (*Client, error) {
	o.MessageBytes = orDefault(o.MessageBytes, DefaultMessageBytes)
	if o.Host == nil {
		o.Host = noServices
	}
	rpc := wirepb.NewPluginClient(conn)
	m, err := describe(ctx, rpc, o)
	if err != nil {
		return nil, err
	}
	life, stop := context.WithCancel(context.Background())
	starting := context.AfterFunc(ctx, stop)
	stream, err := rpc.Calls(life, grpc.ForceCodecV2(newCodec()), grpc.MaxCallRecvMsgSize(o.MessageBytes))
	if err == nil && !starting() {
		err = ctx.Err()
	}
	if err != nil {
		stop()
		return nil, rpcError(o, "open the stream", err)
	}
	c := &Client{
		opts: o, manifest: m, stream: stream, stop: stop,
		out: make(chan *outFrame, queuedFrames), done: make(chan struct{}),
		calls: map[uint64]*call{}, known: map[configKey]struct{}{},
	}
	c.running.Go(c.write)
	c.running.Go(c.read)
	return c, nil
}

// Manifest is the plugin's description of itself.
func (c *Client) Manifest() *sdk.Manifest { return c.manifest }

// Done is closed once the stream has ended.
func (c *Client) Done() <-chan struct{} { return c.done }

// Err is the reason why the stream ended. It is nil while the stream runs, and if Close ended
// it.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	return c.err
}

// Close ends the stream and every call on it, and waits for its goroutines. It
// is idempotent.
func (c *Client) Close() error {
	c.mu.Lock()
	if c.err == nil {
		c.closed = true
	}
	c.mu.Unlock()
	c.stop()
	c.running.Wait()
	return nil
}

// Prepare asks the plugin to check and keep a config for a kind.
func (c *Client) Prepare(ctx context.Context, kind sdk.Kind, cfg Config) error {
	reply, err := c.roundTrip(ctx, kind, cfg, newCall("", nil), func(pb *wirepb.Config) *wirepb.Request {
		return &wirepb.Request{Body: &wirepb.Request_Prepare{Prepare: &wirepb.Prepare{Kind: string(kind), Config: pb}}}
	})
	if err != nil {
		return err
	}
	if reply.GetPrepared() == nil {
		return c.unexpected(reply, "prepared")
	}
	return nil
}

// Evaluate judges a batch in one round trip. The results are in its order.
func (c *Client) Evaluate(ctx context.Context, cfg Config, reqs []*sdk.EvaluateRequest) ([]sdk.EvaluateResult, error) {
	items := encodeAll(reqs, encodeEvaluateRequest)
	reply, err := c.roundTrip(ctx, sdk.KindEvaluator, cfg, newCall(commonRun(reqs, evaluateRun), nil), func(pb *wirepb.Config) *wirepb.Request {
		return &wirepb.Request{Body: &wirepb.Request_Evaluate{Evaluate: &wirepb.Evaluate{Config: pb, Items: items}}}
	})
	if err != nil {
		return nil, err
	}
	got := reply.GetEvaluated()
	if got == nil {
		return nil, c.unexpected(reply, "evaluated")
	}
	return decodeAll(c, got.GetResults(), len(reqs), decodeEvaluateResult)
}

// Generate makes a batch of outputs in one round trip. The results are in its
// order. Emit functions are called on the caller's goroutine.
func (c *Client) Generate(ctx context.Context, cfg Config, reqs []*sdk.GenerateRequest) ([]sdk.GenerateResult, error) {
	items := encodeAll(reqs, encodeGenerateRequest)
	cl := newCall(commonRun(reqs, generateRun), newChunkBox(reqs, c.opts.MessageBytes))
	reply, err := c.roundTrip(ctx, sdk.KindGenerator, cfg, cl, func(pb *wirepb.Config) *wirepb.Request {
		return &wirepb.Request{Body: &wirepb.Request_Generate{Generate: &wirepb.Generate{Config: pb, Items: items}}}
	})
	if err != nil {
		return nil, err
	}
	got := reply.GetGenerated()
	if got == nil {
		return nil, c.unexpected(reply, "generated")
	}
	return decodeAll(c, got.GetResults(), len(reqs), decodeGenerateResult)
}

// Correct repairs a batch of outputs in one round trip. The results are in its
// order.
func (c *Client) Correct(ctx context.Context, cfg Config, reqs []*sdk.CorrectRequest) ([]sdk.CorrectResult, error) {
	items := encodeAll(reqs, encodeCorrectRequest)
	reply, err := c.roundTrip(ctx, sdk.KindCorrector, cfg, newCall(commonRun(reqs, correctRun), nil), func(pb *wirepb.Config) *wirepb.Request {
		return &wirepb.Request{Body: &wirepb.Request_Correct{Correct: &wirepb.Correct{Config: pb, Items: items}}}
	})
	if err != nil {
		return nil, err
	}
	got := reply.GetCorrected()
	if got == nil {
		return nil, c.unexpected(reply, "corrected")
	}
	return decodeAll(c, got.GetResults(), len(reqs), decodeCorrectResult)
}

func encodeAll[T, PB any](items []*T, encode func(*T) *PB) []*PB {
	pbs := make([]*PB, len(items))
	for i, item := range items {
		pbs[i] = encode(item)
	}
	return pbs
}

func decodeAll[PB, T any](c *Client, pbs []*PB, want int, decode func(*PB) T) ([]T, error) {
	if len(pbs) != want {
		return nil, check.ResponseInvalid("%d results for %d requests", len(pbs), want).
			WithDetail("plugin", c.opts.Plugin)
	}
	results := make([]T, want)
	for i, pb := range pbs {
		results[i] = decode(pb)
	}
	return results, nil
}

func (c *Client) unexpected(reply *wirepb.Reply, want string) error {
	return check.ResponseInvalid("a reply of %T where %s was asked for", reply.GetBody(), want).
		WithDetail("plugin", c.opts.Plugin)
}

func (cfg Config) withDefaults() Config {
	if len(cfg.JSON) == 0 {
		cfg.JSON = json.RawMessage("{}")
	}
	if cfg.Digest == "" {
		sum := sha256.Sum256(cfg.JSON)
		cfg.Digest = hex.EncodeToString(sum[:])
	}
	return cfg
}
