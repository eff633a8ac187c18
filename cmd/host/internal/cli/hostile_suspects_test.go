//go:build linux

package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/core/plugin/process/sandbox"
	"github.com/reflectory/reflectory/sdk"
)

// suspect is a bad plugin of a host, with what its caller gets.
type suspect struct {
	// program is a process, module the file of a WASM plugin.
	program, module string
	start           string // what a module does at its start
	do              string // what it does in a call
	lies            bool   // about its version
	limits          plugin.Limits
	late            bool // its call is to pass a deadline

	reason, says string // of the error; "" is none
}

// guests is where the modules are.
const guests = "../../../../testdata/modules"

// late is a deadline that is meant to pass.
const late = 300 * time.Millisecond

// racing is whether the race detector is on, which maps its own memory: the memory of
// plugins isn't limited then, and the host keeps more.
const racing = sandbox.MinMemory > plugin.DefaultProcessMemory

// memoryBomb is a process that takes more memory than it may have.
func memoryBomb() suspect {
	s := suspect{program: "hostile", do: "bomb"}
	if !racing {
		s.reason, s.says = "plugin_exited", "out of memory"
	}
	return s
}

// hostileProcesses are what hostile and broken plugins do, as subprocesses.
func hostileProcesses() []suspect {
	return []suspect{
		memoryBomb(),
		{program: "exit-at-start", reason: "plugin_exited", says: "no licence"},
		{program: "hang-at-start", reason: "start_timeout", says: "did not start within", limits: plugin.Limits{StartTimeout: 2 * time.Second}},
		{program: "garbage-at-start", reason: "handshake_invalid", says: "hello, I am a plugin"},
		{program: "endless-at-start", reason: "handshake_invalid"},
		{program: "liar", reason: "manifest_mismatch", says: "it says name schema-eval, not liar"},
		{program: "hostile", lies: true, reason: "manifest_mismatch", says: "it says version 1.0.0, not 9.9.9"},
		{program: "stubborn"}, // it stays when it is asked to end
		{program: "hostile", do: "loop", late: true, reason: "plugin_timeout"},
		{program: "hostile", do: "hang", late: true, reason: "plugin_timeout"},
		{program: "hostile", do: "recurse twice", late: true, reason: "plugin_timeout"},
		{program: "hostile", do: "fork on", reason: "plugin_exited", says: "processes (limit 4)", limits: plugin.Limits{Processes: 4}},
		{program: "hostile", do: "fork", reason: "internal", says: "operation not permitted"},
		{program: "hostile", do: "recurse", reason: "plugin_exited", says: "exited"},
		{program: "hostile", do: "exit", reason: "plugin_exited", says: "out of cheese"},
		{program: "hostile", do: "crash", reason: "plugin_exited", says: "cheese crash"},
		{program: "hostile", do: "error", reason: "internal"},
		{program: "hostile", do: "huge", reason: "message_too_large", says: "over the cap of 8388608 bytes"},
		{program: "hostile", do: "nan", reason: "score_not_finite"},
		{program: "hostile", do: "infinite"},
		{program: "hostile", do: "beyond"},
		{program: "hostile", do: "below"},
		{program: "hostile", do: "not UTF-8", reason: "response_invalid", says: "UTF-8"},
		{program: "hostile", do: "not JSON", reason: "response_invalid", says: "is not JSON"},
		{program: "hostile", do: "deep", reason: "response_invalid", says: "nests more than"},
		{program: "hostile", do: "findings", reason: "response_invalid"},
		{program: "hostile", do: "tokens", reason: "response_invalid"},
		{program: "hostile", do: "cost", reason: "response_invalid"},
		{program: "hostile", do: "flood"},
		{program: "hostile", do: "pry"},
	}
}

