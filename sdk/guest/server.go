package guest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/abi"
)

// maxPrepared is how many prepared configs are kept, as in subprocesses.
const maxPrepared = 64

// server handles the calls to one plugin, one call at a time.
type server struct {
	plugin   sdk.Plugin
	manifest sdk.Manifest
	prepared []prepared // the most recently used is last
	emit     func(item int, piece string)
	service  func(name string, request json.RawMessage) (json.RawMessage, error)
}

// prepared is the plugin's result for a config.
type prepared struct {
	kind   sdk.Kind
	digest string
	value  any
}

func newServer(p sdk.Plugin, emit func(int, string)) *server {
	return &server{plugin: p, manifest: p.Describe(), emit: emit, service: Service}
}

// handle makes one call. It never fails: errors are in the reply.
func (s *server) handle(op abi.Op, request []byte) []byte {
	reply, err := s.dispatch(op, request)
	if err == nil {
		var b []byte
		if b, err = json.Marshal(reply); err == nil {
			return b
		}
		err = sdk.Errorf(sdk.Internal, "response_invalid", "encode the reply: %w", err)
	}
	b, _ := json.Marshal(abi.Reply[struct{}]{Error: abi.NewError(err)}) // strings and JSON can always be encoded
	return b
}

func (s *server) dispatch(op abi.Op, request []byte) (any, error) {
	var r abi.Request
	if err := json.Unmarshal(request, &r); err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "request_invalid", "the host's request: %w", err)
	}
	if op == 0 {
		op = abi.ParseOp(r.Op)
	}
	host := &callHost{service: s.service}
	defer func() { host.over = true }()
	ctx := sdk.WithHost(context.Background(), host)
	switch op {
	case abi.OpDescribe:
		return abi.Reply[struct{}]{Manifest: &s.manifest}, nil
	case abi.OpPrepare:
		_, err := s.prepare(ctx, r.Kind, r.Config)
		return abi.Reply[struct{}]{}, err
	case abi.OpEvaluate:
		return s.evaluate(ctx, &r)
	case abi.OpGenerate:
		return s.generate(ctx, &r)
	case abi.OpCorrect:
		return s.correct(ctx, &r)
	}
	return nil, sdk.Errorf(sdk.Incompatible, "contract_mismatch", "plugin %s doesn't know operation %d", s.manifest.Name, op).
		WithHint("rebuild plugin %s with this host's sdk", s.manifest.Name)
}

func (s *server) evaluate(ctx context.Context, r *abi.Request) (any, error) {
	value, items, err := open[sdk.EvaluateRequest](ctx, s, sdk.KindEvaluator, r)
	if err != nil {
		return nil, err
	}
	var results []sdk.EvaluateResult
	if batch, ok := value.(sdk.EvaluatorWithBatch); ok {
		ctx := sdk.WithCall(ctx, sdk.Call{RunID: commonRun(items)})
		err = s.guard(func() error { results = batch.EvaluateBatch(ctx, pointers(items)); return nil })
		if err == nil && len(results) != len(items) {
			err = sdk.Errorf(sdk.Internal, "batch_size", "the plugin returned %d results for %d requests", len(results), len(items))
		}
		if err != nil {
			return nil, err
		}
	} else {
		results = make([]sdk.EvaluateResult, len(items))
		for i := range items {
			results[i].Err = s.guard(func() (err error) {
				results[i].Response, err = value.(sdk.Evaluator).Evaluate(sdk.WithCall(ctx, items[i].Call), &items[i])
				return err
			})
		}
	}
	out := abi.Reply[sdk.EvaluateResponse]{Results: make([]abi.Result[sdk.EvaluateResponse], len(results))}
	for i, r := range results {
		if r.Err == nil && r.Response != nil {
			r.Err = r.Response.Verdict.Check() // JSON has no NaN
		}
		out.Results[i] = result(r.Response, r.Err)
	}
	return out, nil
}

func (s *server) generate(ctx context.Context, r *abi.Request) (any, error) {
	value, items, err := open[abi.Generate](ctx, s, sdk.KindGenerator, r)
	if err != nil {
		return nil, err
	}
	out := abi.Reply[sdk.GenerateResponse]{}
	for i := range items {
		req := &items[i].GenerateRequest
		if items[i].Emit {
			req.Emit = func(piece string) { s.emit(i, piece) }
		}
		var response *sdk.GenerateResponse
		err := s.guard(func() (err error) {
			response, err = value.(sdk.Generator).Generate(sdk.WithCall(ctx, req.Call), req)
			return err
		})
		out.Results = append(out.Results, result(response, err))
	}
	return out, nil
}

