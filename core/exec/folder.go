//go:build unix

package exec

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/reflectory/reflectory/core/exec/workspace"
	"github.com/reflectory/reflectory/core/plugin/process/sandbox"
)

// outputTime is how long after the end of a program in a folder its outputs are read: what left its
// group may hold them open.
const outputTime = time.Second

// folder is a place that bounds nothing but time: a folder of the machine, in which the program runs as
// the host's user. It is for systems without rooms whose operator set sandbox: off.
type folder struct {
	cell  *sandbox.Cell // for its folder, which the next host removes if this one is killed
	dir   string
	why   *noRoom
	cmd   *exec.Cmd
	ended chan struct{}
}

// openFolder makes a folder, since there is no room.
func (p *running) openFolder(why *noRoom) (place, error) {
	cell, err := p.runner.box.Open(sandbox.Spec{Plugin: p.program.args[0], Path: p.program.Path})
	if err != nil {
		return nil, err
	}
	f := &folder{cell: cell, why: why, ended: make(chan struct{})}
	f.dir, err = filepath.EvalSymlinks(cell.Dir()) // as the program will name it
	for _, dir := range []string{sandbox.Workspace, sandbox.Home, sandbox.Temp} {
		if err == nil {
			err = os.Mkdir(f.reach(dir), 0o700)
		}
	}
	var env []string
	if err == nil {
		env, err = p.environment(p.runner.options.Getenv, f.reach(sandbox.Home), f.reach(sandbox.Temp))
	}
	if err != nil {
		cell.Close()
		return nil, err
	}
	f.cmd = &exec.Cmd{
		Path: p.program.Path, Args: p.program.args, Env: env, Dir: f.reach(sandbox.Workspace), WaitDelay: outputTime,
		Stdin: strings.NewReader(p.request.Stdin), Stdout: &p.stdout, Stderr: &p.stderr, SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}
	return f, nil
}

func (f *folder) reach(dir string) string { return filepath.Join(f.dir, dir) }
func (f *folder) owner() *workspace.Owner { return nil }

func (f *folder) unbounded() []string {
	return []string{f.why.Error() + ": files, network and processes of the machine are within reach, and memory, processes and disk aren't bounded"}
}

func (f *folder) start() error {
	if err := f.cmd.Start(); err != nil {
		return err
	}
	go func() {
		_ = f.cmd.Wait() // its state says how the program ended
		close(f.ended)
	}()
	return nil
}

func (f *folder) done() <-chan struct{}  { return f.ended }
func (f *folder) reached() sandbox.Bound { return "" }

// end ends the program's group. The status is the program's own, unless it was killed for this.
func (f *folder) end() (status syscall.WaitStatus, known bool) {
	select {
	case <-f.ended:
		known = true
	default:
	}
	_ = syscall.Kill(-f.cmd.Process.Pid, syscall.SIGKILL) // what is left of it
	<-f.ended
	status, _ = f.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return status, known
}

func (f *folder) rename(text string) string { return strings.ReplaceAll(text, f.dir+"/", "/") }

func (f *folder) close() { f.cell.Close() }