// hostileModules are the same, as WASM modules.
func hostileModules() []suspect {
	const guest, start, command = "guest.wasm", "start.wasm", "start-command.wasm"
	endless := plugin.Limits{Fuel: 1 << 60}
	list := []suspect{
		{module: guest, lies: true, reason: "manifest_mismatch", says: "it says version 1.0.0, not 9.9.9"},
		{module: guest, do: "loop", reason: "fuel_exhausted"},
		{module: guest, do: "loop", limits: endless, late: true, reason: "plugin_timeout"},
		{module: guest, do: "recurse", limits: endless, reason: "plugin_exited", says: "stack overflow"},
		{module: guest, do: "trap", reason: "plugin_exited", says: "unreachable"},
		{module: guest, do: "bomb", reason: "plugin_exited", says: "unreachable"},
		{module: guest, do: "alloctrap", reason: "plugin_exited", says: "unreachable"},
		{module: guest, do: "allocnull", reason: "guest_memory_exhausted"},
		{module: guest, do: "length", reason: "message_too_large"},
		{module: guest, do: "negative", reason: "message_too_large"},
		{module: guest, do: "negscore"},
		{module: guest, do: "seven"},
		{module: guest, do: "flood"},
	}
	for _, do := range []string{"pointer", "nothing", "allocfar", "nan", "infinite", "truncated", "utf8", "deep", "none", "blank", "garbage", "logfar"} {
		list = append(list, suspect{module: guest, do: do, reason: "response_invalid"})
	}
	for _, module := range []string{start, command} {
		list = append(list,
			suspect{module: module, start: "hang", reason: "fuel_exhausted"},
			suspect{module: module, start: "hang", limits: plugin.Limits{Fuel: 1 << 60, StartTimeout: time.Second}, reason: "start_timeout", says: "did not start within"},
			suspect{module: module, start: "fib", reason: "fuel_exhausted"},
			suspect{module: module, start: "trap", reason: "plugin_exited", says: "unreachable"},
			suspect{module: module, start: "exit", reason: "plugin_exited", says: "no licence found"},
			suspect{module: module, start: "bomb", reason: "plugin_exited"},
			suspect{module: module, start: "flood", limits: plugin.Limits{Fuel: 1e6}, reason: "fuel_exhausted"},
		)
	}
	return append(list,
		suspect{module: command, start: "noise", reason: "response_invalid"},
		suspect{module: start, start: "gone", reason: "exports_invalid", says: "reflectory_alloc(i32) → (i32) is missing"})
}

// base is the name that its manifest has to have.
func (s suspect) base() string {
	if s.module != "" {
		return "guest"
	}
	return s.program
}

// install adds the plugin under a publisher of its own.
func (s suspect) install(t *testing.T, dir, publisher string) {
	t.Helper()
	version := "1.0.0"
	if s.lies {
		version = "9.9.9"
	}
	name := publisher + "/" + s.base()
	if s.program != "" {
		installPlugin(t, dir, name, version, []sdk.Kind{sdk.KindEvaluator})
		return
	}
	module, err := os.ReadFile(filepath.Join(guests, s.module))
	if err != nil {
		t.Fatal(err)
	}
	kinds := []sdk.Kind{sdk.KindEvaluator}
	if s.module == "guest.wasm" {
		kinds = append(kinds, sdk.KindGenerator)
	}
	if s.start == "gone" { // an export that has to be there
		module = bytes.Replace(module, []byte("reflectory_alloc"), []byte("reflectory_ALLOC"), 1)
	}
	module = bytes.Replace(module, []byte("at start: serve "), fmt.Appendf(nil, "at start: %-6s", s.start), 1)
	installModule(t, dir, name, version, kinds, module)
}

// moduleText is the plugin.yaml of a module.
const moduleText = `name: %s
version: %s
kinds: %s
runtime: wasm
entry: plugin.wasm
limits: {fuel: 20000000} # a loop takes 0.1 s
`

// installModule makes a package of a module, and pins it.
func installModule(t *testing.T, dir, name, version string, kinds []sdk.Kind, module []byte) {
	t.Helper()
	folder := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string][]byte{
		install.PackageFile: fmt.Appendf(nil, moduleText, name, version, jsontext.MustEncode(kinds)),
		"plugin.wasm":       module,
	} {
		if err := os.WriteFile(filepath.Join(folder, file), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	place := install.Place{Lock: filepath.Join(dir, install.LockFile), Dir: dir}
	if _, err := install.Add(t.Context(), folder, install.AddOptions{Place: place, InPlace: true}); err != nil {
		t.Fatal(err)
	}
}
