// Package services is what the host does for plugins: it implements
// [plugin.Services].
//
//	log            a line for the host's log
//	cache          values that are kept between calls, in memory
//	llm.complete the host's language model, through a plugin's generator
//	memory.recall  the run's memories, through a port of package core
//	exec           programs of the machine, each in a sandbox of its own
//
// It is internal to Reflectory: its API may change in any release.
package services

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/exec"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk"
)

// Options set up a [Host]. The zero value of each field is its default.
type Options struct {
	// Log gets the plugins' log lines. It must be safe for concurrent use.
	// Default is to drop them.
	Log func(plugin.LogLine)
	// CacheBytes is the size of each plugin's cache for one kind of scope. Default 8 MiB: as
	// much as one message.
	CacheBytes int
	// Exec runs programs. Nil refuses exec.
	Exec *exec.Runner
	// Now is the clock of log lines. Default the system's.
	Now func() time.Time
}

// defaultCacheBytes is the default of [Options.CacheBytes].
const defaultCacheBytes = 8 << 20

// Host serves all plugins of a program. Its answers depend on the [plugin.Scope] of the
// call during which it is asked, so it has no model and no memory itself. It is safe for
// concurrent use.
type Host struct {
	options Options

	mu     sync.Mutex
	caches map[cacheKey]*cache
	uses   int // of caches
	rates  map[string]*plugin.LogRate
}

var _ plugin.Services = (*Host)(nil)

// New returns a host of services.
func New(o Options) *Host {
	if o.Log == nil {
		o.Log = func(plugin.LogLine) {}
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = defaultCacheBytes
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Host{options: o, caches: map[cacheKey]*cache{}, rates: map[string]*plugin.LogRate{}}
}

// Serve implements [plugin.Services].
func (h *Host) Serve(ctx context.Context, r plugin.ServiceRequest) (json.RawMessage, error) {
	switch r.Service {
	case sdk.ServiceLog:
		return serve(ctx, r, h.log)
	case sdk.ServiceCache:
		return serve(ctx, r, h.cache)
	case sdk.ServiceLLM:
		return serve(ctx, r, h.complete)
	case sdk.ServiceRecall:
		return serve(ctx, r, h.recalled)
	case sdk.ServiceExec:
		return serve(ctx, r, h.exec)
	}
	return nil, sdk.Errorf(sdk.Incompatible, "service_unsupported", "this host has no service %.64q", r.Service).
		WithHint("upgrade the host, or do without")
}

// serve decodes a request and encodes its response.
func serve[Req, Res any](ctx context.Context, r plugin.ServiceRequest,
	answer func(context.Context, plugin.ServiceRequest, *Req) (*Res, error),
) (json.RawMessage, error) {
	request := new(Req)
	if err := json.Unmarshal(r.Body, request); err != nil {
		return nil, invalid(r, "%w", err)
	}
	response, err := answer(ctx, r, request)
	if err != nil {
		return nil, err
	}
	body, err := jsontext.Encode(response)
	if err != nil {
		return nil, sdk.Errorf(sdk.Internal, "encode", "encode the response of %s: %w", r.Service, err)
	}
	return body, nil
}

func invalid(r plugin.ServiceRequest, format string, args ...any) *sdk.Error {
	e := sdk.Errorf(sdk.Invalid, "request_invalid", format, args...)
	e.Op = "request of " + string(r.Service)
	return e.WithHint("send the service's request as package sdk has it").WithDetail("plugin", r.Plugin)
}

// recalled answers memory.recall with the memory of the call's scope, for the scope's run,
// whatever run the plugin names.
func (h *Host) recalled(ctx context.Context, r plugin.ServiceRequest, q *sdk.RecallRequest) (*sdk.RecallResponse, error) {
	scope := plugin.ScopeOf(ctx)
	if scope.Recall == nil {
		return nil, sdk.Errorf(sdk.Unavailable, "memory_not_available", "this command has no memory open, so nothing can be recalled").
			WithHint("go on without memories; a plugin that can't should say so")
	}
	return scope.Recall.Recall(ctx, scope.RunID, q)
}

// exec runs a program for the workflow of the call's scope.
func (h *Host) exec(ctx context.Context, r plugin.ServiceRequest, q *sdk.ExecRequest) (*sdk.ExecResponse, error) {
	if h.options.Exec == nil {
		return nil, sdk.Errorf(sdk.Incompatible, "service_unsupported", "this host runs no programs for plugins").WithDetail("plugin", r.Plugin)
	}
	scope := plugin.ScopeOf(ctx)
	return h.options.Exec.Run(ctx, exec.Caller{Tenant: core.Tenant(scope.Namespace), Folder: scope.Folder}, q)
}
