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

// instance is one running plugin, which serves one call at a time. Its guest is replaced
// when its memory has grown, when it has reached its age or number of calls, or when the
// host cut a call short. A guest that traps, exits or uses up its fuel ends the instance.
type instance struct {
	driver   *Driver
	plugin   plugin.Installed
	module   *module
	protocol protocol
	network  *guard.Dialer
	owner    string // see snapshotKey
	pure     bool
	manifest *sdk.Manifest
	logs     *logs.Log
	output   *logs.Writer

	// idle holds a token while no call runs. Only the goroutine that took it may use guest.
	idle  chan struct{}
	guest *guest

	life context.Context
	end  context.CancelCauseFunc // the first reason is the cause
	done chan struct{}           // closed by the goroutine that holds the token
}

// errEnded is the cause when Close ended the instance.
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
		driver: d, plugin: p, module: m, network: &guard.Dialer{List: list, Resolver: d.options.Resolver, Through: d.options.Through},
		owner: p.Name + "\x00" + strings.Join(p.Env, "\x00"),
		pure:  Impure(p) == "",
		logs:  logs.New(logs.Options{Plugin: p.Name, Redactor: plugin.NewRedactor(p.Env), Sink: d.options.Log, Now: d.options.Now}),
		idle:  make(chan struct{}, 1), done: make(chan struct{}),
	}
	if d.options.Roots != nil && len(p.Granted.Network) > 0 {
		i.network.Roots = d.options.Roots()
	}
	i.output = logs.NewWriter(i.logs)
	i.protocol = protocolOf(m.info)
	i.life, i.end = context.WithCancelCause(context.Background())
	i.idle <- struct{}{}
	return i, nil
}

// checkGrants refuses grants that WASM guests can't have.
func checkGrants(p plugin.Installed) error {
	if len(p.Granted.FS) == 0 {
		return nil
	}
	return sdk.Errorf(sdk.Incompatible, "capability_unsupported", "plugin %s was granted files (%s), which WASM guests can't use", p.Name, strings.Join(p.Granted.FS, ", ")).
		WithHint("take fs out of its plugin.yaml, and pass what it has to read in its config")
}

// Manifest is the manifest that the plugin returned at its start.
func (i *instance) Manifest() *sdk.Manifest { return i.manifest }

// Done is closed once the guest's memory has been freed.
func (i *instance) Done() <-chan struct{} { return i.done }

// Cause is why the instance ended; nil while it runs and after Close.
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
		i.release()
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

// finish waits until no call runs, and frees everything. The instance's life must have
// ended, so that a call under way ends at its next slice of fuel.
func (i *instance) finish() {
	select {
	case <-i.idle:
		i.release()
	case <-i.done:
	}
}

// closeGuest closes the guest, if there is one. The next call gets a new one.
func (i *instance) closeGuest() {
	if i.guest != nil {
		i.guest.close()
		i.guest = nil
	}
}

// acquire waits until no call runs. The caller must release.
func (i *instance) acquire(ctx context.Context) error {
	select {
	case <-i.idle:
	case <-ctx.Done():
		return i.callEnded(ctx.Err())
	case <-i.life.Done():
		return i.endedError()
	}
	if i.life.Err() != nil {
		i.idle <- struct{}{}
		return i.endedError()
	}
	return nil
}

// release lets the next call begin. If the instance's life has ended, it frees everything
// first and closes done.
func (i *instance) release() {
	i.output.Flush()
	if i.life.Err() != nil && !i.ended() {
		i.closeGuest()
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

// endedError is the error of a call on an instance that has ended.
func (i *instance) endedError() error {
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

// callEnded is the error of a call whose context ended.
func (i *instance) callEnded(cause error) error {
	e := sdk.Errorf(sdk.Cancelled, "", "the call of plugin %s was cancelled", i.plugin.Name)
	if errors.Is(cause, context.DeadlineExceeded) {
		e = sdk.Errorf(sdk.Timeout, "call_timeout", "plugin %s did not answer before the call's deadline", i.plugin.Name).
			WithHint("raise the timeout, or give the plugin less to do in one call")
	}
	e.Err = cause
	return e
}
