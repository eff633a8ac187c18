//go:build amd64 || arm64

package exec

import (
	"cmp"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/reflectory/reflectory/core/exec/workspace"
	"github.com/reflectory/reflectory/core/plugin/process/sandbox"
)

const (
	// startTime is how long the launcher may take for each of its steps.
	startTime = 10 * time.Second
	// roomFiles is how many files and folders the program may have: a workspace, and half as many more
	// for itself and its caches.
	roomFiles = 3 * workspace.MaxFiles / 2
)

// room is a room of the sandbox: namespaces, a file system in memory, a user, control groups.
type room struct {
	cell  *sandbox.Cell
	cmd   *exec.Cmd // the first process
	ended chan struct{}
}

// openRoom makes a room and its first process, which is to start the program.
func (p *running) openRoom() (place, error) {
	q := p.request
	cell, err := p.runner.box.Open(sandbox.Spec{
		Plugin: p.program.args[0], Path: p.program.Path, MemoryBytes: cmp.Or(q.Limits.MemoryBytes, defaultMemory), StartTimeout: startTime,
		Room: &sandbox.Room{
			Bytes: cmp.Or(q.Limits.DiskBytes, defaultDisk), Files: roomFiles,
			Tasks: int(cmp.Or(q.Limits.Processes, defaultProcesses)), Read: p.grants.shown(),
		},
	})
	if err != nil {
		return nil, err
	}
	env, err := p.environment(p.runner.options.Getenv, sandbox.Home, sandbox.Temp)
	if err != nil {
		cell.Close()
		return nil, err
	}
	cmd, err := cell.Enter(p.program.args, env)
	if err != nil {
		cell.Close()
		return nil, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(q.Stdin), &p.stdout, &p.stderr
	r := &room{cell: cell, cmd: cmd, ended: make(chan struct{})}
	if err := r.furnish(); err != nil {
		cell.Close()
		return nil, err
	}
	return r, nil
}

// furnish starts the first process, which makes the room. A thread starts it and waits for it, since
// the process ends with that thread.
func (r *room) furnish() error {
	r.cmd.SysProcAttr.Pdeathsig, r.cmd.SysProcAttr.Setpgid = syscall.SIGKILL, true
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		err := r.cell.Start(r.cmd)
		started <- err
		if err == nil {
			_ = r.cmd.Wait() // the first process says how the program ended
			close(r.ended)
		}
	}()
	if err := <-started; err != nil {
		return &noRoom{err}
	}
	if err := r.cell.Furnish(r.cmd.Process.Pid); err != nil {
		r.kill()
		return err
	}
	return nil
}

func (r *room) reach(folder string) string { return r.cell.Reach(folder) }

func (r *room) owner() *workspace.Owner {
	if user := int(r.cell.User()); user != 0 {
		return &workspace.Owner{UID: user, GID: user}
	}
	return nil
}

func (r *room) unbounded() []string    { return r.cell.Unbounded() }
func (r *room) start() error           { return r.cell.Confine(r.cmd.Process.Pid) }
func (r *room) done() <-chan struct{}  { return r.ended }
func (r *room) reached() sandbox.Bound { return r.cell.Reached() }

func (r *room) rename(text string) string { return text }

func (r *room) end() (syscall.WaitStatus, bool) {
	r.kill()
	return r.cell.Ended()
}

// kill ends the first process, and with it all others, and waits for that.
func (r *room) kill() {
	_ = r.cmd.Process.Kill() // it may have ended
	<-r.ended
}

func (r *room) close() {
	r.kill()
	r.cell.Close()
}
