package cli

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core/access"
)

func TestDoctor_FindsWhatIsWrong(t *testing.T) {
	const closed = "127.0.0.1:1"
	for name, test := range map[string]struct {
		setUp func(t *testing.T, w *world)
		args  string
		exit  int
		says  []string
	}{
		"nothing":                   {nil, "", exitPassed, []string{"ok settings", "ok data folder", "ok store", "ok plugin reflectory/schema-eval starts"}},
		"a mistake in the settings": {func(_ *testing.T, w *world) { w.file("reflectory.yaml", "sandbx: off\n") }, "", exitNotValid, []string{`fail settings`, `"sandbx"`, `fix: did you mean "sandbox"?`}},
		"a data folder that is a file": {
			func(_ *testing.T, w *world) { w.file("data", "x") }, "--data-dir data", exitNotValid, []string{"fail data folder", "is a file, not a folder"},
		},
		"no folder for temporary files": {
			func(t *testing.T, w *world) { t.Setenv("TMPDIR", filepath.Join(w.dir, "none")) }, "", exitNotValid, []string{"fail temporary", "TMPDIR"},
		},
		"a proxy that is down": {
			func(t *testing.T, w *world) { w.env["HTTPS_PROXY"] = "http://" + closed }, "", exitNotValid, []string{"fail proxy", closed + " can't be reached", "HTTPS_PROXY"},
		},
		"an invalid policy": {
			func(_ *testing.T, w *world) { w.file("gate.yaml", "nothing: here\n") }, "--policy-dir .", exitNotValid, []string{"fail host", "gate.yaml", "fix: "},
		},
		"no sandbox": {nil, "--sandbox off", exitPassed, []string{"sandbox"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			t.Chdir(w.dir)
			if test.setUp != nil {
				test.setUp(t, w)
			}
			code, stdout, stderr := w.run(t.Context(), append([]string{"doctor"}, strings.Fields(test.args)...)...)
			if code != test.exit {
				t.Errorf("exit %d, want %d:\n%s%s", code, test.exit, stdout, stderr)
			}
			said := strings.Join(strings.Fields(stdout), " ")
			for _, want := range test.says {
				if !strings.Contains(said, want) {
					t.Errorf("it doesn't say %q:\n%s%s", want, stdout, stderr)
				}
			}
			if left, _ := filepath.Glob(filepath.Join(w.dir, "*doctor*")); left != nil {
				t.Errorf("it left %v", left)
			}
		})
	}
}

func TestDoctor_ComparesTheClockWithTheProgram(t *testing.T) {
	now := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	for built, want := range map[string]string{"2026-01-01T00:00:00Z": partOK, "2026-01-03T00:00:00Z": partFail, "": partOK, "soon": partOK} {
		if got := examineClock(now, built); got.State != want || (got.Fix == "") != (want == partOK) {
			t.Errorf("made %q: %+v", built, got)
		}
	}
}

func TestDoctor_MakesNoStore(t *testing.T) {
	w := newWorld(t)
	if _, stdout, _ := w.run(t.Context(), "doctor"); !strings.Contains(stdout, access.DefaultListen) || !strings.Contains(stdout, "none yet") {
		t.Errorf("%s", stdout)
	}
	if _, stdout, _ := w.run(t.Context(), "doctor"); !strings.Contains(stdout, "none yet") {
		t.Errorf("it made a store:\n%s", stdout)
	}
}
