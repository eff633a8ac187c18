//go:build unix

package exec

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reflectory/reflectory/core/exec/workspace"
	"github.com/reflectory/reflectory/core/plugin/process/sandbox"
	"github.com/reflectory/reflectory/sdk"
)

// lookEvery is how often a program's bounds are looked at, so that one that reached a bound and goes
// on doesn't use its whole time: 20 looks a second take 1 ms.
const lookEvery = 50 * time.Millisecond

// place is where a program runs: a [room] of the sandbox, or a [folder] where the operator switched
// that off. Its folders are [sandbox.Workspace], [sandbox.Home] and [sandbox.Temp].
type place interface {
	// reach is the path by which the host reaches a folder of the place.
	reach(folder string) string
	// owner owns what the host writes there; nil is the host's own user.
	owner() *workspace.Owner
	// unbounded lists what isn't bounded there, each with its reason.
	unbounded() []string
	// start starts the program.
	start() error
	// done is closed once the program has ended.
	done() <-chan struct{}
	// reached is the bound that the program reached, "" if none.
	reached() sandbox.Bound
	// end ends what runs in the place, waits for that, and says how the program ended; false if that
	// isn't known, since it ended by this.
	end() (syscall.WaitStatus, bool)
	// rename is what the program wrote, with its folders named as in a room.
	rename(text string) string
	// close removes the place.
	close()
}

// running is a program in its place.
type running struct {
	*job
	place
	runner *Runner
	files  *workspace.Workspace
	stdout output
	stderr output
}

// run runs a program in a place of its own.
func (r *Runner) run(ctx context.Context, j *job) (*sdk.ExecResponse, error) {
	p := &running{job: j, runner: r}
	if err := p.open(); err != nil {
		return nil, err
	}
	defer p.close()
	response := &sdk.ExecResponse{Program: j.program.ExecProgram, Unbounded: p.unbounded()}
	if len(response.Unbounded) > 0 && r.options.Sandbox != sandbox.Off {
		return nil, missing(response.Unbounded)
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

// open makes the place: a room, or a folder if the system has no rooms and the operator wants none.
func (p *running) open() (err error) {
	p.place, err = p.openRoom()
	var none *noRoom
	if !errors.As(err, &none) {
		return err
	}
	if p.runner.options.Sandbox != sandbox.Off {
		return missing([]string{none.Error()})
	}
	p.place, err = p.openFolder(none)
	return err
}

// Missing lists what this machine can't bound, each with its reason. It makes a room, and runs nothing
// in it.
func (r *Runner) Missing() []string {
	p := &running{runner: r, job: &job{program: &program{sdk.ExecProgram{Path: "/bin/sh"}, []string{"sh"}}, request: &sdk.ExecRequest{}}}
	room, err := p.openRoom()
	if err != nil {
		return []string{err.Error()}
	}
	defer room.close()
	return room.unbounded()
}

// noRoom is why a system has no rooms.
type noRoom struct{ cause error }

func (n *noRoom) Error() string { return "namespaces: " + n.cause.Error() }

func missing(list []string) error {
	return sdk.Errorf(sdk.Unavailable, "sandbox_missing", "programs aren't run, since this machine can't bound them: %s", strings.Join(list, "; ")).
		WithHint("run the host where it can (as root with CAP_SYS_ADMIN, or with user namespaces; in a container that is a setting of the container), or set sandbox: %s to run them without", sandbox.Off).
		WithDetail("missing", list)
}

// environment is all variables of the program, to which home and temp are these paths.
func (j *job) environment(getenv func(string) string, home, temp string) ([]string, error) {
	env := []string{"PATH=" + j.grants.path(), "HOME=" + home, "LANG=C.UTF-8", "TMPDIR=" + temp}
	for _, name := range j.request.Env {
		if !slices.Contains(j.grants.Env, name) {
			return nil, sdk.Errorf(sdk.Denied, "variable_not_granted", "the variable %.128q isn't granted to programs", name).
				WithHint("if they may have it, write in reflectory.yaml: commands: {env: [%.128q]}", name)
		}
		if value := getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env, nil
}

// fill makes the workspace and the caches.
func (p *running) fill(ctx context.Context) (refused []sdk.ExecRefusal, err error) {
	o := workspace.Options{Dir: p.reach(sandbox.Workspace), Folder: p.caller.Folder, Granted: p.grants.Read, Owner: p.owner()}
	if p.files, refused, err = workspace.Make(ctx, o, &p.request.Workspace, p.request.Report); err != nil || len(refused) > 0 {
		return refused, err
	}
	return nil, p.copyCaches(ctx)
}

// copyCaches copies the caches into the program's home, and fills those that aren't there yet.
func (p *running) copyCaches(ctx context.Context) error {
	for name, command := range p.request.Caches {
		from, err := p.runner.cache(ctx, p.job, p.files.Original, name, command)
		if err != nil {
			return err
		}
		if err := p.runner.caches.give(ctx, p.reach(sandbox.Home), name, from, p.owner()); err != nil {
			return err
		}
	}
	return nil
}

// finish starts the program, waits for its end, and reads what it left. By then, none of its processes
// runs any more, but those that left its group where nothing bounds them.
func (p *running) finish(ctx context.Context, response *sdk.ExecResponse) error {
	began := time.Now()
	if err := p.start(); err != nil {
		return p.notStarted(err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, cmp.Or(time.Duration(p.request.TimeoutMS)*time.Millisecond, defaultTimeout), errTimeout)
	defer cancel()
	reached := p.wait(ctx)
	status, known := p.end()
	response.DurationMS = time.Since(began).Milliseconds()
	switch {
	case !known:
		response.Exit, response.Signal = -1, unix.SignalName(syscall.SIGKILL)
	case status.Signaled():
		response.Exit, response.Signal = -1, unix.SignalName(status.Signal())
	default:
		response.Exit = status.ExitStatus()
	}
	// Its end gives back the room of files that it had removed.
	response.Stopped = string(cmp.Or(reached, p.reached()))
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
	response.Stdout, response.Stderr = p.rename(response.Stdout), p.rename(response.Stderr)
	if p.keep != nil {
		return p.keep(p.reach(sandbox.Home))
	}
	report, err := p.files.Report()
	response.Report = p.rename(report)
	return err
}

// wait waits until the program has ended, reached a bound, which it returns, or is to end.
func (p *running) wait(ctx context.Context) sandbox.Bound {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		if reached := p.reached(); reached != "" {
			return reached
		}
		select {
		case <-p.done():
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
