package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/cmd/host/internal/scaffold"
	"github.com/reflectory/reflectory/core/coretest"
)

// A new plugin in Go is built with a checkout as its README says, without downloading what this
// module already has, and passes the kit over both runtimes.
func TestNewPluginsInGoPassTheKit(t *testing.T) {
	coretest.Long(t)
	for runtime, built := range map[string]struct {
		file string
		args []string
		env  []string
	}{
		"process": {"words", nil, []string{"CGO_ENABLED=0"}},
		"wasm":    {"plugin.wasm", []string{"-buildmode=c-shared"}, []string{"GOOS=wasip1", "GOARCH=wasm"}},
	} {
		t.Run(runtime, func(t *testing.T) {
			root, err := filepath.Abs("../../../..")
			if err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(t.TempDir(), "words")
			if _, _, err := scaffold.Write(scaffold.Options{
				Name: "acme/words", Language: "go", Runtime: runtime, Dir: dir, SDK: root,
			}); err != nil {
				t.Fatal(err)
			}
			args := append([]string{"build", "-mod=mod", "-o", filepath.Join("package", built.file)}, built.args...)
			cmd := exec.CommandContext(t.Context(), "go", append(args, ".")...)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), append(built.env, "GOWORK=off", "GOPROXY=off", "GOSUMDB=off", "GOFLAGS=-trimpath")...)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			wantKitPassed(t, filepath.Join(dir, "package"))
		})
	}
}

// wantKitPassed runs plugin test on a package.
func wantKitPassed(t *testing.T, dir string) {
	t.Helper()
	var out, errs bytes.Buffer
	env := map[string]string{"REFLECTORY_DATA_DIR": t.TempDir()}
	code := runProgram(t.Context(), []string{"plugin", "test", dir}, strings.NewReader(""), &out, &errs, func(name string) string { return env[name] })
	if code != exitPassed {
		t.Errorf("exit %d\n%s%s", code, out.String(), errs.String())
	}
}
