package wasm_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/wasm"
	"github.com/reflectory/reflectory/sdk"
)

// starting returns the modules that do something at their start: a command, a
// reactor whose toolchain's initialisation does it, and one whose start function
// does, which runs while the module is instantiated.
func starting(t *testing.T, how string) map[string]string {
	t.Helper()
	dir, paths := t.TempDir(), map[string]string{}
	for name, file := range map[string]string{"command": "start-command.wasm", "initialize": "start.wasm", "start section": "start.wasm"} {
		module, err := os.ReadFile(filepath.Join(modules, file))
		if err != nil {
			t.Fatal(err)
		}
		module = bytes.Replace(module, []byte("at start: serve "), fmt.Appendf(nil, "at start: %-6s", how), 1)
		if name == "start section" {
			module = startedBy(t, module, "_initialize")
		}
		paths[name] = filepath.Join(dir, name+".wasm")
		if err := os.WriteFile(paths[name], module, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return paths
}

// startedBy makes an exported function a module's start function: the start
// section, of id 8, follows the exports, of id 7.
func startedBy(t *testing.T, module []byte, export string) []byte {
	t.Helper()
	at := bytes.Index(module, append([]byte{byte(len(export))}, export...)) + 1 + len(export) + 1
	index := module[at]
	for at = 8; at < len(module); {
		id := module[at]
		size, n := binary.Uvarint(module[at+1:])
		at += 1 + n + int(size)
		if id == 7 {
			return bytes.Join([][]byte{module[:at], {8, 1, index}, module[at:]}, nil)
		}
	}
	t.Fatal("it exports nothing")
	return nil
}

func TestAHostileStartIsExplained(t *testing.T) {
	d := newDriver(t, wasm.Options{})
	for how, tt := range map[string]struct {
		reason, says string
		code         sdk.Code
		fuel         uint64
	}{
		"hang":  {"fuel_exhausted", "used up its 20000000 units", sdk.Exhausted, 20_000_000},
		"fib":   {"fuel_exhausted", "used up its 20000000 units", sdk.Exhausted, 20_000_000},
		"trap":  {"plugin_exited", "trapped: unreachable", sdk.Unavailable, 20_000_000},
		"bomb":  {"plugin_exited", "trapped: unreachable", sdk.Unavailable, 20_000_000},
		"exit":  {"plugin_exited", "exited with code 3; it wrote: no licence found", sdk.Unavailable, 20_000_000},
		"flood": {"fuel_exhausted", "used up its 1000000 units", sdk.Exhausted, 1_000_000}, // most of it is time in the host
	} {
		for kind, path := range starting(t, how) {
			i, err := d.Start(t.Context(), plugin.Installed{
				Name: "acme/guest", Runtime: plugin.RuntimeWASM, Path: path, Limits: plugin.Limits{Fuel: tt.fuel, StartTimeout: time.Minute},
			})
			if err == nil {
				i.Kill(nil)
			}
			if sdk.ReasonOf(err) != tt.reason || sdk.CodeOf(err) != tt.code || !strings.Contains(err.Error(), tt.says) ||
				!strings.Contains(err.Error(), "acme/guest") || sdk.AsError(err).Hint == "" {
				t.Errorf("%s by %s: %s %s: %v", how, kind, sdk.CodeOf(err), sdk.ReasonOf(err), err)
			}
		}
	}
}

func TestAStartThatHangsEndsAtItsDeadline(t *testing.T) {
	d := newDriver(t, wasm.Options{})
	for kind, path := range starting(t, "hang") {
		p := plugin.Installed{Name: "guest", Path: path, Limits: plugin.Limits{Fuel: 1 << 60, StartTimeout: 50 * time.Millisecond}}
		if _, err := d.Compile(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		i, err := d.Start(t.Context(), p)
		if err == nil {
			i.Kill(nil)
		}
		if sdk.CodeOf(err) != sdk.Timeout || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "plugin guest") {
			t.Errorf("%s: %s %v", kind, sdk.ReasonOf(err), err)
		}
	}
}

// What a reactor prints is its log, and what a command prints its answer.
func TestGarbageAtTheStart(t *testing.T) {
	var logged []string
	d := newDriver(t, wasm.Options{Log: func(l plugin.LogLine) { logged = append(logged, l.Message) }})
	for kind, path := range starting(t, "noise") {
		i, err := d.Start(t.Context(), plugin.Installed{Name: "guest", Path: path})
		if kind != "command" {
			if err != nil {
				t.Errorf("%s: %v", kind, err)
				continue
			}
			if err := i.Close(); err != nil {
				t.Error(err)
			}
			continue
		}
		if sdk.ReasonOf(err) != "response_invalid" || !strings.Contains(err.Error(), "plugin guest") {
			t.Errorf("%s: %s %v", kind, sdk.ReasonOf(err), err)
		}
	}
	if len(logged) == 0 || logged[0] != "hello, I am a plugin" {
		t.Errorf("logged %q", logged)
	}
}

func TestAGuestFindsNothingByItsSystemCalls(t *testing.T) {
	t.Setenv("SECRET", "s3cret")
	d := newDriver(t, wasm.Options{})
	for kind, path := range starting(t, "pry") {
		start(t, d, plugin.Installed{Path: path})
		granted := plugin.Installed{Name: "guest", Path: path, Env: []string{"SECRET=granted"}}
		if _, err := d.Start(t.Context(), granted); sdk.ReasonOf(err) != "plugin_exited" {
			t.Errorf("%s: it doesn't find what is there: %v", kind, err)
		}
	}
}
