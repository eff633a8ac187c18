package wire_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/check"
	"github.com/reflectory/reflectory/sdk/wire"
)

// asking is a plugin whose evaluator asks the host something first.
func asking(ask func(ctx context.Context) error) sdk.Plugin {
	return evaluator(1, func(ctx context.Context, _ *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
		if err := ask(ctx); err != nil {
			return nil, err
		}
		return passed(), nil
	})
}

func evaluateOnce(ctx context.Context, c *wire.Client) error {
	results, err := c.Evaluate(ctx, wire.Config{}, []*sdk.EvaluateRequest{{Call: call, Output: json.RawMessage(`1`)}})
	if err != nil {
		return err
	}
	return results[0].Err
}

func TestThePluginsQuestionReachesTheHost(t *testing.T) {
	var asked wire.HostCall
	p := asking(func(ctx context.Context) error {
		if got := sdk.CallFrom(ctx); got != call {
			return errors.New("the context is not the call's")
		}
		r, err := sdk.Complete(ctx, &sdk.LLMRequest{Prompt: "how many?"})
		if err == nil && (r.Text() != "three" || r.Usage.TokensIn != 4) {
			return errors.New("another answer: " + r.Text())
		}
		return err
	})
	c := connect(t, p, wire.ServerConfig{}, wire.ClientOptions{Host: func(_ context.Context, c wire.HostCall) (json.RawMessage, error) {
		asked = c
		return json.RawMessage(`{"output":"three","usage":{"tokens_in":4}}`), nil
	}})
	if err := evaluateOnce(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if asked.RunID != call.RunID || asked.Service != sdk.ServiceLLM || string(asked.Body) != `{"prompt":"how many?"}` {
		t.Errorf("the host was asked %+v", asked)
	}
}

func TestTheHostsErrorsKeepTheirIdentity(t *testing.T) {
	sent := &sdk.Error{Code: sdk.Denied, Reason: "capability_missing", Message: "not granted", Hint: "grant it", Details: map[string]any{"n": 1.0}}
	tests := map[string]struct {
		host wire.HostFunc
		ask  func(ctx context.Context) error
		code sdk.Code
		want string
	}{
		"an error of a service": {
			func(context.Context, wire.HostCall) (json.RawMessage, error) { return nil, sent },
			func(ctx context.Context) error { return sdk.Log(ctx, &sdk.LogRequest{Message: "m"}) },
			sdk.Denied, "capability_missing",
		},
		"a host without services": {
			nil, func(ctx context.Context) error { return sdk.CachePut(ctx, "k", json.RawMessage(`1`)) },
			sdk.Denied, "capability_missing",
		},
		"a question too large": {
			nil, func(ctx context.Context) error {
				return sdk.CachePut(ctx, "k", json.RawMessage(`"`+strings.Repeat("x", check.MaxHostBytes)+`"`))
			},
			sdk.Exhausted, "message_too_large",
		},
		"a name too long": {
			nil, func(ctx context.Context) error {
				_, err := sdk.HostFrom(ctx).Ask(ctx, sdk.Service(strings.Repeat("x", 3<<20)), json.RawMessage(`{}`))
				return err
			},
			sdk.Invalid, "service_unknown",
		},
		"an answer too large": {
			func(context.Context, wire.HostCall) (json.RawMessage, error) {
				return json.RawMessage(`"` + strings.Repeat("x", 2<<20) + `"`), nil
			},
			func(ctx context.Context) error { _, err := sdk.Recall(ctx, &sdk.RecallRequest{}); return err },
			sdk.Exhausted, "message_too_large",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := connect(t, asking(tt.ask), wire.ServerConfig{}, wire.ClientOptions{Host: tt.host, MessageBytes: 2 << 20})
			err := evaluateOnce(t.Context(), c)
			wantError(t, err, tt.code, tt.want)
			if sdk.AsError(err).Hint == "" {
				t.Error("no hint")
			}
			wantAlive(t, c)
		})
	}
}

