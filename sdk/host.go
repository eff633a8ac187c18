package sdk

import (
	"context"
	"encoding/json"
)

// Service is something that the host does for plugins. An operator grants each service
// by its name.
type Service string

// The host services. The requests and responses of each are JSON in the forms of this
// package, over every transport.
const (
	// ServiceLog writes to the host's log: [LogRequest], no response.
	ServiceLog Service = "log"
	// ServiceLLM asks the host's language model, with the host's own key, so that
	// a plugin needs neither network nor secret: [LLMRequest], [LLMResponse].
	ServiceLLM Service = "llm.complete"
	// ServiceRecall reads memories of the run's namespace: [RecallRequest],
	// [RecallResponse].
	ServiceRecall Service = "memory.recall"
	// ServiceCache keeps values between calls: [CacheRequest], [CacheResponse].
	ServiceCache Service = "cache"
	// ServiceExec runs a program in a sandbox of its own: [ExecRequest], [ExecResponse].
	ServiceExec Service = "exec"
)

// Services lists every host service, sorted.
func Services() []Service {
	return []Service{ServiceCache, ServiceExec, ServiceLLM, ServiceLog, ServiceRecall}
}

// Host answers a plugin's questions while the plugin works on a call. It is safe for
// concurrent use.
type Host interface {
	// Ask sends a request to a service and returns the response. Both are JSON. A
	// service that wasn't granted is [Denied], reason "capability_missing".
	Ask(ctx context.Context, service Service, request json.RawMessage) (json.RawMessage, error)
}

// HostFunc turns a function into a [Host], for tests.
type HostFunc func(ctx context.Context, service Service, request json.RawMessage) (json.RawMessage, error)

// Ask calls f.
func (f HostFunc) Ask(ctx context.Context, service Service, request json.RawMessage) (json.RawMessage, error) {
	return f(ctx, service, request)
}

type (
	hostKey struct{}
	callKey struct{}
)

// WithHost returns a context in which calls to services go to h. The code that serves a
// plugin makes such a context for each call; an author's test makes its own.
func WithHost(ctx context.Context, h Host) context.Context {
	return context.WithValue(ctx, hostKey{}, h)
}

// HostFrom returns the host of a call's context, which ends with the call. For any
// other context it returns a host that refuses everything.
func HostFrom(ctx context.Context) Host {
	if h, ok := ctx.Value(hostKey{}).(Host); ok {
		return h
	}
	return noHost{}
}

// noHost is the host of a context without one.
type noHost struct{}

// Ask refuses.
func (noHost) Ask(_ context.Context, service Service, _ json.RawMessage) (json.RawMessage, error) {
	return nil, Errorf(Internal, "no_host", "%s: this context is not a call's, so no host answers it", service).
		WithHint("pass on the context that the evaluator, generator or corrector was given; in a test, make one with sdk.WithHost")
}

// WithCall returns a context that has the step and the run on which the code works. The
// code that serves a plugin makes such a context for each request.
func WithCall(ctx context.Context, c Call) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

// CallFrom returns the step that a request's context belongs to, or the zero Call if it
// has none.
func CallFrom(ctx context.Context) Call {
	c, _ := ctx.Value(callKey{}).(Call)
	return c
}

// ask sends a typed request to a service and decodes its response.
func ask[Req, Res any](ctx context.Context, service Service, request *Req) (*Res, error) {
	body, err := json.Marshal(request)
	if err != nil {
		return nil, Errorf(Invalid, "request_invalid", "encode a request of %s: %w", service, err)
	}
	answer, err := HostFrom(ctx).Ask(ctx, service, body)
	if err != nil {
		return nil, Wrap(string(service), err)
	}
	response := new(Res)
	if err := json.Unmarshal(answer, response); err != nil {
		return nil, Errorf(Internal, "response_invalid", "the host's response of %s: %w", service, err)
	}
	return response, nil
}
