//go:build linux

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/sdk"
)

// goodWorkflow is one whose plugin is a module that works.
const goodWorkflow = `nodes:
  - name: work
    action: reflection.loop
    with:
      generator: {plugin: test/guest}
      evaluator: {plugin: test/guest, config: {do: ok}}
      max_iterations: 1
`

// What is too much for a compiler is refused wherever a module is first read: when
// it is added, tested, looked at, or run because a lock names it. What else is
// installed goes on. The ones that take a compiler its full time are left to
// REFLECTORY_STRESS.
func TestACompileBombHarmsNobody(t *testing.T) {
	w := newModuleWorld(t, suspect{module: "guest.wasm"})
	lock := filepath.Join(w.dir, "other", install.LockFile)
	reasons := []string{"module_too_complex", "compile_limit"}
	for _, bomb := range coretest.CompileBombs() {
		if !bomb.Refused && os.Getenv("REFLECTORY_STRESS") == "" {
			continue
		}
		w := w.in(t)
		installModule(t, filepath.Join(w.dir, "plugins"), "bad/guest", "1.0.0", []sdk.Kind{sdk.KindEvaluator}, bomb.Module())
		folder := filepath.Join(w.dir, "plugins/bad/guest")
		for _, args := range [][]string{{"plugin", "add", folder, "--lock", lock}, {"plugin", "test", folder}} {
			code, out, errs := w.run(t.Context(), args...)
			if code == exitPassed || !slices.ContainsFunc([]string{"nested", "locals", "targets", "tables", "compiling the module"}, func(why string) bool { return strings.Contains(out+errs, why) }) {
				t.Errorf("%s: %v: exit %d: %s%s", bomb.Name, args[:2], code, out, errs)
			}
		}
		if _, err := os.Stat(lock); !os.IsNotExist(err) {
			t.Errorf("%s: it is pinned: %v", bomb.Name, err)
		}
		if code, run := w.judge("ok"); code != exitFailure || !slices.Contains(reasons, run.Error.Code) || !strings.Contains(run.Error.Message, "bad/guest") {
			t.Errorf("%s: a run: exit %d: %+v", bomb.Name, code, run)
		}
	}
	id := w.parsed(exitPassed, "run "+w.file("good.yaml", goodWorkflow)+" --json")["run_id"]
	if out, _ := w.ok("runs", "list"); id == nil || !strings.Contains(out, id.(string)[:8]) {
		t.Errorf("run %v isn't listed: %s", id, out)
	}
}
