package wire_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	goplugin "github.com/hashicorp/go-plugin"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/wire"
)

var call = sdk.Call{RunID: "run-1", Node: "extract", Iteration: 3, Role: sdk.RoleEvaluate, IdempotencyKey: "key"}

// mirror answers with its request, so a round trip tests both directions.
func mirror() sdk.Plugin {
	usage := sdk.Usage{TokensIn: 1, TokensOut: 2, CostUSD: 0.5}
	show := func(v any) map[string]string {
		b, _ := json.Marshal(v)
		return map[string]string{"request": string(b)}
	}
	return sdk.Plugin{
		Manifest: sdk.Manifest{
			Name: "mirror", Version: "1.2.3", Description: "shows its input", Parallel: 2,
			ConfigSchema: json.RawMessage(`{"type":"object"}`), Capabilities: []string{"network"},
		},
		Evaluator: func(context.Context, json.RawMessage) (sdk.Evaluator, error) {
			return sdk.EvaluatorFunc(func(_ context.Context, r *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
				return &sdk.EvaluateResponse{
					Verdict: sdk.Verdict{
						Score: 0.25, Feedback: "better", Output: r.Output,
						Errors: []sdk.Finding{{
							Message: "m", Path: "/a", SchemaPath: "/b", Code: "c", Type: "t", Severity: "warning", Source: "s",
						}, {Message: "n"}},
					},
					Usage: usage, Metadata: show(r),
				}, nil
			}), nil
		},
		Generator: func(context.Context, json.RawMessage) (sdk.Generator, error) {
			return sdk.GeneratorFunc(func(_ context.Context, r *sdk.GenerateRequest) (*sdk.GenerateResponse, error) {
				if r.Emit != nil {
					r.Emit("a")
					r.Emit("b")
				}
				return &sdk.GenerateResponse{Output: r.State, Usage: usage, Metadata: show(r)}, nil
			}), nil
		},
		Corrector: func(context.Context, json.RawMessage) (sdk.Corrector, error) {
			return sdk.CorrectorFunc(func(_ context.Context, r *sdk.CorrectRequest) (*sdk.CorrectResponse, error) {
				return &sdk.CorrectResponse{Output: r.Output, Usage: usage, Metadata: show(r)}, nil
			}), nil
		},
	}
}

func wantShown(t *testing.T, metadata map[string]string, req any) {
	t.Helper()
	b, err := json.Marshal(req)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(b), metadata["request"]); diff != "" {
		t.Errorf("the plugin saw another request:\n%s", diff)
	}
}

func TestManifestArrivesWhole(t *testing.T) {
	p := mirror()
	c := connect(t, p, wire.ServerConfig{}, wire.ClientOptions{Plugin: "mirror"})
	want := p.Describe()
	if diff := cmp.Diff(&want, c.Manifest()); diff != "" {
		t.Error(diff)
	}
}

func TestEvaluateRoundTrip(t *testing.T) {
	c := connect(t, mirror(), wire.ServerConfig{}, wire.ClientOptions{})
	reqs := []*sdk.EvaluateRequest{
		{Call: call, State: json.RawMessage(`{"a":1}`), Output: json.RawMessage(`"x"`)},
		{Output: json.RawMessage(`[2]`)},
	}
	results, err := c.Evaluate(t.Context(), wire.Config{}, reqs)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		wantShown(t, r.Response.Metadata, reqs[i])
		r.Response.Metadata = nil
		want := &sdk.EvaluateResponse{
			Verdict: sdk.Verdict{
				Score: 0.25, Feedback: "better", Output: reqs[i].Output,
				Errors: []sdk.Finding{{
					Message: "m", Path: "/a", SchemaPath: "/b", Code: "c", Type: "t", Severity: "warning", Source: "s",
				}, {Message: "n"}},
			},
			Usage: sdk.Usage{TokensIn: 1, TokensOut: 2, CostUSD: 0.5},
		}
		if diff := cmp.Diff(want, r.Response); diff != "" {
			t.Error(diff)
		}
	}
}

