package plugin

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/reflectory/reflectory/sdk"
)

// Installed is a plugin that the host may start.
type Installed struct {
	// Name is its name in workflows and messages: publisher/name.
	Name string
	// Version is its package's version.
	Version string
	// Kinds are the kinds that its package declares, sorted. A plugin that describes itself
	// must have the same kinds in its manifest; for any other plugin, these kinds are used.
	// Empty means that it may have all kinds.
	Kinds []sdk.Kind
	// Extism means that a module is an Extism plug-in, whatever it imports (abi: extism).
	Extism bool
	// Runtime determines which driver starts it. "" is [RuntimeProcess].
	Runtime Runtime
	// Dir is the folder of its files, which it may read. "" is Path's folder.
	Dir string
	// Source is the folder that Dir is a private copy of. Messages name it instead of Dir.
	// "" is Dir itself.
	Source string
	// Path is its executable or module; Args follow an executable.
	Path string
	Args []string
	// Digest is the SHA-256 of the file at Path, in hexadecimal; "" if it isn't known.
	Digest string
	// Env holds the NAME=value pairs that it was granted. Nothing else of the
	// host's environment reaches it.
	Env []string
	// Granted is what it may do beyond computing.
	Granted Capabilities
	// PlainText turns mutual TLS off, for a subprocess that doesn't support it
	// (tls: false). Its peer is then checked by the socket's credentials.
	PlainText bool
	// Stateful lets a WASM instance keep its memory from one call to the next.
	Stateful bool
	// Isolated gives each call of a WASM plugin pristine memory (isolation: call).
	Isolated bool
	// Limits bound each of its instances.
	Limits Limits
}

// Runtime is what runs a plugin.
type Runtime string

// The runtimes.
const (
	RuntimeProcess Runtime = "process"
	RuntimeWASM    Runtime = "wasm"
)

// Limits bound a plugin. The zero value of each field is its default: see
// the constants below.
type Limits struct {
	// Timeout is the deadline of a call that names none. Default 30 s.
	Timeout time.Duration
	// StartTimeout is how long a start may take. Default 10 s.
	StartTimeout time.Duration
	// MessageBytes is the largest message in either direction. Default 8 MiB.
	MessageBytes int
	// Instances is how many instances run at most. Default 2.
	Instances int
	// Parallel is how many calls one instance takes at a time. 0 means the manifest's
	// Parallel, which defaults to 1.
	Parallel int
	// MemoryBytes limits the memory of one instance: the data of a process, or the linear
	// memory of a module. Default 256 MiB for a
	// process, 64 MiB for a module.
	MemoryBytes int64
	// Fuel is how many units of work one call of a module may use. Default 1e9.
	Fuel uint64
	// Processes is how many processes an instance may be. Default 1: it can't fork.
	Processes int
}

// Defaults of [Limits].
const (
	DefaultTimeout      = 30 * time.Second
	DefaultStartTimeout = 10 * time.Second
	DefaultMessageBytes = 8 << 20
	DefaultInstances    = 2
	DefaultFuel         = 1_000_000_000
	DefaultProcesses    = 1

	DefaultProcessMemory = 256 << 20
	DefaultWASMMemory    = 64 << 20
)

// WithDefaults returns the limits with each zero field set to the default of a runtime.
func (l Limits) WithDefaults(r Runtime) Limits {
	if l.Timeout == 0 {
		l.Timeout = DefaultTimeout
	}
	if l.StartTimeout == 0 {
		l.StartTimeout = DefaultStartTimeout
	}
	if l.MessageBytes == 0 {
		l.MessageBytes = DefaultMessageBytes
	}
	if l.Instances == 0 {
		l.Instances = DefaultInstances
	}
	if l.MemoryBytes == 0 {
		l.MemoryBytes = DefaultProcessMemory
		if r == RuntimeWASM {
			l.MemoryBytes = DefaultWASMMemory
		}
	}
	if l.Fuel == 0 {
		l.Fuel = DefaultFuel
	}
	if l.Processes == 0 {
		l.Processes = DefaultProcesses
	}
	return l
}

// Driver starts instances of plugins: as a subprocess, or as a WASM module.
type Driver interface {
	// Start starts one instance and reads its manifest. If it fails, nothing is left behind,
	// and the error names the plugin and the root cause, with the last lines of its stderr.
	Start(ctx context.Context, p Installed) (Instance, error)
}

// Drivers are the drivers of a host, each under the runtime that it serves.
type Drivers map[Runtime]Driver

// Start starts one instance with the driver of the plugin's runtime. Without such a
// driver, the error is sdk.Incompatible, reason "runtime_unsupported".
func (d Drivers) Start(ctx context.Context, p Installed) (Instance, error) {
	runtime := cmp.Or(p.Runtime, RuntimeProcess)
	driver, ok := d[runtime]
	if !ok {
		return nil, sdk.Errorf(sdk.Incompatible, "runtime_unsupported", "plugin %s: this host runs no %q plugins", p.Name, runtime).
			WithHint("set runtime in its plugin.yaml to %s", RuntimeProcess)
	}
	return driver.Start(ctx, p)
}

// Instance is one running plugin.
type Instance interface {
	Caller
	// Manifest is the manifest that the plugin returned at its start.
	Manifest() *sdk.Manifest
	// Done is closed once the instance has ended, for whatever reason.
	Done() <-chan struct{}
	// Cause is the reason why the instance ended, with the last lines of its stderr; nil
	// while it runs and after Close. It is sdk.Exhausted if the driver ended the instance
	// because it exceeded a size, which doesn't count as the plugin's exit.
	Cause() error
	// Kill ends it at once with all its children, and waits for that. The reason
	// becomes its Cause.
	Kill(reason error)
	// Close asks it to end, and kills it after a grace time. It is idempotent.
	Close() error
}

// Caller calls a running plugin. Results and errors are as in core.Plugins; the
// context's deadline and cancellation reach the plugin. When the instance dies
// the error is sdk.Unavailable, reason "plugin_exited".
//
// A call whose context ends should continue until the plugin has answered the
// cancellation, or has ended: the supervisor bounds the wait and finally kills the
// instance. A driver that can't wait returns the context's own error (as errors.Is finds
// it), which means that the plugin may still be working.
type Caller interface {
	Prepare(ctx context.Context, kind sdk.Kind, c Config) error
	Evaluate(ctx context.Context, c Config, reqs []*sdk.EvaluateRequest) ([]sdk.EvaluateResult, error)
	Generate(ctx context.Context, c Config, reqs []*sdk.GenerateRequest) ([]sdk.GenerateResult, error)
	Correct(ctx context.Context, c Config, reqs []*sdk.CorrectRequest) ([]sdk.CorrectResult, error)
}

// Config is a config and the digest that names it.
type Config struct {
	JSON   json.RawMessage
	Digest string
}
