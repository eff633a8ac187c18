package wasm_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/wasm"
	"github.com/reflectory/reflectory/sdk"
)

const (
	cGuest   = modules + "/guest.wasm"
	cTable   = modules + "/table.wasm"
	cCommand = modules + "/command.wasm"
)

// hostile are the things that a guest does, with what its caller gets: a reason,
// and whether the instance outlives it.
var hostile = []struct {
	do, reason string
	code       sdk.Code
	lives      bool
}{
	{"pointer", "response_invalid", sdk.Invalid, true},
	{"length", "message_too_large", sdk.Exhausted, true},
	{"negative", "message_too_large", sdk.Exhausted, true},
	{"nothing", "response_invalid", sdk.Invalid, true},
	{"loop", "fuel_exhausted", sdk.Exhausted, false},
	{"recurse", "plugin_exited", sdk.Unavailable, false},
	{"trap", "plugin_exited", sdk.Unavailable, false},
	{"bomb", "plugin_exited", sdk.Unavailable, false},
	{"alloctrap", "plugin_exited", sdk.Unavailable, false},
	{"allocnull", "guest_memory_exhausted", sdk.Exhausted, true},
	{"allocfar", "response_invalid", sdk.Invalid, true},
	{"allocenter", "response_invalid", sdk.Invalid, true},
	{"nan", "response_invalid", sdk.Invalid, true},
	{"infinite", "response_invalid", sdk.Invalid, true},
	{"truncated", "response_invalid", sdk.Invalid, true},
	{"utf8", "response_invalid", sdk.Invalid, true},
	{"deep", "response_invalid", sdk.Invalid, true},
	{"none", "response_invalid", sdk.Invalid, true},
	{"blank", "response_invalid", sdk.Invalid, true},
	{"garbage", "response_invalid", sdk.Invalid, true},
	{"logfar", "response_invalid", sdk.Invalid, true},
	{"badcode", "internal", sdk.Internal, true},
	{"itemerror", "upstream_down", sdk.Unavailable, true},
	{"refuse", "config_invalid", sdk.Invalid, true},
	{"forget", "config_unknown", sdk.NotFound, true},
}

func TestHostileGuestsFailTheirCallsOnly(t *testing.T) {
	d := newDriver(t, wasm.Options{})
	for _, tt := range hostile {
		for _, mode := range []plugin.Installed{{}, {Isolated: true}, {Stateful: true}} {
			mode.Path, mode.Limits.Fuel = cGuest, 200_000_000
			i := start(t, d, mode)
			_, err := evaluate(i, do(tt.do), `"x"`)
			if sdk.ReasonOf(err) != tt.reason || sdk.CodeOf(err) != tt.code {
				t.Errorf("%s: %s %s: %v", tt.do, sdk.CodeOf(err), sdk.ReasonOf(err), err)
				continue
			}
			if !tt.lives {
				wantGone(t, i, tt.reason)
				continue
			}
			if mode.Stateful && strings.HasPrefix(tt.do, "alloc") {
				continue // it stays as it is
			}
			if r, err := evaluate(i, do("ok"), `"x"`); err != nil || r.Verdict.Score != 0.5 {
				t.Errorf("after %s: %v %v", tt.do, r, err)
			}
		}
	}
}

// wantGone checks an instance that ended of itself.
func wantGone(t *testing.T, i plugin.Instance, reason string) {
	t.Helper()
	select {
	case <-i.Done():
	default:
		t.Fatal("the instance isn't gone")
	}
	if got := sdk.ReasonOf(i.Cause()); got != reason || sdk.AsError(i.Cause()).Hint == "" {
		t.Errorf("cause %s: %+v", got, i.Cause())
	}
	if _, err := evaluate(i, do("ok"), `1`); sdk.ReasonOf(err) != "plugin_exited" {
		t.Errorf("a call afterwards: %v", err)
	}
}

func TestScoresAreBroughtIntoRange(t *testing.T) {
	i := start(t, newDriver(t, wasm.Options{}), plugin.Installed{Path: cGuest})
	for what, want := range map[string]float64{"negscore": 0, "seven": 1, "ok": 0.5} {
		if r, err := evaluate(i, do(what), `1`); err != nil || r.Verdict.Score != want {
			t.Errorf("%s: %v %v", what, r, err)
		}
	}
}

func TestATrapNamesThePluginAndItsCause(t *testing.T) {
	d := newDriver(t, wasm.Options{})
	for what, want := range map[string]string{"trap": "trapped: unreachable", "recurse": "trapped: stack overflow"} {
		_, err := evaluate(start(t, d, plugin.Installed{Path: cGuest}), do(what), `1`)
		if err == nil || !strings.Contains(err.Error(), "plugin guest "+want) {
			t.Error(err)
		}
	}
	i := start(t, d, plugin.Installed{Path: cCommand})
	_, err := evaluate(i, do("exit"), `1`)
	if err == nil || !strings.Contains(err.Error(), "exited with code 3; it wrote: no more") {
		t.Error(err)
	}
	wantGone(t, i, "plugin_exited")
}

