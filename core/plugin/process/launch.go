package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/reflectory/reflectory/core/plugin/process/sandbox"
)

// process is a started program with its whole process group.
type process struct {
	cmd *exec.Cmd
	pid int
	// stdin is the host's end; stdout and stderr are to be read.
	stdin, stdout, stderr *os.File
	// done is closed once the program is reaped and its group killed.
	done chan struct{}

	mu     sync.Mutex
	reaped bool
}

// niceness is by how much a plugin's priority is lower than the host's. It is nice's own default: the
// host then gets nine times as much of a processor for which both compete.
const niceness = 10

// launch starts cmd in its own process group. The caller closes the pipes.
//
// The thread that starts the program also waits for it: the parent-death signal
// fires when the thread that forked ends, not the process, so that thread must
// live for as long as the program. A wait blocks a thread anyway.
//
// The cell confines the program before it can run. If that fails, the process is ended.
func launch(cmd *exec.Cmd, cell *sandbox.Cell) (*process, error) {
	p := &process{cmd: cmd, done: make(chan struct{})}
	ends, err := p.pipes()
	if err != nil {
		return nil, err
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	setGroup(cmd.SysProcAttr)
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		err := cell.Start(cmd)
		for _, f := range ends {
			_ = f.Close()
		}
		if err == nil {
			p.pid = cmd.Process.Pid
			yield(p.pid)
		}
		started <- err
		if err == nil {
			p.reap()
		}
	}()
	if err := <-started; err != nil {
		p.closePipes()
		return nil, err
	}
	if err := cell.Confine(p.pid); err != nil {
		p.kill()
		<-p.done
		p.closePipes()
		return nil, err
	}
	return p, nil
}

// pipes makes the three pipes and returns the program's ends of them.
func (p *process) pipes() ([]*os.File, error) {
	var files []*os.File
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			for _, f := range files {
				_ = f.Close()
			}
			return nil, err
		}
		files = append(files, r, w)
	}
	p.stdin, p.stdout, p.stderr = files[1], files[2], files[4]
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = files[0], files[3], files[5]
	return []*os.File{files[0], files[3], files[5]}, nil
}

// output is one of a program's pipes. Once a read's deadline has passed, which says that the
// program has ended, it is read until nothing came for drainTime, and no longer than drainLimit.
type output struct {
	pipe  *os.File
	until time.Time // zero until the program has ended
}

// Read implements io.Reader.
func (o *output) Read(b []byte) (int, error) {
	if o.until.IsZero() {
		n, err := o.pipe.Read(b)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		o.until = time.Now().Add(drainLimit)
	}
	now := time.Now()
	if now.After(o.until) {
		return 0, io.EOF
	}
	_ = o.pipe.SetReadDeadline(now.Add(drainTime))
	return o.pipe.Read(b)
}

func (p *process) closePipes() {
	for _, f := range []*os.File{p.stdin, p.stdout, p.stderr} {
		_ = f.Close() // closing twice is harmless
	}
}

// reap waits for the program's end, kills the rest of its group while no other group can
// have taken its id, and collects the status.
func (p *process) reap() {
	awaitExit(p.cmd)
	p.mu.Lock()
	killGroup(p.cmd.Process)
	_ = p.cmd.Wait() // the status is in ProcessState
	p.reaped = true
	p.mu.Unlock()
	close(p.done)
}

// kill kills the program with its group. It does nothing once the program is reaped.
func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		killGroup(p.cmd.Process)
	}
}

// killed is whether the program was killed, after done. A process that has begun to end keeps
// its own status if it is killed meanwhile.
func (p *process) killed() bool {
	ws, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && ws.Signaled() && ws.Signal() == syscall.SIGKILL
}

// exit describes the end, after done: "with status 3", "by signal 9 (killed)".
func (p *process) exit() (text string, details map[string]any) {
	ws, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && ws.Signaled() {
		return fmt.Sprintf("by signal %d (%s)", ws.Signal(), ws.Signal()),
			map[string]any{"signal": int(ws.Signal())}
	}
	status := p.cmd.ProcessState.ExitCode()
	return fmt.Sprintf("with status %d", status), map[string]any{"exit_status": status}
}
