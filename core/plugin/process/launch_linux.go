package process

import (
	"errors"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

func setGroup(attr *syscall.SysProcAttr) { attr.Setpgid, attr.Pdeathsig = true, syscall.SIGKILL }

// awaitExit waits for the end of a child without reaping it, so that its id
// still names its group.
func awaitExit(cmd *exec.Cmd) {
	for {
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

func killGroup(p *os.Process) {
	_ = syscall.Kill(-p.Pid, syscall.SIGKILL) // it may be gone already
	_ = syscall.Kill(p.Pid, syscall.SIGKILL)  // in case it left its group
}

// yield lowers the priority of a plugin that was just started, with all of its threads, below the
// host's: a script or a schema can use all processors for as long as its deadline allows, and the
// host's own answers mustn't wait for it. If the system refuses, they share the processors evenly.
func yield(pid int) {
	if own, err := unix.Getpriority(unix.PRIO_PROCESS, 0); err == nil { // the system call returns 20 less the niceness
		_ = unix.Setpriority(unix.PRIO_PGRP, pid, min(20-own+niceness, 19))
	}
}
