package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/core/plugin/process/sandbox"
)

// sandboxFacts are what confines processes, and what the configuration makes of it.
type sandboxFacts struct {
	Mode string `json:"mode"`
	// Refuses is whether the mode keeps processes from being run with that.
	Refuses bool `json:"refuses"`
	// Essentials is whether nothing essential is missing.
	Essentials bool `json:"holds"`
	sandbox.Status
}

func (a *App) sandboxFacts(s sandbox.Status) sandboxFacts {
	mode := a.config.Sandbox.Value
	return sandboxFacts{Mode: mode, Refuses: s.Refuses(sandbox.Mode(mode)), Essentials: s.Holds(), Status: s}
}

// word says how a process would be confined.
func (f sandboxFacts) word() string {
	switch {
	case f.Refuses:
		return "refused"
	case f.Mode == string(sandbox.Off) || !f.NoNewPrivs:
		return "none"
	case f.Essentials:
		return "full"
	}
	return "partial"
}

// rows are the facts for people: each part, and what is missing.
func (f sandboxFacts) rows() [][2]string {
	holds := "all that is essential"
	switch {
	case f.Mode == string(sandbox.Off):
		holds = "nothing: it is off"
	case f.Refuses:
		holds = "too little: plugins that are processes are refused"
	case !f.Essentials:
		holds = "not all that is essential"
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
		{"rlimits", yes(f.Rlimits)}, {"pid ns", yes(f.Namespace)}, {"cgroup", cgroup},
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

// confinement is what would confine a plugin's process on this system.
type confinement struct {
	sandboxFacts
	// Reads are the paths that it may read, "system" for the system's folders.
	Reads []string `json:"reads"`
	// Reaches are the endpoints that it may reach, through the host.
	Reaches []string `json:"reaches"`
}

// confine says what a process of a plugin's grants would get.
func (a *App) confine(p plugin.Installed, folder string) *confinement {
	limits := p.Limits.WithDefaults(plugin.RuntimeProcess)
	granted := host.Granted(a.config, []plugin.Installed{p}, a.Getenv)[0].Granted
	status := sandbox.Probe().Expected(sandbox.Mode(a.config.Sandbox.Value), limits.Processes)
	return &confinement{
		sandboxFacts: a.sandboxFacts(status),
		Reads:        append([]string{folder}, granted.FS...),
		Reaches:      append([]string{}, granted.Network...),
	}
}

// rows are the facts for people.
func (c *confinement) rows() [][2]string {
	reads := strings.Join(c.Reads, ", ")
	if i := slices.Index(c.Reads, install.FSSystem); i >= 0 {
		reads = strings.Join(slices.Replace(slices.Clone(c.Reads), i, i+1, "the system's folders"), ", ")
	}
	if c.Landlock == 0 {
		reads = "all that its user may"
	}
	reaches := orNothing(c.Reaches)
	if !c.Seccomp {
		reaches = "the network"
	}
	return append(c.sandboxFacts.rows(), [2]string{"reads", reads}, [2]string{"reaches", reaches})
}
