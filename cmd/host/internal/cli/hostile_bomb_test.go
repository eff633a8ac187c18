//go:build linux

package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/sdk"
)

// bombWorkflow has a working module in its first node, and a bad one in its second.
const bombWorkflow = `nodes:
  - name: work
    action: reflection.loop
    with:
      generator: {plugin: test/guest}
      evaluator: {plugin: test/guest, config: {do: ok}}
      max_iterations: 1
  - name: judge
    action: reflection.evaluate
    with: {data: one two, evaluator: {plugin: bad/guest}}
`

// What is too much for a compiler is refused wherever a module is first read: when
// it is added, tested, looked at, or run because a lock names it. What else is in the
// same workflow works, and the run is recorded. The ones that take a compiler its full
// time are left to REFLECTORY_STRESS.
func TestACompileBombHarmsNobody(t *testing.T) {
	coretest.Long(t)
	w := newModuleWorld(t, suspect{module: "guest.wasm"})
	lock := filepath.Join(w.dir, "other", install.LockFile)
	workflow := w.file("bomb.yaml", bombWorkflow)
	for _, bomb := range coretest.CompileBombs() {
		if !bomb.Refused && os.Getenv("REFLECTORY_STRESS") == "" {
			continue
		}
		w := w.in(t)
		installModule(t, filepath.Join(w.dir, "plugins"), "bad/guest", "1.0.0", []sdk.Kind{sdk.KindEvaluator}, bomb.Module())
		folder := filepath.Join(w.dir, "plugins/bad/guest")
		commands := [][]string{{"plugin", "add", folder, "--lock", lock}, {"plugin", "test", folder}}
		if bomb.Refused {
			commands = append(commands, []string{"plugin", "inspect", folder}) // which compiles nothing
		}
		for _, args := range commands {
			code, out, errs := w.run(t.Context(), args...)
			says := func(why string) bool { return strings.Contains(out+errs, why) }
			if args[1] != "inspect" && code == exitPassed || !slices.ContainsFunc([]string{"nested", "locals", "targets", "tables", "compiling the module"}, says) {
				t.Errorf("%s: %v: exit %d: %s%s", bomb.Name, args[:2], code, out, errs)
			}
		}
		if _, err := os.Stat(lock); !os.IsNotExist(err) {
			t.Errorf("%s: it is pinned: %v", bomb.Name, err)
		}
		var run endedRun
		errs := w.decode(exitFailure, &run, "run", workflow)
		if !strings.Contains(errs, "warn: node judge can't run") {
			t.Errorf("%s: it doesn't say so before it begins: %s", bomb.Name, errs)
		}
		t.Logf("%s: %s", bomb.Name, run.Error.Message)
		if e := run.Error; !slices.Contains([]string{"module_too_complex", "compile_limit", "start_timeout"}, e.Code) || !strings.HasPrefix(e.Message, "node judge: evaluator: ") || !strings.Contains(e.Message, "bad/guest") || e.Hint == "" {
			t.Errorf("%s: a run: %+v", bomb.Name, run)
		}
		if out, _ := w.ok("runs", "list", "--status", "error"); run.RunID == "" || !strings.Contains(out, run.RunID) {
			t.Errorf("%s: run %q isn't listed: %s", bomb.Name, run.RunID, out)
		}
		var shown shownRun
		w.decode(exitPassed, &shown, "runs", "show", run.RunID)
		if len(shown.Loops) != 1 || len(shown.Loops[0].Attempts) != 1 || !shown.Loops[0].Attempts[0].Accepted {
			t.Errorf("%s: the good module's part: %+v", bomb.Name, shown)
		}
	}
}

// decode runs a command with --json, wants its exit code, and decodes what it prints.
func (w *world) decode(want int, v any, args ...string) (stderr string) {
	w.t.Helper()
	code, out, errs := w.run(w.t.Context(), append(args, "--json")...)
	if err := json.Unmarshal([]byte(out), v); err != nil || code != want {
		w.t.Fatalf("%v: exit %d, want %d: %v: %s%s", args, code, want, err, out, errs)
	}
	return errs
}