func TestTheHostIsNotAskedAfterTheCall(t *testing.T) {
	kept := make(chan context.Context, 1)
	var served atomic.Int32
	c := connect(t, asking(func(ctx context.Context) error { kept <- ctx; return nil }), wire.ServerConfig{},
		wire.ClientOptions{Host: func(context.Context, wire.HostCall) (json.RawMessage, error) { served.Add(1); return nil, nil }})
	if err := evaluateOnce(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	// The call's context has ended, so asking at all needs another context.
	err := sdk.Log(context.WithoutCancel(<-kept), &sdk.LogRequest{Message: "late"})
	wantError(t, err, sdk.Invalid, "call_ended")
	if served.Load() != 0 {
		t.Error("the host was asked")
	}
}

func TestAnswersThatNobodyWaitsForAreGivenUp(t *testing.T) {
	tests := map[string]struct {
		// ask asks with the plugin's own context; begun is closed once the host serves
		// the question.
		ask func(ctx context.Context, begun <-chan struct{}) error
		end func(cancel func())
	}{
		"the plugin gives up": {
			ask: func(ctx context.Context, begun <-chan struct{}) error {
				own, cancel := context.WithCancel(ctx)
				go func() { <-begun; cancel() }()
				if err := sdk.Log(own, &sdk.LogRequest{}); sdk.CodeOf(err) != sdk.Cancelled {
					return errors.New("not cancelled")
				}
				return nil
			},
		},
		"the plugin answers meanwhile": {
			ask: func(ctx context.Context, begun <-chan struct{}) error {
				go func() { _ = sdk.Log(ctx, &sdk.LogRequest{}) }()
				<-begun
				return nil
			},
		},
		"the caller gives up": {
			ask: func(ctx context.Context, _ <-chan struct{}) error { return sdk.Log(ctx, &sdk.LogRequest{}) },
			end: func(cancel func()) { cancel() },
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			begun, ended := make(chan struct{}), make(chan struct{})
			c := connect(t, asking(func(ctx context.Context) error { return tt.ask(ctx, begun) }), wire.ServerConfig{},
				wire.ClientOptions{Host: func(ctx context.Context, _ wire.HostCall) (json.RawMessage, error) {
					close(begun)
					<-ctx.Done()
					close(ended)
					return nil, ctx.Err()
				}})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var all sync.WaitGroup
			if tt.end != nil {
				all.Go(func() { <-begun; tt.end(cancel) })
			}
			err := evaluateOnce(ctx, c)
			if cancelled := sdk.CodeOf(err) == sdk.Cancelled; cancelled != (tt.end != nil) {
				t.Errorf("got %v", err)
			}
			<-ended
			all.Wait()
			wantAlive(t, c)
		})
	}
}

func TestManyQuestionsTakeTurns(t *testing.T) {
	const questions = 50
	var open, most, served atomic.Int32
	p := asking(func(ctx context.Context) error {
		errs := make([]error, questions)
		var all sync.WaitGroup
		for i := range questions {
			all.Go(func() { errs[i] = sdk.Log(ctx, &sdk.LogRequest{Message: "m"}) })
		}
		all.Wait()
		return errors.Join(errs...)
	})
	c := connect(t, p, wire.ServerConfig{}, wire.ClientOptions{Host: func(context.Context, wire.HostCall) (json.RawMessage, error) {
		n := open.Add(1)
		defer open.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		served.Add(1)
		return nil, nil
	}})
	if err := evaluateOnce(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if served.Load() != questions || most.Load() > check.MaxHostOpen {
		t.Errorf("%d served, %d at a time", served.Load(), most.Load())
	}
}

// A plugin whose messages are limited below a question's size must not send a message
// that ends the stream.
func TestAQuestionFitsIntoAMessage(t *testing.T) {
	const limit = 64 << 10
	for size, want := range map[int]string{limit - 2<<10: "", limit: "message_too_large"} {
		c := connect(t, asking(func(ctx context.Context) error {
			return sdk.CachePut(ctx, "k", json.RawMessage(`"`+strings.Repeat("x", size)+`"`))
		}), wire.ServerConfig{MessageBytes: limit}, wire.ClientOptions{
			MessageBytes: limit, Host: func(context.Context, wire.HostCall) (json.RawMessage, error) { return nil, nil },
		})
		if err := evaluateOnce(t.Context(), c); sdk.ReasonOf(err) != want {
			t.Errorf("%d bytes: %v", size, err)
		}
		wantAlive(t, c)
	}
}
