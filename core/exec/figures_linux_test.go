//go:build bench

package exec_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/exec"
	"github.com/reflectory/reflectory/core/plugin/process/sandbox"
	"github.com/reflectory/reflectory/sdk"
)

// TestFigures measures a program that does nothing, in a workspace of 1,000 files of 2 KiB.
func TestFigures(t *testing.T) {
	dir := t.TempDir()
	for n := range 1000 {
		if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(n)), make([]byte, 2048), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := exec.New(exec.Options{Grants: func() exec.Grants { return exec.Grants{Allow: []string{"true"}} }, TempDir: t.TempDir(), Sandbox: sandbox.Off})
	run := func(w sdk.ExecWorkspace) func() {
		return func() {
			got, err := r.Run(t.Context(), exec.Caller{Folder: dir}, &sdk.ExecRequest{Run: []string{"true"}, Workspace: w})
			if err != nil || got.Exit != 0 {
				t.Fatal(got, err)
			}
		}
	}
	s := coretest.Interleave(21, 1, run(sdk.ExecWorkspace{From: "."}), run(sdk.ExecWorkspace{}))
	coretest.Figure{
		Name: "the program true as a judge, workspace of 1,000 files", Value: s[0].Micros(0.5) / 1e3, Unit: "ms", Target: 60,
		Note: fmt.Sprintf("p10 %.1f ms; with an empty workspace %.1f ms", s[0].Micros(0.1)/1e3, s[1].Micros(0.5)/1e3),
	}.Print(os.Stdout)
}
