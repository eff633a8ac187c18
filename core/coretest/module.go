package coretest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// SuiteModule is where the module cache has a module of testdata/suites, of the
// repository whose folder is root. It is downloaded where it isn't there yet.
func SuiteModule(root, name string) (dir string, err error) {
	cmd := exec.Command("go", "mod", "download", "-json", name) //nolint:gosec // the name is a test's own
	cmd.Dir = filepath.Join(root, "testdata", "suites")
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go mod download in %s: %w\n%s", cmd.Dir, err, out)
	}
	var module struct{ Dir string }
	err = json.Unmarshal(out, &module)
	return module.Dir, err
}
