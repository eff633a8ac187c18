package wasm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/abi"
)

// Modules are compiled in a process of their own, the compiler: this program,
// started again (see compiler_child.go). What a stranger's module makes an engine
// do can't be foreseen from its size: 60 KB took 151 s, 16 KB took 7 GB, and an
// engine can't be stopped from within its process. So the host never validates
// nor compiles: it hands over the module's path and digest, waits, and takes the
// compiled code from a folder:
//
//	host                                   compiler
//	start itself, order on its stdin ─►    limits of its own; read, hash, scan, validate,
//	                                       meter and compile into the order's folder;
//	                                       load that once more, as the host will
//	move the files to the cache  ◄─        reply on its stdout, exit
//	load: no function is compiled
//
// The end of its standard input ends it, and so does the end of the host.

// CompileLimits bound the compilation of one module. The zero value of each field
// is its default.
type CompileLimits struct {
	// CPU is the time that its process may compute, on all processors together,
	// rounded up to seconds. Default 30 s: a Go guest takes 4 to 12.
	CPU time.Duration
	// Wall is how long it may take. Default 10 min: CPU is the limit that
	// counts, except on a machine that doesn't let it compute.
	Wall time.Duration
	// MemoryBytes is the memory of its process. Default 1 GiB; a Go guest takes 120
	// MB.
	MemoryBytes int64
	// LoadBytes is how much memory the host may need to load what was compiled, or
	// eight times the module's size where that is more. Default 64 MiB; a Go guest of
	// 5 MB takes 35.
	LoadBytes int64
}

// loadPerByte is how much a module may take in the host, by its size: a Go guest
// takes 7 bytes for each of its own.
const loadPerByte = 8

func (l CompileLimits) withDefaults() CompileLimits {
	if l.CPU == 0 {
		l.CPU = 30 * time.Second
	}
	if l.Wall == 0 {
		l.Wall = 10 * time.Minute
	}
	if l.MemoryBytes == 0 {
		l.MemoryBytes = 1 << 30
	}
	if l.LoadBytes == 0 {
		l.LoadBytes = 64 << 20
	}
	return l
}

// compileOrder is what the compiler is to do.
type compileOrder struct {
	Path   string `json:"path"`   // of the module
	Digest string `json:"digest"` // its SHA-256
	Extism bool   `json:"extism"` // it is an Extism plug-in, whatever it imports
	Folder string `json:"folder"` // where the results go
	// Inspect leaves the compilation out: only what the module is is wanted.
	Inspect bool          `json:"inspect,omitempty"`
	Limits  CompileLimits `json:"limits"`
}

// compileReply is what it says at its end. What it made is in the folder.
type compileReply struct {
	Error *abi.Error `json:"error,omitempty"`
}

// maxReply bounds what is kept of each of the compiler's streams, in bytes.
const maxReply = 64 << 10

// runCompiler starts the compiler and waits for its end.
func runCompiler(ctx context.Context, o compileOrder) error {
	program, err := ownProgram()
	if err != nil {
		return compilerFailed("find this program's own file: %w", err)
	}
	order, err := json.Marshal(o)
	if err != nil {
		return compilerFailed("write its order: %w", err)
	}
	timed, cancel := context.WithTimeout(ctx, o.Limits.Wall)
	defer cancel()
	cmd := exec.CommandContext(timed, program)
	cmd.Args = []string{"reflectory-compiler"}
	cmd.Env = []string{compilerVariable + "=1", "GOTRACEBACK=none"}
	for _, name := range []string{"GORACE", "GOCOVERDIR", "SYSTEMROOT"} { // what the test's instruments and Windows need
		if value, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	cmd.SysProcAttr = ownGroup()
	var stdout, stderr headBuffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return compilerFailed("open a pipe: %w", err)
	}
	defer stdin.Close()
	if err := cmd.Start(); err != nil {
		return compilerFailed("start it: %w", err)
	}
	_, _ = stdin.Write(append(order, '\n')) // one that is gone is seen by its end
	err = cmd.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var reply compileReply
	if err == nil && json.Unmarshal(stdout.Bytes(), &reply) == nil {
		return replyError(reply)
	}
	return o.Limits.passed(timed, cmd.ProcessState, stderr.Bytes())
}

// headBuffer keeps the begin of what is written to it, and takes the rest too:
// who writes must not be held up.
type headBuffer struct{ bytes.Buffer }

func (b *headBuffer) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:min(len(p), maxReply-b.Len())])
	return len(p), nil
}

