//go:build linux

package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/plugin/install"
)

// moduleWorkflow makes a good module produce an output and a bad one judge it.
const moduleWorkflow = `nodes:
  - name: work
    action: reflection.loop
    with:
      generator: {plugin: test/guest}
      evaluator: {plugin: bad/guest, timeout: 1s, config: {do: %s}}
      max_iterations: 2
`

// newModuleWorld is a world with a good and a bad module, without the plugins of
// other tests.
func newModuleWorld(t *testing.T, bad suspect) *world {
	t.Helper()
	dir := t.TempDir()
	plugins := filepath.Join(dir, "plugins")
	suspect{module: "guest.wasm"}.install(t, plugins, "test")
	bad.install(t, plugins, "bad")
	return &world{t: t, dir: dir, env: map[string]string{
		"REFLECTORY_DATA_DIR": filepath.Join(dir, "data"), "REFLECTORY_LOCK": filepath.Join(plugins, install.LockFile), "HOME": dir,
	}}
}

// endedRun is what a run prints at its end.
type endedRun struct {
	RunID string `json:"run_id"`
	Error core.ErrorInfo
}

// judge runs the workflow and decodes what it says.
func (w *world) judge(do string) (code int, run endedRun) {
	w.t.Helper()
	path := w.file("workflow.yaml", strings.Replace(moduleWorkflow, "%s", do, 1))
	code, out, errs := w.run(w.t.Context(), "run", path, "--json")
	if err := json.Unmarshal([]byte(out), &run); err != nil {
		w.t.Fatalf("exit %d: %v: %s%s", code, err, out, errs)
	}
	return code, run
}

func TestABadModuleEndsTheRunWithItsNameAndTheCause(t *testing.T) {
	coretest.Long(t)
	for _, c := range []struct {
		suspect
		code, cause string
	}{
		{suspect{module: "guest.wasm", do: "loop"}, "fuel_exhausted", "its 20000000 units"},
		{suspect{module: "guest.wasm", do: "trap"}, "plugin_exited", "unreachable"},
		{suspect{module: "guest.wasm", do: "pointer"}, "response_invalid", "ends outside of its memory"},
		{suspect{module: "guest.wasm", do: "length"}, "message_too_large", "2147483647 bytes"},
		{suspect{module: "guest.wasm", do: "nan"}, "response_invalid", ""},
		{suspect{module: "guest.wasm", do: "utf8"}, "response_invalid", "UTF-8"},
		{suspect{module: "guest.wasm", do: "deep"}, "response_invalid", "deep"},
		{suspect{module: "guest.wasm", lies: true}, "manifest_mismatch", "it says version 1.0.0, not 9.9.9"},
		{suspect{module: "start.wasm", start: "trap"}, "plugin_exited", "unreachable"},
		{suspect{module: "start.wasm", start: "exit"}, "plugin_exited", "exited with code 3; it wrote: no licence found"},
		{suspect{module: "start.wasm", start: "hang"}, "fuel_exhausted", "its 20000000 units"},
		{suspect{module: "start.wasm", start: "gone"}, "exports_invalid", "reflectory_alloc(i32) → (i32) is missing"},
		{suspect{module: "start-command.wasm", start: "noise"}, "response_invalid", ""},
	} {
		t.Run(c.module+" "+c.start+c.do, func(t *testing.T) {
			newModuleWorld(t, c.suspect).checkFailure(c.do, c.code, c.cause)
		})
	}
}

// checkFailure runs the workflow, which the bad plugin ends, and looks at what is said and
// recorded about that.
func (w *world) checkFailure(do, reason, cause string) {
	w.t.Helper()
	code, run := w.judge(do)
	if e := run.Error; code == exitPassed || e.Code != reason || !strings.Contains(e.Message, "bad/guest") || !strings.Contains(e.Message, cause) {
		w.t.Errorf("exit %d, %s: %s", code, e.Code, e.Message)
	}
	var shown shownRun
	w.decode(exitPassed, &shown, "runs", "show", run.RunID)
	shown.checkCommitted(w.t, do != "")
}

// What a module asks for and is made of is held against the lock, as it is for
// any plugin.
func TestAModuleIsRunAsItWasPinned(t *testing.T) {
	const network = "capabilities: {network: ['example.org:443']}\nentry:"
	for name, c := range map[string]struct {
		change     func(w *world)
		code, hint string
		says       []string
	}{
		"a changed byte": {
			func(w *world) { w.replace("bad/guest/plugin.wasm", "reserved_export", "reserved_exporT") },
			"checksum_mismatch", "plugin add --in-place ", []string{"bad/guest", "plugin.wasm: wanted SHA-256 ", ", got "},
		},
		"a manifest that asks for more": {
			func(w *world) { w.replace("bad/guest/plugin.yaml", "entry:", network) },
			"checksum_mismatch", "plugin add --in-place --grant network:example.org:443 ",
			[]string{"bad/guest", "plugin.yaml: wanted SHA-256 ", "it now asks for more than it was granted: network:example.org:443"},
		},
		"a lock that grants less": {
			func(w *world) {
				w.replace("bad/guest/plugin.yaml", "entry:", network)
				w.addInPlace("bad/guest")
				w.replace(install.LockFile, `"example.org:443"`, `"example.org:80"`)
			},
			"capability_not_granted", "plugin add --in-place --grant network:example.org:443 ",
			[]string{"bad/guest", "network:example.org:443 (granted: network:example.org:80)"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newModuleWorld(t, suspect{module: "guest.wasm"})
			c.change(w)
			code, run := w.judge("ok")
			if code == exitPassed || run.Error.Code != c.code || !strings.Contains(hintLine((&App{}).root(), run.Error.Hint, run.Error.Try), c.hint) {
				t.Errorf("exit %d, %+v", code, run.Error)
			}
			for _, want := range c.says {
				if !strings.Contains(run.Error.Message, want) {
					t.Errorf("%q lacks %q", run.Error.Message, want)
				}
			}
		})
	}
}

// replace changes a file in the plugin folder.
func (w *world) replace(file, from, to string) {
	w.t.Helper()
	path := filepath.Join(w.dir, "plugins", file)
	text, err := os.ReadFile(path)
	if err != nil {
		w.t.Fatal(err)
	}
	if !strings.Contains(string(text), from) {
		w.t.Fatalf("%s lacks %q", file, from)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), from, to, 1)), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// addInPlace pins a plugin again, with all that it asks for.
func (w *world) addInPlace(name string) {
	w.t.Helper()
	dir := filepath.Join(w.dir, "plugins")
	place := install.Place{Lock: filepath.Join(dir, install.LockFile), Dir: dir}
	if _, err := install.Add(w.t.Context(), filepath.Join(dir, name), install.AddOptions{Place: place, InPlace: true}); err != nil {
		w.t.Fatal(err)
	}
}

// An addition compiles the module. A module that can't be a plugin leaves nothing behind.
func TestAModuleThatIsNoPluginIsNotAdded(t *testing.T) {
	w := newModuleWorld(t, suspect{module: "start.wasm", start: "gone"})
	lock := filepath.Join(w.dir, "other", install.LockFile)
	code, out, errs := w.run(t.Context(), "plugin", "add", filepath.Join(w.dir, "plugins/bad/guest"), "--lock", lock)
	if code == exitPassed || !strings.Contains(errs, "bad/guest") || !strings.Contains(errs, "reflectory_alloc(i32) → (i32) is missing") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	if _, err := os.Stat(lock); !os.IsNotExist(err) {
		t.Errorf("it is pinned all the same: %v", err)
	}
}
