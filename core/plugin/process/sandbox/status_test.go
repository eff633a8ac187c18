package sandbox_test

import (
	"reflect"
	"testing"

	"github.com/reflectory/reflectory/core/plugin/process/sandbox"
)

func TestWhatIsExpectedOfASystem(t *testing.T) {
	all := sandbox.Status{User: true, NoNewPrivs: true, Landlock: 6, Seccomp: true, Rlimits: true, Namespace: true, Cgroup: "v2"}
	one := all
	one.Namespace = false
	lacking := one
	lacking.Landlock, lacking.Missing = 0, []string{"Landlock"}
	for name, tt := range map[string]struct {
		system    sandbox.Status
		mode      sandbox.Mode
		processes int
		want      sandbox.Status
		refuses   bool
	}{
		"one process":           {all, sandbox.Prefer, 1, one, false},
		"several":               {all, sandbox.Require, 4, all, false},
		"off":                   {all, sandbox.Off, 4, sandbox.Status{Missing: []string{"the sandbox is off"}}, false},
		"preferred but lacking": {lacking, sandbox.Prefer, 1, lacking, false},
		"required but lacking":  {lacking, sandbox.Require, 1, lacking, true},
	} {
		got := tt.system.Expected(tt.mode, tt.processes)
		if !reflect.DeepEqual(got, tt.want) || got.Refuses(tt.mode) != tt.refuses {
			t.Errorf("%s: %+v, want %+v; refused: %t", name, got, tt.want, got.Refuses(tt.mode))
		}
	}
}
