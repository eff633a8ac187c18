//go:build amd64 || arm64

package exec

import (
	"cmp"
	"context"
	"errors"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reflectory/reflectory/core/exec/workspace"
	"github.com/reflectory/reflectory/core/plugin/process/sandbox"
	"github.com/reflectory/reflectory/sdk"
)

const (
	// startTime is how long the launcher may take for each of its steps.
	startTime = 10 * time.Second
	// lookEvery is how often a program's bounds are looked at, so that one that reached a bound and
	// goes on doesn't use its whole time: 20 looks a second take 1 ms.
	lookEvery = 50 * time.Millisecond
	// roomFiles is how many files and folders the program may have: a workspace, and half as many more
	// for itself and its caches.
	roomFiles = 3 * workspace.MaxFiles / 2
)

// running is a program in its cell.
type running struct {
	*job
	runner  *Runner
	cell    *sandbox.Cell
	process *process
	files   *workspace.Workspace
	stdout  output
	stderr  output
}

// run runs a program in a cell of its own.
func (r *Runner) run(ctx context.Context, j *job) (*sdk.ExecResponse, error) {
	q := j.request
	cell, err := r.box.Open(sandbox.Spec{
		Plugin: j.program.args[0], Path: j.program.Path, MemoryBytes: cmp.Or(q.Limits.MemoryBytes, defaultMemory), StartTimeout: startTime,
		Room: &sandbox.Room{
			Bytes: cmp.Or(q.Limits.DiskBytes, defaultDisk), Files: roomFiles,
			Tasks: int(cmp.Or(q.Limits.Processes, defaultProcesses)), Read: j.grants.shown(),
		},
	})
	if err != nil {
		return nil, err
	}
	defer cell.Close()
	p := &running{job: j, runner: r, cell: cell}
	env, err := p.environment()
	if err != nil {
		return nil, err
	}
	cmd, err := cell.Enter(j.program.args, env)
	if err != nil {
		return nil, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(q.Stdin), &p.stdout, &p.stderr
	if p.process, err = start(cmd, cell); err != nil {
		return nil, sdk.Errorf(sdk.Unavailable, "sandbox_missing", "programs aren't run, since this machine gives them no %s%w", namespaces, err).
			WithHint("give the host CAP_SYS_ADMIN if it is root, and user namespaces if it isn't; in a container that is a setting of the container")
	}
	defer p.process.end()
	if err := cell.Furnish(p.process.pid); err != nil {
		return nil, err
	}
	response := &sdk.ExecResponse{Program: j.program.ExecProgram, Unbounded: cell.Unbounded()}
	if len(response.Unbounded) > 0 && r.options.Sandbox != sandbox.Off {
		return nil, sdk.Errorf(sdk.Unavailable, "sandbox_missing", "programs aren't run, since this machine can't bound them: %s", strings.Join(response.Unbounded, "; ")).
			WithHint("run the host where it can, or set sandbox: %s to run them without", sandbox.Off).WithDetail("missing", response.Unbounded)
	}
	refused, err := p.fill(ctx)
	if p.files != nil {
		defer p.files.Close()
	}
	switch {
	case errors.Is(err, unix.ENOSPC):
		response.Stopped, response.Exit = sdk.ExecDisk, -1
		return response, nil
	case len(refused) > 0:
		return &sdk.ExecResponse{Refused: refused}, nil
	case err != nil:
		return nil, err
	}
	return response, p.finish(ctx, response)
}

// namespaces begins what says that a program can't have any.
const namespaces = "namespaces: "

// Missing lists what this machine can't bound, each with its reason. It makes a room, and runs nothing
// in it.
func (r *Runner) Missing() []string {
	cell, err := r.box.Open(sandbox.Spec{
		Plugin: "none", Path: "/bin/sh", MemoryBytes: defaultMemory, StartTimeout: startTime,
		Room: &sandbox.Room{Bytes: 1 << 20, Files: 1000, Tasks: 1},
	})
	if err != nil {
		return []string{err.Error()}
	}
	defer cell.Close()
	cmd, err := cell.Enter(nil, nil)
	if err != nil {
		return []string{err.Error()}
	}
	p, err := start(cmd, cell)
	if err != nil {
		return []string{namespaces + err.Error()}
	}
	defer p.end()
	if err := cell.Furnish(p.pid); err != nil {
		return []string{namespaces + err.Error()}
	}
	return cell.Unbounded()
}

// environment is all variables of the program.
func (p *running) environment() ([]string, error) {
	env := []string{"PATH=" + p.grants.path(), "HOME=" + sandbox.Home, "LANG=C.UTF-8", "TMPDIR=" + sandbox.Temp}
	for _, name := range p.request.Env {
		if !slices.Contains(p.grants.Env, name) {
			return nil, sdk.Errorf(sdk.Denied, "variable_not_granted", "the variable %.128q isn't granted to programs", name).
				WithHint("if they may have it, write in reflectory.yaml: commands: {env: [%.128q]}", name)
		}
		if value := p.runner.options.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env, nil
}

// fill makes the workspace and the caches.
func (p *running) fill(ctx context.Context) (refused []sdk.ExecRefusal, err error) {
	o := workspace.Options{Dir: p.cell.Reach(sandbox.Workspace), Folder: p.caller.Folder, Granted: p.grants.Read, Owner: p.owner()}
	if p.files, refused, err = workspace.Make(ctx, o, &p.request.Workspace, p.request.Report); err != nil || len(refused) > 0 {
		return refused, err
	}
	return nil, p.copyCaches(ctx)
}

// owner owns what the host writes for the program.
func (p *running) owner() *workspace.Owner {
	if user := int(p.cell.User()); user != 0 {
		return &workspace.Owner{UID: user, GID: user}
	}
	return nil
}

// finish starts the program, waits for its end, and reads what it left. By then, none of its processes
// runs any more.
func (p *running) finish(ctx context.Context, response *sdk.ExecResponse) error {
	began := time.Now()
	if err := p.cell.Confine(p.process.pid); err != nil {
		return p.notStarted(err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, cmp.Or(time.Duration(p.request.TimeoutMS)*time.Millisecond, defaultTimeout), errTimeout)
	defer cancel()
	reached := p.wait(ctx)
	p.process.end()
	response.DurationMS = time.Since(began).Milliseconds()
	status, known := p.cell.Ended()
	switch {
	case !known:
		response.Exit, response.Signal = -1, unix.SignalName(syscall.SIGKILL)
	case status.Signaled():
		response.Exit, response.Signal = -1, unix.SignalName(status.Signal())
	default:
		response.Exit = status.ExitStatus()
	}
	// Its end gives back the room of files that it had removed.
	response.Stopped = string(cmp.Or(reached, p.cell.Reached()))
	if !known && response.Stopped == "" && ctx.Err() != nil {
		if !errors.Is(context.Cause(ctx), errTimeout) {
			return context.Cause(ctx)
		}
		response.Stopped = sdk.ExecTimeout
	}
	var cutOut, cutErr bool
	response.Stdout, cutOut = p.stdout.text()
	response.Stderr, cutErr = p.stderr.text()
	response.Cut = cutOut || cutErr
	if p.keep != nil {
		return p.keep(p.cell.Reach(sandbox.Home))
	}
	var err error
	response.Report, err = p.files.Report()
	return err
}

// wait waits until the program has ended, reached a bound, which it returns, or is to end.
func (p *running) wait(ctx context.Context) sandbox.Bound {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		if reached := p.cell.Reached(); reached != "" {
			return reached
		}
		select {
		case <-p.process.done:
			return ""
		case <-ctx.Done():
			return ""
		case <-look.C:
		}
	}
}

func (p *running) notStarted(err error) error {
	var explained *sdk.Error
	if errors.As(err, &explained) {
		return err
	}
	return sdk.Errorf(sdk.Unavailable, "program_not_started", "the program %s can't be started: %w", p.program.Path, err).
		WithHint("make it executable for every user, and grant what interprets it with commands.read")
}

// process is the first process of a cell.
type process struct {
	cmd  *exec.Cmd
	pid  int
	done chan struct{}
}

// start starts the launcher. The thread that starts it also waits for it, since the launcher ends
// with that thread.
func start(cmd *exec.Cmd, cell *sandbox.Cell) (*process, error) {
	p := &process{cmd: cmd, done: make(chan struct{})}
	cmd.SysProcAttr.Pdeathsig, cmd.SysProcAttr.Setpgid = syscall.SIGKILL, true
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		err := cell.Start(cmd)
		if err == nil {
			p.pid = cmd.Process.Pid
		}
		started <- err
		if err == nil {
			_ = cmd.Wait() // the first process says how the program ended
			close(p.done)
		}
	}()
	return p, <-started
}

// end ends the first process, and with it all others, and waits for that.
func (p *process) end() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.done
}

// copyCaches copies the caches into the program's home, and fills those that aren't there yet.
func (p *running) copyCaches(ctx context.Context) error {
	for name, command := range p.request.Caches {
		from, err := p.runner.cache(ctx, p.job, p.files.Original, name, command)
		if err != nil {
			return err
		}
		if err := p.runner.caches.give(ctx, p.cell.Reach(sandbox.Home), name, from, p.owner()); err != nil {
			return err
		}
	}
	return nil
}