func TestAResponseMayNotExceedTheLimit(t *testing.T) {
	p := plugin.Installed{Path: cCommand, Limits: plugin.Limits{MessageBytes: 1000}}
	i := start(t, newDriver(t, wasm.Options{}), p)
	_, err := evaluate(i, do("ok"), `"`+strings.Repeat("x", 2000)+`"`)
	if sdk.ReasonOf(err) != "message_too_large" || !strings.Contains(err.Error(), "request") {
		t.Errorf("request: %v", err)
	}
	p.Limits.MessageBytes = 1 << 20
	p.Limits.Fuel = 1e9
	i = start(t, newDriver(t, wasm.Options{}), p)
	if _, err := evaluate(i, do("huge"), `1`); err == nil || sdk.CodeOf(err) != sdk.Exhausted {
		t.Errorf("response: %v", err)
	}
}

func TestADeadlineEndsAnEndlessCall(t *testing.T) {
	d := newDriver(t, wasm.Options{})
	i := start(t, d, plugin.Installed{Path: cGuest, Limits: plugin.Limits{Fuel: 1 << 60}})
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err := evaluateWith(ctx, i, do("loop"), `1`)
	if sdk.ReasonOf(err) != "call_timeout" || !errors.Is(err, context.DeadlineExceeded) || ctx.Err() == nil {
		t.Error(err)
	}
	ctx, cancel = context.WithCancel(context.Background())
	time.AfterFunc(20*time.Millisecond, cancel)
	if _, err := evaluateWith(ctx, i, do("loop"), `1`); sdk.CodeOf(err) != sdk.Cancelled || !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := evaluate(i, do("ok"), `1`); err != nil {
		t.Errorf("the next call: %v", err)
	}
}

func TestKillEndsACallAndNoOther(t *testing.T) {
	d := newDriver(t, wasm.Options{})
	p := plugin.Installed{Path: cGuest, Limits: plugin.Limits{Fuel: 1 << 60}}
	i, other := start(t, d, p), start(t, d, p)
	if err := i.Prepare(context.Background(), sdk.KindEvaluator, do("loop")); err != nil {
		t.Fatal(err)
	}
	failed := make(chan error)
	go func() {
		_, err := evaluate(i, do("loop"), `1`)
		failed <- err
	}()
	if _, err := evaluate(other, do("ok"), `1`); err != nil {
		t.Error(err)
	}
	i.Kill(sdk.Errorf(sdk.Timeout, "plugin_timeout", "enough"))
	if err := <-failed; sdk.ReasonOf(err) != "plugin_exited" || !strings.Contains(err.Error(), "enough") {
		t.Error(err)
	}
	if sdk.ReasonOf(i.Cause()) != "plugin_timeout" {
		t.Error(i.Cause())
	}
	if _, err := evaluate(other, do("ok"), `1`); err != nil {
		t.Error(err)
	}
}

func TestCloseIsIdempotentAndHasNoCause(t *testing.T) {
	i := start(t, newDriver(t, wasm.Options{}), plugin.Installed{Path: cGuest})
	for range 2 {
		if err := i.Close(); err != nil {
			t.Error(err)
		}
	}
	<-i.Done()
	if i.Cause() != nil {
		t.Error(i.Cause())
	}
	i.Kill(errors.New("late"))
	if _, err := evaluate(i, do("ok"), `1`); sdk.ReasonOf(err) != "plugin_exited" {
		t.Error(err)
	}
}

func TestABadModuleIsRefusedWithItsReason(t *testing.T) {
	good, err := os.ReadFile(cGuest)
	if err != nil {
		t.Fatal(err)
	}
	without := func(name string) []byte {
		return []byte(strings.Replace(string(good), name, strings.Repeat("x", len(name)), 1))
	}
	for name, tt := range map[string]struct {
		module       []byte
		reason, text string
	}{
		"empty":          {nil, "module_invalid", "no valid WASM"},
		"cut short":      {good[:len(good)/2], "module_invalid", "no valid WASM"},
		"no alloc":       {without("reflectory_alloc"), "exports_invalid", "reflectory_alloc(i32) → (i32) is missing"},
		"no memory":      {without("memory"), "exports_invalid", "the memory memory is missing"},
		"ill-typed call": {swap(good, "reflectory_call", "reflectory_alloc"), "exports_invalid", "reflectory_call is (i32) → (i32), and has to be (i32, i32, i32) → (i64)"},
		"no plugin":      {[]byte("\x00asm\x01\x00\x00\x00"), "exports_invalid", "neither reflectory_call"},
		"foreign import": {[]byte(strings.Replace(string(good), "reflectory:host", "reflectory:gone", 1)), "import_unsupported", "reflectory:gone."},
	} {
		path := moduleFile(t, tt.module)
		_, err := wasm.Inspect(t.Context(), plugin.Installed{Path: path})
		if sdk.ReasonOf(err) != tt.reason || !strings.Contains(err.Error(), tt.text) || sdk.AsError(err).Hint == "" {
			t.Errorf("%s: %s: %v", name, sdk.ReasonOf(err), err)
		}
		_, err = newDriver(t, wasm.Options{}).Start(context.Background(), plugin.Installed{Name: "guest", Path: path})
		if sdk.ReasonOf(err) != tt.reason || !strings.Contains(err.Error(), "guest") {
			t.Errorf("%s: start: %v", name, err)
		}
	}
}

