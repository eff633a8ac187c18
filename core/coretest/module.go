package coretest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// OfflineModule lets a module that builds on this one, whose folder is root, be
// built from what this one's build has downloaded: it gets the same requirements
// and sums, so that no other go.mod has to be looked up.
func OfflineModule(dir, root string) error {
	own, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return err
	}
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		return err
	}
	var requires strings.Builder
	for _, block := range strings.Split(string(own), "\nrequire (")[1:] {
		list, _, _ := strings.Cut(block, "\n)")
		requires.WriteString("\nrequire (" + list + "\n)\n")
	}
	file, err := os.OpenFile(filepath.Join(dir, "go.mod"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(requires.String())
	err = errors.Join(err, file.Close())
	return errors.Join(err, os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o600)) //nolint:gosec // the folder is the test's own
}

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
