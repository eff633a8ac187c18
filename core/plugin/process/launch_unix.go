//go:build unix && !linux

package process

import (
	"os"
	"os/exec"
	"syscall"
)

// setGroup has no parent-death signal here: a host that is killed is noticed by
// the end of standard input only.
func setGroup(attr *syscall.SysProcAttr) { attr.Setpgid = true }

// awaitExit reaps, since it can't wait without that here. The group is killed
// right after; that another group takes its id in between is unlikely enough.
func awaitExit(cmd *exec.Cmd) { _ = cmd.Wait() }

func killGroup(p *os.Process) {
	_ = syscall.Kill(-p.Pid, syscall.SIGKILL)
}
