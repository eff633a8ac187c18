package process

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"sync"

	"google.golang.org/grpc"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/logs"
	"github.com/reflectory/reflectory/core/plugin/process/sandbox"
	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/wire"
)

// instance is one running plugin.
//
// Only supervise, which starts with the process, ends the instance and closes what
// belongs to it. A caller that wants the instance to end calls end with a reason, which
// kills the process; the first reason is the cause.
type instance struct {
	options   Options
	installed plugin.Installed
	cell      *sandbox.Cell
	dir       string // private, the cell's: the socket, and the plugin's temporary folder
	tls       *tls.Config
	hello     wire.Start
	logs      *logs.Log
	redactor  *plugin.Redactor
	runs      runs
	salt      [sha256.Size]byte // of the names of configs, see config

	proxy   *proxy   // nil unless it was granted endpoints
	process *process // nil until it is launched
	conn    *grpc.ClientConn
	client  *wire.Client
	outputs sync.WaitGroup // readers of the process's output
	streams sync.WaitGroup // goroutines that use conn
	started chan struct{}  // closed once conn and client don't change any more
	stdio   chan struct{}  // closed once all output received over conn is logged
	done    chan struct{}

	mu          sync.Mutex
	cause       error // the first reason; errClosed after Close
	unreachable error // see giveUp
}

// errClosed is the cause if [instance.Close] asked for the end.
var errClosed = errors.New("closed")

func newInstance(o Options, box *sandbox.Sandbox, p plugin.Installed) (*instance, error) {
	cell, err := openCell(box, &p)
	if err != nil {
		return nil, err
	}
	i := &instance{
		options: o, installed: p, cell: cell, dir: cell.Dir(), done: make(chan struct{}),
		started: make(chan struct{}), stdio: make(chan struct{}),
		redactor: plugin.NewRedactor(p.Env),
		hello:    wire.Start{LogLevel: o.LogLevel, MessageBytes: p.Limits.MessageBytes, Parallel: p.Limits.Parallel},
	}
	i.logs = logs.New(logs.Options{Plugin: p.Name, Redactor: i.redactor, Tag: i.runs.tag, Sink: o.Log, Now: o.Now})
	_, _ = rand.Read(i.salt[:]) // it never fails
	if o.PlainText || p.PlainText {
		return i, nil
	}
	if i.tls, i.hello.TLS, err = issueTLS(o.Now()); err != nil {
		cell.Close()
		return nil, sdk.Errorf(sdk.Internal, "start_failed", "certificates for plugin %s: %w", p.Name, err)
	}
	return i, nil
}

// openCell makes the plugin's paths absolute and opens its cell.
func openCell(box *sandbox.Sandbox, p *plugin.Installed) (*sandbox.Cell, error) {
	path, err := filepath.Abs(p.Path)
	if err != nil {
		return nil, notLaunched(p, err, sandbox.NoExec)
	}
	dir, err := filepath.Abs(cmp.Or(p.Dir, filepath.Dir(path)))
	if err != nil {
		return nil, notLaunched(p, err, sandbox.NoExec)
	}
	p.Path, p.Dir = path, dir
	cell, err := box.Open(sandbox.Spec{
		Plugin: p.Name, Path: path, Dir: dir, FS: p.Granted.FS, Network: len(p.Granted.Network) > 0,
		MemoryBytes: p.Limits.MemoryBytes, Processes: p.Limits.Processes, StartTimeout: p.Limits.StartTimeout,
	})
	if err != nil {
		return nil, notLaunched(p, err, sandbox.NoExec)
	}
	return cell, nil
}

// Sandbox returns the confinement of the instance.
func (i *instance) Sandbox() sandbox.Status { return i.cell.Status() }

// Manifest returns the plugin's description of itself at its start.
func (i *instance) Manifest() *sdk.Manifest { return i.client.Manifest() }

// Done is closed once the process is reaped, its group killed and its folder
// removed.
func (i *instance) Done() <-chan struct{} { return i.done }

// Cause is why the instance ended; nil while it runs and after Close.
func (i *instance) Cause() error {
	select {
	case <-i.done:
	default:
		return nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if errors.Is(i.cause, errClosed) {
		return nil
	}
	return i.cause
}

// Kill ends the instance with all its children and waits for their end.
func (i *instance) Kill(reason error) {
	i.end(reason)
	<-i.done
}

// Close asks the plugin to end and kills it after the grace time.
func (i *instance) Close() error {
	i.setCause(errClosed)
	ctx, cancel := context.WithTimeout(context.Background(), i.options.Grace)
	defer cancel()
	_ = i.client.Close()
	_ = i.process.stdin.Close() // plugins built with sdk/process end now
	shutDown(ctx, i.conn)       // plugins built with go-plugin end now
	select {
	case <-i.process.done:
	case <-ctx.Done():
		i.process.kill()
	}
	<-i.done
	return nil
}

// end kills the process for a reason. It doesn't wait.
func (i *instance) end(reason error) {
	i.setCause(reason)
	i.mu.Lock()
	p := i.process
	i.mu.Unlock()
	if p != nil {
		p.kill()
	}
}

// giveUp kills a process that can't be reached any more. The reason becomes the cause, unless the
// process was already ending by itself: then how it ended is the cause.
func (i *instance) giveUp(reason error) {
	i.mu.Lock()
	i.unreachable = reason
	p := i.process
	i.mu.Unlock()
	p.kill()
}

// setCause keeps the first cause.
func (i *instance) setCause(reason error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.cause == nil {
		i.cause = reason
	}
}

// ended is the cause of an end that no caller gave a reason for.
func (i *instance) ended() error {
	i.mu.Lock()
	unreachable := i.unreachable
	i.mu.Unlock()
	if unreachable != nil && i.process.killed() && !i.cell.OutOfMemory() {
		return unreachable
	}
	return i.exited()
}

// exited is the cause of a process that ended by itself.
func (i *instance) exited() error {
	how, details := i.process.exit()
	tail, headline := i.logs.End()
	message := "plugin " + i.installed.Name + " exited " + how
	if headline != "" {
		message += "; it wrote: " + headline
		details["stderr"] = tail
	}
	e := &sdk.Error{Code: sdk.Unavailable, Reason: "plugin_exited", Message: message, Details: details}
	if i.cell.OutOfMemory() {
		e.Message += fmt.Sprintf("; the kernel ended it at its memory limit of %d MiB", i.installed.Limits.MemoryBytes>>20)
		return e.WithHint("give it less to do at once, or raise limits.memory in its plugin.yaml")
	}
	if i.cell.Status().Tasks != "" && noThread.MatchString(headline) {
		e.Message += fmt.Sprintf("; it may be %d processes and threads", sandbox.TasksPerProcess*i.installed.Limits.Processes)
		return e.WithHint("have it start fewer, or raise limits.processes in its plugin.yaml")
	}
	return e
}

// noThread is how a program in Go ends that gets no thread, with cgo and without.
var noThread = regexp.MustCompile(`pthread_create failed|failed to create new OS thread`)
