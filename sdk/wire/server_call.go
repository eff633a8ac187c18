package wire

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/wire/wirepb"
)

// chunkFunc sends a piece of one item's output.
type chunkFunc func(id uint64, item int, piece string)

func errorReply(err error) *wirepb.Reply {
	return &wirepb.Reply{Body: &wirepb.Reply_Error{Error: encodeError(err)}}
}

// run makes one call and returns its final reply.
func (s *Server) run(ctx context.Context, req *wirepb.Request, chunk chunkFunc) *wirepb.Reply {
	reply, err := s.dispatch(ctx, req, chunk)
	if err != nil {
		return errorReply(err)
	}
	return reply
}

func (s *Server) dispatch(ctx context.Context, req *wirepb.Request, chunk chunkFunc) (*wirepb.Reply, error) {
	if err := ctx.Err(); err != nil {
		return nil, err // it waited too long
	}
	switch body := req.GetBody().(type) {
	case *wirepb.Request_Prepare:
		_, err := s.prepare(ctx, sdk.Kind(body.Prepare.GetKind()), body.Prepare.GetConfig())
		return &wirepb.Reply{Body: &wirepb.Reply_Prepared{Prepared: &wirepb.Prepared{}}}, err
	case *wirepb.Request_Evaluate:
		return s.evaluate(ctx, body.Evaluate)
	case *wirepb.Request_Generate:
		return s.generate(ctx, body.Generate, func(item int, piece string) { chunk(req.GetId(), item, piece) })
	case *wirepb.Request_Correct:
		return s.correct(ctx, body.Correct)
	}
	return nil, sdk.Errorf(sdk.Incompatible, "contract_mismatch",
		"plugin %s doesn't know this request", s.manifest.Name).
		WithHint("rebuild plugin %s with this host's sdk", s.manifest.Name)
}

func (s *Server) evaluate(ctx context.Context, call *wirepb.Evaluate) (*wirepb.Reply, error) {
	prepared, err := s.prepare(ctx, sdk.KindEvaluator, call.GetConfig())
	if err != nil {
		return nil, err
	}
	reqs := encodeAll(call.GetItems(), decodeEvaluateRequest)
	var results []sdk.EvaluateResult
	switch e := prepared.(type) {
	case sdk.EvaluatorWithBatch:
		ctx := sdk.WithCall(ctx, sdk.Call{RunID: commonRun(reqs, evaluateRun)})
		err = s.guard(func() (err error) { results = e.EvaluateBatch(ctx, reqs); return nil })
		if err == nil && len(results) != len(reqs) {
			err = sdk.Errorf(sdk.Internal, "batch_size", "the plugin gave %d results for %d requests", len(results), len(reqs))
		}
	case sdk.Evaluator:
		results = make([]sdk.EvaluateResult, len(reqs))
		for i, req := range reqs {
			r := &results[i]
			r.Err = s.guard(func() (err error) { r.Response, err = e.Evaluate(sdk.WithCall(ctx, req.Call), req); return err })
		}
	}
	if err != nil {
		return nil, err
	}
	out := &wirepb.Evaluated{Results: make([]*wirepb.EvaluateResult, len(results))}
	for i, r := range results {
		out.Results[i] = encodeEvaluateResult(r)
	}
	return &wirepb.Reply{Body: &wirepb.Reply_Evaluated{Evaluated: out}}, nil
}

func (s *Server) generate(ctx context.Context, call *wirepb.Generate, chunk func(int, string)) (*wirepb.Reply, error) {
	prepared, err := s.prepare(ctx, sdk.KindGenerator, call.GetConfig())
	if err != nil {
		return nil, err
	}
	g := prepared.(sdk.Generator)
	out := &wirepb.Generated{}
	for i, pb := range call.GetItems() {
		req := decodeGenerateRequest(pb)
		if pb.GetEmit() {
			req.Emit = func(piece string) { chunk(i, piece) }
		}
		var r sdk.GenerateResult
		r.Err = s.guard(func() (err error) { r.Response, err = g.Generate(sdk.WithCall(ctx, req.Call), req); return err })
		out.Results = append(out.Results, encodeGenerateResult(r))
	}
	return &wirepb.Reply{Body: &wirepb.Reply_Generated{Generated: out}}, nil
}

func (s *Server) correct(ctx context.Context, call *wirepb.Correct) (*wirepb.Reply, error) {
	prepared, err := s.prepare(ctx, sdk.KindCorrector, call.GetConfig())
	if err != nil {
		return nil, err
	}
	c := prepared.(sdk.Corrector)
	out := &wirepb.Corrected{}
	for _, pb := range call.GetItems() {
		req := decodeCorrectRequest(pb)
		var r sdk.CorrectResult
		r.Err = s.guard(func() (err error) { r.Response, err = c.Correct(sdk.WithCall(ctx, req.Call), req); return err })
		out.Results = append(out.Results, encodeCorrectResult(r))
	}
	return &wirepb.Reply{Body: &wirepb.Reply_Corrected{Corrected: out}}, nil
}

// prepare returns the plugin's result for a config, from the cache if it is there.
func (s *Server) prepare(ctx context.Context, kind sdk.Kind, cfg *wirepb.Config) (any, error) {
	if !slices.Contains(s.manifest.Kinds, kind) {
		return nil, s.wrongKind(kind)
	}
	key := configKey{kind, cfg.GetDigest()}
	if cfg.Json == nil {
		return s.prepared.get(ctx, key, 0, nil)
	}
	return s.prepared.get(ctx, key, len(cfg.GetJson()), func() (v any, err error) {
		err = s.guard(func() (err error) {
			v, err = prepareKind(ctx, &s.plugin, kind, cfg.GetJson())
			return err
		})
		return v, configError(err)
	})
}

func prepareKind(ctx context.Context, p *sdk.Plugin, kind sdk.Kind, config []byte) (any, error) {
	switch kind {
	case sdk.KindEvaluator:
		return p.Evaluator(ctx, config)
	case sdk.KindGenerator:
		return p.Generator(ctx, config)
	default:
		return p.Corrector(ctx, config)
	}
}

// configError classifies an error of a prepare function that isn't an [sdk.Error]: the
// config is wrong.
func configError(err error) error {
	var e *sdk.Error
	if err == nil || errors.As(err, &e) || sdk.CodeOf(err) != sdk.Internal {
		return err
	}
	return sdk.Errorf(sdk.Invalid, "config_invalid", "%w", err)
}

func (s *Server) wrongKind(kind sdk.Kind) error {
	kinds := make([]string, len(s.manifest.Kinds))
	for i, k := range s.manifest.Kinds {
		kinds[i] = string(k)
	}
	return sdk.Errorf(sdk.Invalid, "kind_unsupported", "plugin %s doesn't have the kind %s", s.manifest.Name, text(string(kind))).
		WithHint("its kinds are: %s", strings.Join(kinds, ", "))
}

// maxPanic limits how much of a panic's value a message shows, in bytes.
const maxPanic = 1 << 10

// guard runs the author's code and turns its panic into an error.
func (s *Server) guard(f func() error) (err error) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		value := fmt.Sprint(v)
		fmt.Fprintf(s.config.Stderr, "panic: %s\n\n%s\n", value, debug.Stack())
		err = sdk.Errorf(sdk.Internal, "plugin_panic", "plugin %s panicked: %s",
			s.manifest.Name, value[:min(len(value), maxPanic)]).
			WithHint("this is a fault of the plugin; its stack is in the plugin's log")
	}()
	return f()
}
