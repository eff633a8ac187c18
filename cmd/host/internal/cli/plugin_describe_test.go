//go:build cgo && lua54

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A process is asked what it is before it is pinned: one that says otherwise than its
// plugin.yaml isn't.
func TestPluginAdd_AsksAProcessWhatItIs(t *testing.T) {
	w := newWorld(t)
	folder := filepath.Join(w.dir, "plugins", "reflectory", "lua-eval")
	yaml, err := os.ReadFile(filepath.Join(folder, "plugin.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	_, grants, _ := strings.Cut(string(yaml), "capabilities: {fs: [system, \"")
	dir, _, _ := strings.Cut(grants, "\"")
	grant := "--grant fs:system,fs:" + dir
	w.env["REFLECTORY_LOCK"] = filepath.Join(w.dir, "project", "reflectory.lock")

	if added := w.parsed(exitPassed, "plugin add "+folder+" "+grant); added["described"] != true {
		t.Errorf("an honest plugin: %v", added)
	}
	lie := strings.Replace(string(yaml), `["corrector","evaluator","generator"]`, `["generator"]`, 1)
	if lie == string(yaml) {
		t.Fatalf("the plugin has other kinds: %s", yaml)
	}
	if err := os.WriteFile(filepath.Join(folder, "plugin.yaml"), []byte(lie), 0o600); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(w.env["REFLECTORY_LOCK"])
	if err != nil {
		t.Fatal(err)
	}
	code, message, _ := w.refusal(exitFailure, "plugin add "+folder+" "+grant)
	if code != "manifest_mismatch" || !strings.Contains(message, "it says kinds") {
		t.Errorf("a plugin that lies: %s: %s", code, message)
	}
	if after, err := os.ReadFile(w.env["REFLECTORY_LOCK"]); err != nil || string(after) != string(before) {
		t.Errorf("it was pinned: %v", err)
	}
}