func TestGenerateRoundTripWithChunks(t *testing.T) {
	c := connect(t, mirror(), wire.ServerConfig{}, wire.ClientOptions{})
	var chunks []string
	reqs := []*sdk.GenerateRequest{
		{Call: call, State: json.RawMessage(`{"a":1}`)},
		{State: json.RawMessage(`{"b":1}`), Emit: func(s string) { chunks = append(chunks, s) }},
	}
	results, err := c.Generate(t.Context(), wire.Config{}, reqs)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		wantShown(t, r.Response.Metadata, reqs[i])
		if diff := cmp.Diff(reqs[i].State, r.Response.Output); diff != "" {
			t.Error(diff)
		}
	}
	if diff := cmp.Diff([]string{"a", "b"}, chunks); diff != "" {
		t.Error(diff)
	}
}

func TestCorrectRoundTrip(t *testing.T) {
	c := connect(t, mirror(), wire.ServerConfig{}, wire.ClientOptions{})
	reqs := []*sdk.CorrectRequest{{
		Call: call, State: json.RawMessage(`{}`), Output: json.RawMessage(`1`),
		Errors: []sdk.Finding{{Message: "m", Path: "/x"}}, Feedback: "do better",
	}}
	results, err := c.Correct(t.Context(), wire.Config{}, reqs)
	if err != nil {
		t.Fatal(err)
	}
	wantShown(t, results[0].Response.Metadata, reqs[0])
	if got := string(results[0].Response.Output); got != "1" {
		t.Errorf("output %s", got)
	}
}

