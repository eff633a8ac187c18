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

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/wire"
)

// counting is a plugin that counts how often it prepares.
func counting(n *atomic.Int32, prepare func(config string) error) sdk.Plugin {
	p := evaluator(8, nil)
	p.Evaluator = func(_ context.Context, config json.RawMessage) (sdk.Evaluator, error) {
		n.Add(1)
		if prepare != nil {
			if err := prepare(string(config)); err != nil {
				return nil, err
			}
		}
		return sdk.EvaluatorFunc(func(context.Context, *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
			return &sdk.EvaluateResponse{Verdict: sdk.Verdict{Feedback: string(config)}}, nil
		}), nil
	}
	return p
}

func config(i int) wire.Config {
	return wire.Config{JSON: json.RawMessage(fmt.Sprintf(`{"n":%d}`, i)), Digest: fmt.Sprint("digest-", i)}
}

func wantConfig(t *testing.T, c *wire.Client, i int) {
	t.Helper()
	results, err := c.Evaluate(t.Context(), config(i), one(`1`))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := results[0].Response.Verdict.Feedback, string(config(i).JSON); got != want {
		t.Errorf("config %s was used, want %s", got, want)
	}
}

func TestConfigIsPreparedOnceHoweverManyAsk(t *testing.T) {
	var n atomic.Int32
	c := connect(t, counting(&n, nil), wire.ServerConfig{}, wire.ClientOptions{})
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { wantConfig(t, c, 1) })
	}
	all.Wait()
	if n.Load() != 1 {
		t.Errorf("prepared %d times", n.Load())
	}
}

func TestOldConfigsAreForgotten(t *testing.T) {
	var n atomic.Int32
	c := connect(t, counting(&n, nil), wire.ServerConfig{}, wire.ClientOptions{})
	const configs = 2 * wire.MaxPrepared
	for range 2 {
		for i := range configs {
			wantConfig(t, c, i)
		}
	}
	if n.Load() != 2*configs {
		t.Errorf("prepared %d times, want %d", n.Load(), 2*configs)
	}
}

// TestPrepared_ConfigsAreBoundedTogether: as many bytes as one message may have are kept, and the newest in any
// case.
func TestPrepared_ConfigsAreBoundedTogether(t *testing.T) {
	var n atomic.Int32
	c := connect(t, counting(&n, nil), wire.ServerConfig{MessageBytes: 1 << 20}, wire.ClientOptions{MessageBytes: 1 << 20})
	use := func(digest string, size int, prepared int32) {
		t.Helper()
		config := wire.Config{JSON: json.RawMessage(`{"text":"` + strings.Repeat("x", size) + `"}`), Digest: digest}
		if err := c.Prepare(t.Context(), sdk.KindEvaluator, config); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Evaluate(t.Context(), config, one(`1`)); err != nil {
			t.Fatal(err)
		}
		if n.Load() != prepared {
			t.Errorf("after %s %d were prepared, want %d", digest, n.Load(), prepared)
		}
	}
	use("small", 10, 1)
	use("half", 500_000, 2)
	use("another half", 500_000, 3)
	use("small", 10, 3)
	use("half", 500_000, 3)
	use("most", 900_000, 4) // only this one is kept
	use("most", 900_000, 4)
	use("half", 500_000, 5)
	use("small", 10, 6)
}

func TestFailedPrepareIsTriedAgain(t *testing.T) {
	var n atomic.Int32
	c := connect(t, counting(&n, func(string) error {
		if n.Load() == 1 {
			return errors.New("the schema is broken")
		}
		return nil
	}), wire.ServerConfig{}, wire.ClientOptions{})
	err := c.Prepare(t.Context(), sdk.KindEvaluator, config(1))
	wantError(t, err, sdk.Invalid, "config_invalid")
	if err.Error() != "the schema is broken" {
		t.Errorf("message %q", err)
	}
	if err := c.Prepare(t.Context(), sdk.KindEvaluator, config(1)); err != nil {
		t.Error(err)
	}
}

func TestACallersEndDoesNotFailOthersThatWaitForTheSameConfig(t *testing.T) {
	began := make(chan struct{}, 8)
	p := evaluator(8, nil)
	p.Evaluator = func(ctx context.Context, _ json.RawMessage) (sdk.Evaluator, error) {
		select {
		case began <- struct{}{}:
		default:
		}
		if _, ok := ctx.Deadline(); ok { // the one that is to be cancelled
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return sdk.EvaluatorFunc(func(context.Context, *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
			return passed(), nil
		}), nil
	}
	c := connect(t, p, wire.ServerConfig{}, wire.ClientOptions{})
	ctx, cancel := context.WithTimeout(t.Context(), 1<<40)
	var first sync.WaitGroup
	first.Go(func() { _ = c.Prepare(ctx, sdk.KindEvaluator, config(1)) })
	<-began
	second := make(chan error, 1)
	go func() { second <- c.Prepare(t.Context(), sdk.KindEvaluator, config(1)) }()
	cancel()
	first.Wait()
	if err := <-second; err != nil {
		t.Error(err)
	}
}

func TestPrepareOfAnotherKindSaysWhatThePluginIs(t *testing.T) {
	c := connect(t, evaluator(1, nil), wire.ServerConfig{}, wire.ClientOptions{})
	err := c.Prepare(t.Context(), sdk.KindGenerator, wire.Config{})
	wantError(t, err, sdk.Invalid, "kind_unsupported")
	if hint := sdk.AsError(err).Hint; hint != "the plugin says: its kinds are: evaluator" {
		t.Errorf("hint %q", hint)
	}
}

func TestPanicInPrepareIsAnError(t *testing.T) {
	p := evaluator(1, nil)
	p.Evaluator = func(context.Context, json.RawMessage) (sdk.Evaluator, error) { panic("bad compiler") }
	c := connect(t, p, wire.ServerConfig{}, wire.ClientOptions{})
	wantError(t, c.Prepare(t.Context(), sdk.KindEvaluator, wire.Config{}), sdk.Internal, "plugin_panic")
	wantAlive(t, c)
}