func replyError(r compileReply) error {
	if r.Error == nil {
		return nil
	}
	return r.Error.SDK()
}

// ownProgram is the path of what runs here. Linux has a name for it that holds
// where the file was replaced meanwhile.
func ownProgram() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil
	}
	return os.Executable()
}

// passed says which limit a compiler passed that ended without a reply.
func (l CompileLimits) passed(ctx context.Context, state *os.ProcessState, stderr []byte) error {
	used, killed := state.UserTime()+state.SystemTime(), state.ExitCode() < 0
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return limitPassed("time", fmt.Sprintf("took longer than %s", l.Wall))
	case state.ExitCode() == exitCPU, killed && used >= l.CPU-time.Second:
		return limitPassed("cpu", fmt.Sprintf("took more than %s of processor time", l.CPU))
	case state.ExitCode() == exitMemory, crashed(state, stderr):
		return limitPassed("memory", fmt.Sprintf("took more than %d MiB of memory", l.MemoryBytes>>20))
	}
	e := compilerFailed("it ended (%s): %s", state, firstLine(string(stderr)))
	if killed {
		e = e.WithHint("the system ended it, as it does first with a compiler where memory is short: try again when the machine has more")
	}
	return e.WithDetail("stderr", string(stderr))
}

// crashed reports whether it was Go's runtime that ended the compiler, and not a
// panic. What it can't have is memory: where the system refuses that, the runtime
// crashes in one of many ways. It is for what the compiler's own look at its memory
// was too slow for.
func crashed(state *os.ProcessState, stderr []byte) bool {
	const runtimeStatus = 2
	return state.ExitCode() == runtimeStatus && !bytes.HasPrefix(stderr, []byte("panic:"))
}

func limitPassed(limit, what string) *sdk.Error {
	return sdk.Errorf(sdk.Exhausted, "compile_limit", "compiling the module %s", what).
		WithHint("the module is too large or too intricate for a plugin: split it, or build it with less in it").
		WithDetail("limit", limit)
}

func compilerFailed(format string, args ...any) *sdk.Error {
	e := sdk.Errorf(sdk.Unavailable, "compiler_failed", "the process that compiles modules: "+format, args...)
	return e.WithHint("see whether this system lets a program start itself and make files in its folder for temporary files")
}

// workFolder begins the names of the folders in which compilers work.
const workFolder = "compile-"

// compileApart has a module compiled into the cache, and returns it.
func (d *Driver) compileApart(ctx context.Context, path string, key moduleKey) (*readyModule, error) {
	select {
	case d.compilers <- struct{}{}:
		defer func() { <-d.compilers }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	folder, err := os.MkdirTemp(d.cache, workFolder)
	if err != nil {
		return nil, cacheFailed(err)
	}
	defer os.RemoveAll(folder)
	if err := runCompiler(ctx, compileOrder{Path: path, Digest: key.digest, Extism: key.extism, Folder: folder, Limits: d.options.Compile}); err != nil {
		return nil, err
	}
	ready, err := readReady(filepath.Join(folder, moduleFile))
	if err == nil {
		err = d.adopt(folder, key, ready)
	}
	if err != nil {
		return nil, cacheFailed(err)
	}
	return ready, nil
}

// adopt moves what a compiler made to where it is looked for.
func (d *Driver) adopt(folder string, key moduleKey, ready *readyModule) error {
	for _, code := range ready.Code {
		if !filepath.IsLocal(code.Name) {
			return errStale
		}
		from, to := filepath.Join(folder, codeFolder, code.Name), filepath.Join(d.cache, codeFolder, code.Name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o700), os.Rename(from, to)); err != nil {
			return err
		}
	}
	return os.Rename(filepath.Join(folder, moduleFile), d.modulePath(key))
}

func cacheFailed(err error) *sdk.Error {
	return sdk.Errorf(sdk.Unavailable, "cache_unusable", "the folder of compiled plugins: %w", err).
		WithHint("see whether its disk is full, and whether it belongs to you")
}

// sweepWork removes the folders of compilers whose host was killed. One that is
// older than any compiler may get belongs to none.
func sweepWork(cache string, now time.Time, oldest time.Duration) {
	entries, _ := os.ReadDir(cache) // what can't be looked at can't be removed
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && strings.HasPrefix(e.Name(), workFolder) && now.Sub(info.ModTime()) > oldest {
			_ = os.RemoveAll(filepath.Join(cache, e.Name()))
		}
	}
}
