package wasm_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/wasm"
	"github.com/reflectory/reflectory/sdk"
)

// unmetered is the C guest with an export that the instrumenter reserves, so that
// it runs under the engine's own checks.
func unmetered(t *testing.T) string {
	t.Helper()
	module, err := os.ReadFile(cGuest)
	if err != nil {
		t.Fatal(err)
	}
	path := moduleFile(t, []byte(strings.Replace(string(module), "reserved_export", "reflectory:fuel", 1)))
	info, err := wasm.Inspect(t.Context(), plugin.Installed{Path: path})
	if err != nil || info.Metered || !strings.Contains(info.Unmetered, "reserved") {
		t.Fatalf("%+v %v", info, err)
	}
	return path
}

func TestAnUnmeteredGuestRunsWithDeadlines(t *testing.T) {
	i := start(t, newDriver(t, wasm.Options{}), plugin.Installed{Path: unmetered(t)})
	r, err := evaluate(i, do("work"), `1`)
	if err != nil || r.Verdict.Feedback != "300000" || r.Metadata[wasm.MetadataFuel] != "" {
		t.Fatalf("%+v %v", r, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := evaluateWith(ctx, i, do("loop"), `1`); sdk.ReasonOf(err) != "call_timeout" || !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if got := feedback(t, i, do("count")); got != "1" {
		t.Error(got)
	}
	if _, err := evaluate(i, do("trap"), `1`); sdk.ReasonOf(err) != "plugin_exited" || !strings.Contains(err.Error(), "unreachable") {
		t.Error(err)
	}
}

func TestAnUnmeteredGuestCanBeKilled(t *testing.T) {
	i := start(t, newDriver(t, wasm.Options{}), plugin.Installed{Path: unmetered(t)})
	if err := i.Prepare(t.Context(), sdk.KindEvaluator, do("loop")); err != nil {
		t.Fatal(err)
	}
	failed := make(chan error)
	go func() {
		_, err := evaluate(i, do("loop"), `1`)
		failed <- err
	}()
	i.Kill(sdk.Errorf(sdk.Timeout, "plugin_timeout", "enough"))
	if err := <-failed; sdk.ReasonOf(err) != "plugin_exited" {
		t.Error(err)
	}
}

// The supervisor starts another instance after a trap, and kills one that is
// past its deadline.
func TestASupervisorRunsModules(t *testing.T) {
	d := newDriver(t, wasm.Options{})
	s := plugin.NewSupervisor(plugin.Options{
		Driver:    plugin.Drivers{plugin.RuntimeWASM: d},
		Installed: []plugin.Installed{{Name: "guest", Runtime: plugin.RuntimeWASM, Path: cGuest, Limits: plugin.Limits{Fuel: 1 << 60}}},
	})
	defer s.Close()
	call := func(what string, timeout time.Duration) error {
		target := core.Target{Plugin: "guest", Config: do(what).JSON, Timeout: timeout}
		results, err := s.Evaluate(t.Context(), target, []*sdk.EvaluateRequest{{Output: []byte(`1`)}})
		if err == nil {
			err = results[0].Err
		}
		return err
	}
	for _, tt := range []struct {
		do, reason string
		timeout    time.Duration
	}{
		{"ok", "", 0},
		{"loop", "plugin_timeout", 50 * time.Millisecond},
		{"ok", "", 0},
		{"trap", "plugin_exited", 0},
		{"ok", "", 0},
		{"nan", "response_invalid", 0},
	} {
		if err := call(tt.do, tt.timeout); sdk.ReasonOf(err) != tt.reason {
			t.Errorf("%s: %v", tt.do, err)
		}
	}
}
