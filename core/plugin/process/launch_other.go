//go:build !unix

package process

import (
	"os"
	"os/exec"
	"syscall"
)

// groupAttr asks for nothing: there are no process groups here.
func groupAttr() *syscall.SysProcAttr { return nil }

// awaitExit reaps.
func awaitExit(cmd *exec.Cmd) { _ = cmd.Wait() }

// killGroup kills the plugin itself. Its children are not reached.
func killGroup(p *os.Process) { _ = p.Kill() }
