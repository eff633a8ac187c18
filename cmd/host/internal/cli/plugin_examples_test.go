//go:build cgo && lua54

package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
)

// The examples that bring a plugin of their own: it is built as the README says,
// passes the kit, is added, and the workflow runs on it.
func TestExamplesWithPluginsRun(t *testing.T) {
	coretest.Long(t)
	work := t.TempDir()
	env := map[string]string{"REFLECTORY_DATA_DIR": filepath.Join(work, "data"), "HOME": work}
	env["REFLECTORY_LOCK"] = installPlugins(t, filepath.Join(work, "plugins"))
	examples := absolute(t, "../../../../examples")

	secrets := filepath.Join(work, "secrets")
	if err := os.CopyFS(secrets, os.DirFS(filepath.Join(examples, "wasm-evaluator", "package"))); err != nil {
		t.Fatal(err)
	}
	buildGuest(t, filepath.Join(examples, "wasm-evaluator"), filepath.Join(secrets, "plugin.wasm"))
	python := filepath.Join(examples, "python-evaluator", "package")

	for _, step := range []struct {
		args  string
		wants string
	}{
		{"plugin test " + secrets, "example/secrets: 23 passed, 0 failed, 0 skipped"},
		{"plugin test " + python, "example/python-code: 22 passed, 0 failed, 0 skipped"},
		{"plugin add " + secrets, "added example/secrets"},
		{"plugin add --grant fs:system " + python, "added example/python-code"},
		{"run " + examples + "/wasm-evaluator/workflow.yaml", "the credentials are in the vault"},
		{"run " + examples + "/python-evaluator/workflow.yaml", `"""Returns the mean of numbers."""`},
		{"run " + examples + "/ensemble/workflow.yaml", `"subject": "Your order A-1042"`},
	} {
		var out, errs bytes.Buffer
		code := runProgram(t.Context(), strings.Fields(step.args), strings.NewReader(""), &out, &errs, func(name string) string { return env[name] })
		if code != exitPassed || !strings.Contains(out.String(), step.wants) {
			t.Errorf("%s: exit %d\n%s%s", step.args, code, out.String(), errs.String())
		}
	}
}

// buildGuest builds a package of Go as a WASM module.
func buildGuest(t *testing.T, dir, module string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-buildmode=c-shared", "-ldflags=-s", "-o", module, ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", dir, err, out)
	}
}