// moduleFile writes a module to a file.
// A module that only the host's own rewriting would make valid is refused: this one sets
// a global that it doesn't have, and that its fuel would be in.
func TestAModuleCannotReachItsFuel(t *testing.T) {
	const module = "\x00asm\x01\x00\x00\x00" +
		"\x01\x04\x01\x60\x00\x00" + "\x03\x02\x01\x00" + "\x05\x03\x01\x00\x01" + // a function and a memory
		"\x07\x13\x02\x06_start\x00\x00\x06memory\x02\x00" +
		"\x0a\x08\x01\x06\x00\x42\x01\x24\x00\x0b" // i64.const 1, global.set 0
	d := newDriver(t, wasm.Options{})
	_, err := d.Compile(t.Context(), plugin.Installed{Name: "acme/refills", Path: moduleFile(t, []byte(module))})
	if sdk.ReasonOf(err) != "module_invalid" {
		t.Errorf("%v", err)
	}
	harmless := strings.Replace(module, "\x42\x01\x24\x00", "\x42\x01\x1a\x01", 1) // drop, nop
	if _, err := d.Compile(t.Context(), plugin.Installed{Name: "acme/refills", Path: moduleFile(t, []byte(harmless))}); err != nil {
		t.Errorf("without that: %v", err)
	}
}

func moduleFile(t testing.TB, module []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plugin.wasm")
	if err := os.WriteFile(path, module, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// swap exchanges two names of equal length class in a module by renaming both.
func swap(module []byte, a, b string) []byte {
	text := string(module)
	i, j := strings.Index(text, a), strings.Index(text, b)
	// Each name stands behind its length and before its kind and index.
	ka, kb := i+len(a), j+len(b)
	out := []byte(text)
	out[ka+1], out[kb+1] = out[kb+1], out[ka+1]
	return out
}

func TestAChangedModuleIsRefused(t *testing.T) {
	_, err := newDriver(t, wasm.Options{}).Start(context.Background(), plugin.Installed{Name: "guest", Path: cGuest, Digest: strings.Repeat("0", 64)})
	if sdk.ReasonOf(err) != "checksum_mismatch" || sdk.AsError(err).Details["want"] == nil {
		t.Error(err)
	}
	_, err = newDriver(t, wasm.Options{}).Start(context.Background(), plugin.Installed{Name: "guest", Path: "testdata/none.wasm"})
	if sdk.ReasonOf(err) != "module_unreadable" {
		t.Error(err)
	}
}

func TestInspectSaysWhatAModuleIs(t *testing.T) {
	for path, want := range map[string]wasm.Info{
		cGuest:   {Kind: wasm.KindReactor, Metered: true, Restorable: true, Services: true},
		cTable:   {Kind: wasm.KindReactor, Metered: true, Restorable: false},
		cCommand: {Kind: wasm.KindCommand, Metered: true, Restorable: true},
	} {
		info, err := wasm.Inspect(t.Context(), plugin.Installed{Path: path})
		if err != nil || info.Kind != want.Kind || info.Metered != want.Metered || info.Restorable != want.Restorable || info.Services != want.Services {
			b, _ := json.Marshal(info)
			t.Errorf("%s: %s %v", path, b, err)
		}
		if !info.Restorable && !strings.Contains(info.Unrestorable, "table") {
			t.Error(info.Unrestorable)
		}
	}
}

func TestImpureIsWhatKeepsStateOrReachesOut(t *testing.T) {
	for want, p := range map[string]plugin.Installed{
		"":                                     {Env: []string{"A=1"}},
		"it keeps its state from call to call": {Stateful: true},
		"it may reach the network":             {Granted: plugin.Capabilities{Network: []string{"example.org:443"}}},
		"it may ask the host":                  {Granted: plugin.Capabilities{Host: []plugin.Service{"log"}}},
	} {
		if got := wasm.Impure(p); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
