package exec

import (
	"cmp"
	"context"
	"errors"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/reflectory/reflectory/core/plugin/process/sandbox"
	"github.com/reflectory/reflectory/core/share"
	"github.com/reflectory/reflectory/sdk"
)

// Grants are what the operator grants to programs: Allow names those that may be run, by a name that
// is looked up in [Path] or by an absolute path. Read are folders that they can read in addition to
// the system's, and that they may work on a copy of. Env names the variables of the host's
// environment that a request may ask for.
type Grants struct{ Allow, Read, Env []string }

// Options set up a [Runner].
type Options struct {
	// Grants are asked for with each request, since they can change.
	Grants func() Grants
	// Sandbox is what to do if the system lacks a bound: [sandbox.Off] runs without it, and the
	// response names it; any other mode refuses.
	Sandbox sandbox.Mode
	// TempDir is where the folders of running programs are. Default the system's.
	TempDir string
	// CacheDir is where filled caches are kept. "" means that requests with caches are refused.
	CacheDir string
	// Getenv reads the host's environment. Nil is an empty one.
	Getenv func(string) string
}

// Caller is on whose behalf a program runs.
type Caller struct {
	// Tenant shares the machine with others.
	Tenant string
	// Folder is the folder of the workflow, "" if it has none.
	Folder string
}

// Runner runs programs, as many at a time as the machine has processors. It is safe for concurrent
// use.
type Runner struct {
	options Options
	box     *sandbox.Sandbox
	places  *share.Share
	caches  caches

	mu    sync.Mutex
	known map[string]known // programs, by path
}

// New returns a runner. It examines the system when it is first needed.
func New(o Options) *Runner {
	o.TempDir = cmp.Or(o.TempDir, os.TempDir())
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	return &Runner{
		options: o, box: sandbox.New(sandbox.Options{Mode: o.Sandbox, TempDir: o.TempDir}),
		places: share.New(share.Options{Places: int64(runtime.GOMAXPROCS(0))}), caches: caches{dir: o.CacheDir}, known: map[string]known{},
	}
}

// errTimeout ends a program at its own time limit, rather than its caller's.
var errTimeout = errors.New("the program's time is over")

// job is one program that is to run.
type job struct {
	program *program
	caller  Caller
	grants  Grants
	request *sdk.ExecRequest
	// keep is called once the program has ended, with a path to its home; nil for nothing.
	keep func(home string) error
}

// Run runs a program.
func (r *Runner) Run(ctx context.Context, caller Caller, q *sdk.ExecRequest) (*sdk.ExecResponse, error) {
	if err := check(q); err != nil {
		return nil, err
	}
	done, err := r.places.Take(ctx, caller.Tenant, 1)
	if err != nil {
		return nil, err
	}
	defer done()
	j := &job{caller: caller, grants: r.options.Grants(), request: q}
	if j.program, err = r.find(ctx, j.grants, q.Run, q.Shell); err != nil {
		return nil, err
	}
	return r.run(ctx, j)
}

// The bounds of a request, and what they are if it sets none.
const (
	defaultTimeout   = 5 * time.Minute
	defaultMemory    = 2 << 30
	defaultProcesses = 256
	defaultDisk      = 1 << 30

	maxTimeout   = time.Hour
	maxMemory    = 64 << 30
	maxProcesses = 8192
	maxDisk      = 16 << 30
	maxStdin     = 8 << 20
	maxCaches    = 8
)

// check refuses a request that no grant could make possible.
func check(q *sdk.ExecRequest) error {
	for _, b := range []struct {
		name       string
		value, max int64
	}{
		{"timeout_ms", q.TimeoutMS, maxTimeout.Milliseconds()}, {"limits.memory_bytes", q.Limits.MemoryBytes, maxMemory},
		{"limits.processes", q.Limits.Processes, maxProcesses}, {"limits.disk_bytes", q.Limits.DiskBytes, maxDisk},
	} {
		if b.value < 0 || b.value > b.max {
			return invalid("%s is %d, not 0 to %d", b.name, b.value, b.max)
		}
	}
	switch {
	case (len(q.Run) == 0) == (q.Shell == ""):
		return invalid("a request has either run or shell")
	case len(q.Run) > 0 && q.Run[0] == "":
		return invalid("run names no program")
	case len(q.Stdin) > maxStdin:
		return invalid("stdin has %d bytes (limit %d)", len(q.Stdin), maxStdin)
	case len(q.Caches) > maxCaches:
		return invalid("there are %d caches (limit %d)", len(q.Caches), maxCaches)
	}
	return nil
}

func invalid(format string, args ...any) error {
	return sdk.Errorf(sdk.Invalid, "request_invalid", format, args...).WithHint("send a request of exec as package sdk describes it")
}
