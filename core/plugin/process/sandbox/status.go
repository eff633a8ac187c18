package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/sdk"
)

// Mode is what to do if the system can't confine a plugin.
type Mode string

// The modes.
const (
	// Prefer confines with everything that the system has. It is the default.
	Prefer Mode = "prefer"
	// Require refuses to run a plugin without the essentials.
	Require Mode = "require"
	// Off confines nothing. It helps to find out whether the sandbox causes a problem.
	Off Mode = "off"
)

// Modes are all modes, the strictest first.
func Modes() []Mode { return []Mode{Require, Prefer, Off} }

// Status is what confines plugins on a system, or an instance.
type Status struct {
	// User is whether each instance runs as a user of its own.
	User bool `json:"user"`
	// NoNewPrivs is whether programs can't gain rights by being executed.
	NoNewPrivs bool `json:"no_new_privs"`
	// Landlock is the version of the kernel's Landlock, 0 for none.
	Landlock int `json:"landlock"`
	// Seccomp is whether system calls are filtered.
	Seccomp bool `json:"seccomp"`
	// Rlimits is whether resources of each process are limited.
	Rlimits bool `json:"rlimits"`
	// Namespace is whether instances of several processes have a PID namespace.
	Namespace bool `json:"pid_namespace"`
	// Network is whether each instance has a network namespace of its own: it has no devices but an
	// unused loopback, and shares no abstract Unix sockets with the rest of the machine.
	Network bool `json:"network_namespace"`
	// Cgroup is which control groups limit an instance's memory in every form, and
	// its tasks: "v1", "v2" or "".
	Cgroup string `json:"cgroup,omitempty"`
	// Tasks is what bounds an instance's processes and threads: "control group", "own
	// user", "user namespace", or "" if they are only counted once a second.
	Tasks string `json:"tasks,omitempty"`
	// Missing lists essential parts that aren't in effect, each with its reason.
	// [Require] refuses to run if there is one.
	Missing []string `json:"missing,omitempty"`
	// Notes list what is weaker here than on other systems.
	Notes []string `json:"notes,omitempty"`
}

// Holds is whether no essential part is missing.
func (s Status) Holds() bool { return len(s.Missing) == 0 }

// Expected is the status that an instance with that many processes would have in a mode:
// an instance with one process doesn't get what is only for several.
func (s Status) Expected(m Mode, processes int) Status {
	if m == Off {
		return off()
	}
	if processes <= 1 {
		s.Namespace = false
	}
	return s
}

// off is the status if nothing is confined.
func off() Status { return Status{Missing: []string{"the sandbox is off"}} }

// Refuses is whether a mode refuses to run plugins with this status.
func (s Status) Refuses(m Mode) bool { return m == Require && !s.Holds() }

// of is the status of an instance. An instance whose files are closed to other users runs
// as the host's user, without capabilities, if Landlock keeps it from that user's files.
func (s Status) of(spec Spec) Status {
	if s.User && s.Landlock > 0 && !readable(spec) {
		s.User = false
		if s.Tasks == "own user" {
			s.Tasks = ""
		}
		s.Missing = append(slices.Clone(s.Missing),
			"a user of its own: "+spec.Dir+" or the program in it is closed to other users (chmod -R o+rX, and o+x the folders above)")
	}
	return s
}

// readable is whether every user may enter the plugin's folder and run its program.
func readable(spec Spec) bool {
	dir, err := os.Stat(spec.Dir)
	if err != nil || dir.Mode().Perm()&0o005 != 0o005 || !Enterable(spec.Dir) || !Enterable(filepath.Dir(spec.Path)) {
		return false
	}
	program, err := os.Stat(spec.Path)
	return err != nil || program.Mode().Perm()&0o001 != 0 || program.Mode().Perm()&0o111 == 0 // one that nobody can execute is reported later
}

// check refuses to run if the mode requires more than there is.
func (s Status) check(m Mode, plugin string) error {
	if !s.Refuses(m) {
		return nil
	}
	return sdk.Errorf(sdk.Denied, "sandbox_missing", "plugin %s isn't run without a sandbox, which this system lacks: %s",
		plugin, strings.Join(s.Missing, "; ")).
		WithHint("run the host on a system that has it, or set sandbox: %s to run plugins with what there is", Prefer).
		WithDetail("missing", s.Missing)
}
