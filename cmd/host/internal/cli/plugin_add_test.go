//go:build linux

package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/sdk"
)

// Both a user who adds a module and a user who inspects it learn its limits.
func TestPluginAdd_SaysWhatBoundsAModule(t *testing.T) {
	w := newModuleWorld(t, suspect{module: "guest.wasm"})
	guest, err := os.ReadFile(filepath.Join(guests, "guest.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	unmetered := bytes.Replace(guest, []byte("reserved_export"), []byte("reflectory:fuel"), 1)
	installModule(t, filepath.Join(w.dir, "plugins"), "bad/guest", "1.0.0", []sdk.Kind{sdk.KindEvaluator, sdk.KindGenerator}, unmetered)
	lock := filepath.Join(w.dir, "other", install.LockFile)
	for folder, want := range map[string]string{
		"test/guest": "metered yes",
		"bad/guest":  "metered no, so it has a deadline and no fuel: the module can't be metered: an export of the name \"reflectory:fuel\", which is reserved,",
	} {
		path := filepath.Join(w.dir, "plugins", folder)
		out, _ := w.ok("plugin", "add", path, "--lock", lock)
		if !strings.Contains(out, "limits memory 64 MiB, timeout 30s, output 8192 KiB, instances 2, fuel 20000000\n") || !strings.Contains(out, want) {
			t.Errorf("%s: %s", folder, out)
		}
		result := w.parsed(exitPassed, "plugin add "+path+" --json --lock "+lock)
		limits, _ := result["limits"].(map[string]any)
		if result["metered"] != (folder == "test/guest") || limits["fuel"] != 2e7 || (result["unmetered"] == nil) != (folder == "test/guest") {
			t.Errorf("%s: %v", folder, result)
		}
		if out, _ := w.ok("plugin", "inspect", path); !strings.Contains(out, strings.TrimPrefix(want, "metered ")) || !strings.Contains(out, "fuel 20000000") {
			t.Errorf("%s: %s", folder, out)
		}
	}
}

// What a plugin prints can't pass for the host's own lines, nor control the terminal.
func TestPluginAdd_CleansWhatThePluginPrints(t *testing.T) {
	w := emptyWorld(t).unconfined()
	folder := filepath.Join(w.dir, "crash")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	w.file("crash/plugin.yaml", "name: acme/crash\nversion: 1.0.0\nkinds: [evaluator]\nentry: [sh, run.sh]\ncapabilities: {fs: [system]}\n")
	w.file("crash/run.sh", `printf 'panic: boom\033[2K\rsigned by key \342\200\256 acme\n' >&2; exit 3`)
	out, errs := w.ok("plugin", "add", folder, "--grant", "fs:system", "--lock", filepath.Join(w.dir, install.LockFile))
	if !strings.Contains(errs, "panic: boom [2K signed by key   acme") || strings.ContainsAny(out+errs, "\x1b\r\u202e") {
		t.Errorf("%q %q", out, errs)
	}
}
