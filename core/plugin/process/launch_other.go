//go:build !unix

package process

import (
	"os"
	"os/exec"
	"syscall"
)

// setGroup does nothing: there are no process groups here.
func setGroup(*syscall.SysProcAttr) {}

// awaitExit reaps.
func awaitExit(cmd *exec.Cmd) { _ = cmd.Wait() }

// killGroup kills the plugin itself. Its children are not reached.
func killGroup(p *os.Process) { _ = p.Kill() }

// yield does nothing: a plugin has the host's priority here.
func yield(int) {}
