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

// Modules are compiled in their own process, the compiler: this program, started again
// (see compiler_child.go). How much an engine has to do for a stranger's module doesn't
// follow from its size: one of 60 KB took 151 s, one of 16 KB took 7 GB, and an engine can't
// be stopped from within its process. So the host neither validates nor compiles a module: it
// passes on the module's path and digest, waits, and takes the compiled code from a folder:
//
//	host                                   compiler
//	start itself, order on its stdin ─►    limits of its own; read, hash, scan, validate,
//	                                       meter and compile into the order's folder;
//	                                       load that once more, as the host will
//	move the files to the cache  ◄─        reply on its stdout, exit
//	load: no function is compiled
//
// It ends when its standard input ends, which is also when the host ends.

// CompileLimits bound the compilation of one module. The zero value of each field
// is its default.
type CompileLimits struct {
	// CPU is the processor time that its process may use, on all processors together,
	// rounded up to seconds. Default 30 s: a Go guest takes 4 to 12.
	CPU time.Duration
	// Wall is how long it may take. Default 10 min: CPU is the limit that is meant to be
	// met first, except on a machine that is too busy to let the compiler run.
	Wall time.Duration
	// MemoryBytes is the memory of its process. Default 1 GiB; a Go guest takes 120
	// MB.
	MemoryBytes int64
	// LoadBytes is how much memory the host may need to load what was compiled, or eight times the
	// module's size if that is more. Default 64 MiB; a Go guest of 5 MB takes 35.
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

// compileOrder is the order to the compiler.
type compileOrder struct {
	Path   string `json:"path"`   // of the module
	Digest string `json:"digest"` // its SHA-256
	Extism bool   `json:"extism"` // it is an Extism plug-in, whatever it imports
	Folder string `json:"folder"` // where the results go
	// Inspect leaves the compilation out: only a description of the module is wanted.
	Inspect bool          `json:"inspect,omitempty"`
	Limits  CompileLimits `json:"limits"`
}

// compileReply is its answer at its end. The files that it made are in the folder.
type compileReply struct {
	Error *abi.Error `json:"error,omitempty"`
}

// maxReply is how many bytes are kept of each of the compiler's output streams.
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
	return o.Limits.exceeded(timed, cmd.ProcessState, stderr.Bytes())
}

// headBuffer keeps the first bytes that are written to it, and discards the rest, so that
// the writer is never held up.
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

// ownProgram is the path of the running program. Linux has a path for it that stays right
// even if the file is replaced meanwhile.
func ownProgram() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil
	}
	return os.Executable()
}

// exceeded names the limit that a compiler exceeded, if it ended without a reply.
func (l CompileLimits) exceeded(ctx context.Context, state *os.ProcessState, stderr []byte) error {
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

// crashed reports whether Go's runtime ended the compiler, other than by a panic. That is
// taken as a lack of memory: if the system refuses memory, the runtime crashes in one of many
// ways. It is needed when memory grows faster than the compiler checks it.
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

// workFolder is the prefix of the names of the folders in which compilers work.
const workFolder = "compile-"

// compileApart has a compiler compile a module into the cache, and returns it.
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
	defer func() { _ = os.RemoveAll(folder) }()
	if err := runCompiler(ctx, compileOrder{Path: path, Digest: key.digest, Extism: key.extism, Folder: folder, Limits: d.options.Compile}); err != nil {
		return nil, err
	}
	ready, err := readReady(filepath.Join(folder, moduleFile))
	if err == nil {
		err = d.moveToCache(folder, key, ready)
	}
	if err != nil {
		return nil, cacheFailed(err)
	}
	return ready, nil
}

// moveToCache moves the files that a compiler made into the cache.
func (d *Driver) moveToCache(folder string, key moduleKey, ready *readyModule) error {
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

// removeStaleWork removes the folders of compilers whose host was killed: those that are
// older than any compiler may become.
func removeStaleWork(cache string, now time.Time, oldest time.Duration) {
	entries, _ := os.ReadDir(cache) // what can't be looked at can't be removed
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && strings.HasPrefix(e.Name(), workFolder) && now.Sub(info.ModTime()) > oldest {
			_ = os.RemoveAll(filepath.Join(cache, e.Name()))
		}
	}
}
