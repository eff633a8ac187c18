package wire

import (
	"context"
	"encoding/json"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/wire/wirepb"
)

const (
	// hostFrame is the maximum size of a question's frame without its body.
	hostFrame = 1 << 10
	// maxService limits a service's name.
	maxService = 128
)

// HostCall is a plugin's question to the host during a call.
type HostCall struct {
	// RunID is the run of that call; "" outside a run, and for a batch of several.
	RunID string
	// Service is the requested service, exactly as it was sent.
	Service sdk.Service
	// Body is one JSON value, at most [check.MaxHostBytes].
	Body json.RawMessage
}

// HostFunc answers a plugin's questions. Its context is the call's context, and ends
// with the call or when the plugin cancels the question. The function must be safe for
// concurrent use, and return soon after the context has ended.
type HostFunc func(ctx context.Context, c HostCall) (json.RawMessage, error)

// noServices is the [HostFunc] of a host without services.
func noServices(_ context.Context, c HostCall) (json.RawMessage, error) {
	return nil, sdk.Errorf(sdk.Denied, "capability_missing", "this host offers plugins no services, and %.64q was asked for", text(string(c.Service))).
		WithHint("run the plugin on a host that was set up with services")
}

func callEnded() error {
	return sdk.Errorf(sdk.Invalid, "call_ended", "the host was asked outside a call").
		WithHint("ask while the call runs whose context you use, and wait for the answer before you return")
}

func encodeHostCall(id uint64, service sdk.Service, body json.RawMessage) *wirepb.HostCall {
	return &wirepb.HostCall{Id: id, Service: text(string(service)), Body: body}
}

func encodeHostReply(id uint64, body json.RawMessage, err error) *wirepb.HostReply {
	if err != nil {
		return &wirepb.HostReply{Id: id, Outcome: &wirepb.HostReply_Error{Error: encodeError(err)}}
	}
	if len(body) == 0 {
		body = json.RawMessage("{}")
	}
	return &wirepb.HostReply{Id: id, Outcome: &wirepb.HostReply_Body{Body: body}}
}

func decodeHostReply(pb *wirepb.HostReply) (json.RawMessage, error) {
	if body, ok := pb.GetOutcome().(*wirepb.HostReply_Body); ok {
		return body.Body, nil
	}
	return nil, decodeHostError(pb.GetError())
}
