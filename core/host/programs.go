package host

import (
	"path/filepath"

	"github.com/reflectory/reflectory/core/exec"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/plugin/process"
	"github.com/reflectory/reflectory/core/plugin/process/sandbox"
)

// programs runs the programs of this machine that the operator grants, for plugins.
func programs(c *config.Config, getenv func(string) string) *exec.Runner {
	return exec.New(exec.Options{
		Grants: func() exec.Grants { return exec.Grants(c.Commands()) }, Sandbox: sandbox.Mode(c.Sandbox.Value),
		TempDir: process.TempDir(), CacheDir: filepath.Join(c.DataDir.Value, "cache", "exec"), Getenv: getenv,
	})
}

// ProgramsStatus is which programs may be run, and how they are bounded.
type ProgramsStatus struct {
	// Allow are the granted programs.
	Allow []string `json:"allow"`
	// Missing lists what this machine can't bound, each with its reason: then programs are refused,
	// unless the sandbox is off. It is only found out if a program is granted.
	Missing []string `json:"missing,omitempty"`
	// Refused is whether they are.
	Refused bool `json:"refused"`
}

func programsStatus(c *config.Config) ProgramsStatus {
	s := ProgramsStatus{Allow: append([]string{}, c.Commands().Allow...)} // a list, even if it is empty
	if len(s.Allow) > 0 {
		s.Missing = programs(c, nil).Missing()
	}
	s.Refused = len(s.Missing) > 0 && c.Sandbox.Value != string(sandbox.Off)
	return s
}