func TestErrorsKeepTheirIdentity(t *testing.T) {
	for _, code := range sdk.Codes() {
		t.Run(string(code), func(t *testing.T) {
			sent := &sdk.Error{
				Code: code, Reason: "some_reason", Op: "judge", Message: "it is so", Hint: "change it",
				Details: map[string]any{"n": 1.5, "s": "x", "l": []any{"a"}},
			}
			c := connect(t, evaluator(1, func(context.Context, *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
				return nil, sent
			}), wire.ServerConfig{}, wire.ClientOptions{})
			results, err := c.Evaluate(t.Context(), wire.Config{}, one(`1`))
			if err != nil {
				t.Fatal(err)
			}
			want := *sent
			want.Hint, want.FromPlugin = "the plugin says: change it", true
			if diff := cmp.Diff(error(&want), results[0].Err); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOneItemsErrorLeavesTheOthers(t *testing.T) {
	c := connect(t, evaluator(1, func(_ context.Context, r *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
		switch string(r.Output) {
		case `"panic"`:
			panic("no cheese")
		case `"nothing"`:
			return nil, nil
		}
		return passed(), nil
	}), wire.ServerConfig{}, wire.ClientOptions{})
	results, err := c.Evaluate(t.Context(), wire.Config{}, []*sdk.EvaluateRequest{
		{Output: json.RawMessage(`"panic"`)}, {Output: json.RawMessage(`1`)}, {Output: json.RawMessage(`"nothing"`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, results[0].Err, sdk.Internal, "plugin_panic")
	if !strings.Contains(results[0].Err.Error(), "no cheese") {
		t.Errorf("the panic's value is missing: %v", results[0].Err)
	}
	if results[1].Err != nil || !results[1].Response.Verdict.Valid {
		t.Errorf("the second item: %+v", results[1])
	}
	wantError(t, results[2].Err, sdk.Internal, "no_response")
}

// The client doesn't wait for a plugin that doesn't answer within its time.
func TestDeadlineReachesThePlugin(t *testing.T) {
	ended, release := make(chan error, 100), make(chan struct{})
	c := connect(t, evaluator(100, func(ctx context.Context, _ *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
		<-ctx.Done()
		ended <- ctx.Err()
		<-release // the host doesn't wait for this
		return nil, ctx.Err()
	}), wire.ServerConfig{}, wire.ClientOptions{Plugin: "slow"})
	defer close(release)
	for limit := 20 * time.Millisecond; ; limit *= 2 { // a busy machine may take longer to reach the plugin at all
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		_, err := c.Evaluate(ctx, wire.Config{}, one(`1`))
		wantError(t, err, sdk.Timeout, "call_timeout")
		if !strings.Contains(err.Error(), "slow") || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		select {
		case err := <-ended:
			if err == nil {
				t.Error("the plugin's context didn't end")
			}
			wantAlive(t, c)
			return
		case <-time.After(limit):
		}
	}
}

func TestCancellationReachesThePlugin(t *testing.T) {
	began, ended := make(chan struct{}), make(chan error, 1)
	c := connect(t, evaluator(1, func(ctx context.Context, _ *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
		close(began)
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, ctx.Err()
	}), wire.ServerConfig{}, wire.ClientOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-began; cancel() }()
	results, err := c.Evaluate(ctx, wire.Config{}, one(`1`))
	if err == nil { // an item's answer, in place of the context's own error
		err = results[0].Err
	}
	wantError(t, err, sdk.Cancelled, "cancelled")
	if errors.Is(err, context.Canceled) {
		t.Errorf("the plugin answered, and the error says it didn't: %v", err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the plugin saw %v", err)
	}
	wantAlive(t, c)
}

func TestAtMostParallelCallsRun(t *testing.T) {
	const parallel, calls = 3, 20
	var running, most atomic.Int32
	c := connect(t, evaluator(parallel, func(context.Context, *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
		n := running.Add(1)
		defer running.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		<-time.After(time.Millisecond)
		return passed(), nil
	}), wire.ServerConfig{}, wire.ClientOptions{})
	var all sync.WaitGroup
	for range calls {
		all.Go(func() {
			if _, err := c.Evaluate(t.Context(), wire.Config{}, one(`1`)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if most.Load() != parallel {
		t.Errorf("%d calls ran at a time, want %d", most.Load(), parallel)
	}
}

func TestOversizedMessagesFailTheirCallOnly(t *testing.T) {
	const limit = 64 << 10
	c := connect(t, evaluator(1, func(_ context.Context, r *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
		res := passed()
		if string(r.Output) == `"big"` {
			res.Verdict.Feedback = strings.Repeat("x", limit)
		}
		return res, nil
	}), wire.ServerConfig{MessageBytes: limit}, wire.ClientOptions{Plugin: "probe", MessageBytes: limit})
	for name, output := range map[string]string{
		"request":  `"` + strings.Repeat("x", limit) + `"`,
		"response": `"big"`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.Evaluate(t.Context(), wire.Config{}, one(output))
			wantError(t, err, sdk.Exhausted, "message_too_large")
			if e := sdk.AsError(err); e.Hint == "" || !strings.Contains(e.Message, fmt.Sprint(limit)) {
				t.Errorf("the error doesn't help: %q %q", e.Message, e.Hint)
			}
			wantAlive(t, c)
		})
	}
	if _, err := c.Evaluate(t.Context(), wire.Config{}, one(`1`)); err != nil {
		t.Error(err)
	}
}

func TestTextThatIsNoUTF8IsRepairedBySender(t *testing.T) {
	c := connect(t, evaluator(1, func(context.Context, *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
		return &sdk.EvaluateResponse{Verdict: sdk.Verdict{Feedback: "a\xffb"}}, nil
	}), wire.ServerConfig{}, wire.ClientOptions{})
	results, err := c.Evaluate(t.Context(), wire.Config{}, []*sdk.EvaluateRequest{{Call: sdk.Call{Node: "\xff"}, Output: json.RawMessage(`1`)}})
	if err != nil {
		t.Fatal(err)
	}
	if got := results[0].Response.Verdict.Feedback; got != "a\uFFFDb" {
		t.Errorf("feedback %q", got)
	}
}

func TestCallsAfterCloseSayThatTheConnectionIsGone(t *testing.T) {
	c := connect(t, mirror(), wire.ServerConfig{}, wire.ClientOptions{})
	if err := errors.Join(c.Close(), c.Close()); err != nil {
		t.Fatal(err)
	}
	_, err := c.Evaluate(t.Context(), wire.Config{}, one(`1`))
	wantError(t, err, sdk.Unavailable, "connection_lost")
	if !errors.Is(err, wire.ErrLost) || c.Err() != nil {
		t.Errorf("err %v, Err() %v", err, c.Err())
	}
}

func TestGoPluginGlueGivesAClient(t *testing.T) {
	var glue goplugin.GRPCPlugin = &wire.Plugin{Call: wire.ClientOptions{Plugin: "mirror"}}
	got, err := glue.GRPCClient(t.Context(), nil, dial(t, wire.NewServer(mirror(), wire.ServerConfig{}), 0))
	if err != nil {
		t.Fatal(err)
	}
	c := got.(*wire.Client)
	defer c.Close()
	if c.Manifest().Name != "mirror" {
		t.Errorf("manifest %+v", c.Manifest())
	}
}
