//go:build unix && !linux

package process

import (
	"os"
	"os/exec"
	"syscall"
)

// setGroup can't set a parent-death signal here: a plugin notices only by the end of its
// standard input that the host was killed.
func setGroup(attr *syscall.SysProcAttr) { attr.Setpgid = true }

// awaitExit reaps the process, since it can't wait without that here. The group is killed
// right after; it is very unlikely that another group takes its id in between.
func awaitExit(cmd *exec.Cmd) { _ = cmd.Wait() }

func killGroup(p *os.Process) {
	_ = syscall.Kill(-p.Pid, syscall.SIGKILL)
}

// yield lowers the priority of a plugin that was just started, as on Linux.
func yield(pid int) { _ = syscall.Setpriority(syscall.PRIO_PGRP, pid, niceness) }
