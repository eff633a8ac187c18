package wasm

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/guard"
	"github.com/reflectory/reflectory/core/plugin/logs"
	"github.com/reflectory/reflectory/sdk"
)

// instance is one running plugin: a place for one call at a time. The guest in
// it comes and goes: it is replaced where its memory grew, its age or its number
// of calls is reached, or a call of it was cut short by the host. A guest that
// traps, exits or uses up its fuel ends the instance.
type instance struct {
	driver   *Driver
	plugin   plugin.Installed
	module   *module
	speaker  speaker
	network  *guard.Dialer
	owner    string // see snapshotKey
	pure     bool
	manifest *sdk.Manifest
	logs     *logs.Log
	output   *logs.Writer

	// idle holds a token while no call runs. The goroutine that took it may touch guest.
	idle  chan struct{}
	guest *guest

	life context.Context
	end  context.CancelCauseFunc // the first reason is the cause
	done chan struct{}           // closed by the goroutine that has the token of idle
}

// errEnded is the cause of an end that was asked for.
var errEnded = errors.New("closed")

func newInstance(d *Driver, p plugin.Installed, m *module) (*instance, error) {
	if err := checkGrants(p); err != nil {
		return nil, err
	}
	list, err := guard.New(p.Granted.Network)
	if err != nil {
		return nil, err
	}
	i := &instance{
		driver: d, plugin: p, module: m, network: &guard.Dialer{List: list, Resolver: d.options.Resolver},
		owner: p.Name + "\x00" + strings.Join(p.Env, "\x00"),
		pure:  Impure(p) == "",
		logs:  logs.New(logs.Options{Plugin: p.Name, Redactor: plugin.NewRedactor(p.Env), Sink: d.options.Log, Now: d.options.Now}),
		idle:  make(chan struct{}, 1), done: make(chan struct{}),
	}
	i.output = logs.NewWriter(i.logs)
	i.speaker = speakerOf(m.info)
	i.life, i.end = context.WithCancelCause(context.Background())
	i.idle <- struct{}{}
	return i, nil
}

// checkGrants refuses what no guest gets.
func checkGrants(p plugin.Installed) error {
	if len(p.Granted.FS) == 0 {
		return nil
	}
	return sdk.Errorf(sdk.Incompatible, "capability_unsupported", "plugin %s was granted files (%s), which WASM guests don't get", p.Name, strings.Join(p.Granted.FS, ", ")).
		WithHint("take fs out of its plugin.yaml, and pass what it has to read in its config")
}

// Manifest is what the plugin said of itself at its start.
func (i *instance) Manifest() *sdk.Manifest { return i.manifest }

// Done is closed once the guest's memory is given back.
func (i *instance) Done() <-chan struct{} { return i.done }

// Cause says why the instance is gone.
func (i *instance) Cause() error {
	if !i.ended() {
		return nil
	}
	if cause := context.Cause(i.life); !errors.Is(cause, errEnded) {
		return cause
	}
	return nil
}

// Kill ends the instance and waits for that.
func (i *instance) Kill(reason error) {
	i.end(reason)
	i.finish()
}

// Close ends the instance after the call under way, if there is one.
func (i *instance) Close() error {
	grace := time.NewTimer(closeGrace)
	defer grace.Stop()
	select {
	case <-i.idle:
		i.end(errEnded)
		i.leave()
	case <-i.done:
	case <-grace.C:
		i.end(errEnded)
		i.finish()
	}
	return nil
}

// closeGrace is how long a call under way has when the instance is closed, as
// for processes.
const closeGrace = 2 * time.Second

// finish waits until no call runs, and gives everything back. The instance's
// life must have ended, so a call under way ends at its next slice.
func (i *instance) finish() {
	select {
	case <-i.idle:
		i.leave()
	case <-i.done:
	}
}

// drop gives the guest up.
func (i *instance) drop() {
	if i.guest != nil {
		i.guest.close()
		i.guest = nil
	}
}

// enter waits until no call runs. The caller must leave.
func (i *instance) enter(ctx context.Context) error {
	select {
	case <-i.idle:
	case <-ctx.Done():
		return i.callEnded(ctx.Err())
	case <-i.life.Done():
		return i.gone()
	}
	if i.life.Err() != nil {
		i.idle <- struct{}{}
		return i.gone()
	}
	return nil
}

// leave lets the next call in. If the instance's life has ended, so does the
// instance, and everything is given back first.
func (i *instance) leave() {
	i.output.Flush()
	if i.life.Err() != nil && !i.ended() {
		i.drop()
		i.logs.Flush()
		close(i.done)
	}
	i.idle <- struct{}{}
}

func (i *instance) ended() bool {
	select {
	case <-i.done:
		return true
	default:
		return false
	}
}

// gone is the error of a call that finds the instance ended.
func (i *instance) gone() error {
	cause := context.Cause(i.life)
	switch {
	case sdk.ReasonOf(cause) == "plugin_exited":
		return cause
	case errors.Is(cause, errEnded):
		return sdk.Errorf(sdk.Unavailable, "plugin_exited", "plugin %s was closed", i.plugin.Name)
	}
	e := sdk.Errorf(sdk.Unavailable, "plugin_exited", "plugin %s was ended: %w", i.plugin.Name, cause)
	e.Hint, e.Try = sdk.AsError(cause).Hint, sdk.AsError(cause).Try
	return e
}

// callEnded describes the end of a call's context.
func (i *instance) callEnded(cause error) error {
	e := sdk.Errorf(sdk.Cancelled, "", "the call of plugin %s was cancelled", i.plugin.Name)
	if errors.Is(cause, context.DeadlineExceeded) {
		e = sdk.Errorf(sdk.Timeout, "call_timeout", "plugin %s did not answer before the call's deadline", i.plugin.Name).
			WithHint("raise the timeout, or give the plugin less to do in one call")
	}
	e.Err = cause
	return e
}
