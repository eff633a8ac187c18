package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/core/plugin/process/sandbox"
)

// sandboxRows are the facts about a sandbox, for people: each part, and what is missing.
func sandboxRows(f host.Sandbox) [][2]string {
	holds := "everything essential"
	switch {
	case f.Mode == string(sandbox.Off):
		holds = "nothing: it is off"
	case f.Refuses:
		holds = "too little: plugins that are processes are refused"
	case !f.Essentials:
		holds = "not everything essential"
	}
	landlock := yes(f.Landlock > 0)
	if f.Landlock > 0 {
		landlock += fmt.Sprintf(" (version %d)", f.Landlock)
	}
	cgroup := yes(f.Cgroup != "")
	if f.Cgroup != "" {
		cgroup += " (" + f.Cgroup + ")"
	}
	rows := [][2]string{
		{"mode", f.Mode}, {"holds", holds},
		{"own user", yes(f.User)}, {"no new privs", yes(f.NoNewPrivs)}, {"landlock", landlock}, {"seccomp", yes(f.Seccomp)},
		{"rlimits", yes(f.Rlimits)}, {"pid ns", yes(f.Namespace)}, {"net ns", yes(f.Network)}, {"cgroup", cgroup},
		{"tasks", cmp.Or(f.Tasks, "counted once a second")},
	}
	for _, text := range f.Missing {
		rows = append(rows, [2]string{"missing", text})
	}
	for _, text := range f.Notes {
		rows = append(rows, [2]string{"note", text})
	}
	return rows
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

// confinementRows are the facts about a plugin's confinement, for people.
func confinementRows(c *host.Confinement) [][2]string {
	reads := strings.Join(c.Reads, ", ")
	if i := slices.Index(c.Reads, install.FSSystem); i >= 0 {
		reads = strings.Join(slices.Replace(slices.Clone(c.Reads), i, i+1, "the system's folders"), ", ")
	}
	if c.Landlock == 0 {
		reads = "everything that its user may read"
	}
	reaches := orNothing(c.Reaches)
	if !c.Seccomp {
		reaches = "the network"
	}
	return append(sandboxRows(c.Sandbox), [2]string{"reads", reads}, [2]string{"reaches", reaches})
}
