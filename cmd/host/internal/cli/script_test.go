//go:build cgo && lua54

package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/reflectory/reflectory/core/plugin/process/sandbox"
)

// raced are the scripts in which the host works with plugins and on several things at once:
// their commands run with the race detector if this test does. In make test it doesn't, since
// concurrent leaves it out; go test -race -run Scripts has it.
var raced = map[string]bool{
	"composites": true, "evaluate_correct": true, "examples": true, "failures": true, "lua": true, "nodes": true, "plugin": true,
	"plugin_inspect": true, "plugin_logs": true, "resume_replay": true, "run_passes": true, "runs_learn": true, "state": true, "templates": true,
}

// TestScripts runs testdata/script: the real program with the real plugins as
// subprocesses, from a shell's view.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("EXAMPLES", absolute(t, "../../../../examples"))
			env.Setenv("GUESTS", absolute(t, "../scaffold/testdata"))
			env.Setenv("REFLECTORY_DATA_DIR", filepath.Join(env.WorkDir, "data"))
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("GORACE", "atexit_sleep_ms=0") // else each command ends a second later
			env.Setenv("GOGC", gogc)
			if name := strings.TrimPrefix(filepath.Base(env.WorkDir), "script-"); !raced[name] {
				env.Setenv("PATH", programs+string(os.PathListSeparator)+env.Getenv("PATH"))
			}
			dir := filepath.Join(env.WorkDir, "plugins")
			env.Setenv("REFLECTORY_LOCK", installPlugins(t, dir))
			return nil
		},
		Condition: func(name string) (bool, error) {
			if name != "sandbox" {
				return false, fmt.Errorf("there is no condition %q", name)
			}
			return sandbox.Probe().Holds(), nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"runid": setRunID},
	})
}

// setRunID sets RUN to the run that the last command printed as JSON.
func setRunID(ts *testscript.TestScript, _ bool, _ []string) {
	var result struct {
		RunID string `json:"run_id"`
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &result))
	ts.Setenv("RUN", result.RunID)
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	abs, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return abs
}