func (s *server) correct(ctx context.Context, r *abi.Request) (any, error) {
	value, items, err := open[sdk.CorrectRequest](ctx, s, sdk.KindCorrector, r)
	if err != nil {
		return nil, err
	}
	out := abi.Reply[sdk.CorrectResponse]{}
	for i := range items {
		var response *sdk.CorrectResponse
		err := s.guard(func() (err error) {
			response, err = value.(sdk.Corrector).Correct(sdk.WithCall(ctx, items[i].Call), &items[i])
			return err
		})
		out.Results = append(out.Results, result(response, err))
	}
	return out, nil
}

// open returns the plugin's prepared value for a request's config, and the request's
// items.
func open[T any](ctx context.Context, s *server, kind sdk.Kind, r *abi.Request) (value any, items []T, err error) {
	if value, err = s.prepare(ctx, kind, r.Config); err != nil {
		return nil, nil, err
	}
	if len(r.Items) > 0 {
		if err := json.Unmarshal(r.Items, &items); err != nil {
			return nil, nil, sdk.Errorf(sdk.Invalid, "request_invalid", "the host's request: %w", err)
		}
	}
	return value, items, nil
}

// commonRun is the run of all items of a batch, or "" if they belong to several.
func commonRun(items []sdk.EvaluateRequest) string {
	common := ""
	for i, item := range items {
		if i > 0 && item.RunID != common {
			return ""
		}
		common = item.RunID
	}
	return common
}

func pointers[T any](items []T) []*T {
	out := make([]*T, len(items))
	for i := range items {
		out[i] = &items[i]
	}
	return out
}

// result is one item's outcome. If it can't be encoded, only this item fails, as a
// fault of the plugin.
func result[R any](response *R, err error) abi.Result[R] {
	if err == nil && response == nil {
		err = sdk.Errorf(sdk.Internal, "no_response", "the plugin returned neither a response nor an error")
	}
	if err == nil {
		if _, failure := json.Marshal(response); failure != nil {
			err = sdk.Errorf(sdk.Invalid, "response_invalid", "the plugin's response is not JSON: %w", failure)
		}
	}
	if err != nil {
		return abi.Result[R]{Error: abi.NewError(err)}
	}
	return abi.Result[R]{Response: response}
}

// prepare returns the plugin's prepared value for a config, made now or earlier.
func (s *server) prepare(ctx context.Context, kind sdk.Kind, c *abi.Config) (any, error) {
	if !slices.Contains(s.manifest.Kinds, kind) {
		return nil, sdk.Errorf(sdk.Invalid, "kind_unsupported", "plugin %s doesn't have the kind %s", s.manifest.Name, kind).
			WithHint("its kinds are: %v", s.manifest.Kinds)
	}
	if c == nil {
		c = &abi.Config{JSON: json.RawMessage("{}")}
	}
	if i := slices.IndexFunc(s.prepared, func(p prepared) bool { return p.kind == kind && p.digest == c.Digest }); i >= 0 {
		p := s.prepared[i]
		s.prepared = append(slices.Delete(s.prepared, i, i+1), p)
		return p.value, nil
	}
	if len(c.JSON) == 0 {
		return nil, sdk.Errorf(sdk.NotFound, "config_unknown", "no config of digest %s was prepared", c.Digest)
	}
	value, err := s.make(ctx, kind, bytes.Clone(c.JSON))
	if err != nil {
		return nil, err
	}
	if len(s.prepared) == maxPrepared {
		s.prepared = slices.Delete(s.prepared, 0, 1)
	}
	s.prepared = append(s.prepared, prepared{kind, c.Digest, value})
	return value, nil
}

// make asks the plugin to prepare a config. An error that isn't an [sdk.Error] means
// that the config is wrong.
func (s *server) make(ctx context.Context, kind sdk.Kind, config json.RawMessage) (value any, err error) {
	err = s.guard(func() (err error) {
		switch kind {
		case sdk.KindEvaluator:
			value, err = s.plugin.Evaluator(ctx, config)
		case sdk.KindGenerator:
			value, err = s.plugin.Generator(ctx, config)
		default:
			value, err = s.plugin.Corrector(ctx, config)
		}
		return err
	})
	if err == nil && value == nil {
		err = sdk.Errorf(sdk.Internal, "prepared_nothing", "the plugin prepared nothing from its config")
	}
	if _, ok := errors.AsType[*sdk.Error](err); err != nil && !ok && sdk.CodeOf(err) == sdk.Internal {
		err = sdk.Errorf(sdk.Invalid, "config_invalid", "%w", err)
	}
	return value, err
}

// guard runs the author's code and turns its panic into an error.
func (s *server) guard(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			fmt.Fprintf(os.Stderr, "panic: %v\n\n%s\n", v, debug.Stack())
			err = sdk.Errorf(sdk.Internal, "plugin_panic", "plugin %s panicked: %.1024v", s.manifest.Name, v).
				WithHint("this is a fault of the plugin; its stack is in the plugin's log")
		}
	}()
	return f()
}
