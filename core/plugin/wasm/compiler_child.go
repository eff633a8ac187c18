package wasm

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"syscall"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/abi"
)

// compilerVariable in the environment makes a program that links this package the
// compiler of one module.
const compilerVariable = "REFLECTORY_MODULE_COMPILER"

// It is an init, as with the sandbox's launcher, so that a program which embeds the driver
// has no call to forget, test binaries included. It never returns in a compiler.
func init() {
	if os.Getenv(compilerVariable) != "" {
		os.Exit(compilerMain(os.Stdin, os.Stdout))
	}
}

// compilerMain carries out the order on its standard input.
func compilerMain(stdin io.Reader, stdout io.Writer) int {
	in := bufio.NewReader(stdin)
	line, err := in.ReadBytes('\n')
	var o compileOrder
	if err == nil {
		err = json.Unmarshal(line, &o)
	}
	if err != nil {
		return 1 // no host is there to read it
	}
	go func() {
		_, _ = io.Copy(io.Discard, in)
		os.Exit(1) // the host is gone, or doesn't wait any more
	}()
	err = limitSelf(o.Limits)
	go watchMemory(o.Limits.MemoryBytes / 4 * 3)
	if err == nil {
		err = o.runOrder(context.Background())
	}
	if errors.Is(err, syscall.ENOMEM) {
		err = limitPassed("memory", fmt.Sprintf("took more than %d MiB of memory", o.Limits.MemoryBytes>>20))
	}
	if json.NewEncoder(stdout).Encode(compileReply{Error: abi.NewError(err)}) != nil {
		return 1
	}
	return 0
}

// The exit codes of a compiler that took too much memory or processor time.
const (
	exitMemory = 12
	exitCPU    = 24
)

// watchMemory ends the compiler when Go's runtime holds a number of bytes, which is a quarter
// below the limit that the system enforces: a Go program crashes in one of many ways when the
// system refuses it memory.
func watchMemory(most int64) {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}}
	for range time.Tick(memoryInterval) {
		if metrics.Read(sample); sample[0].Value.Uint64() > uint64(most) {
			os.Exit(exitMemory)
		}
	}
}

// memoryInterval is how often the compiler checks its memory. Go allocates about 1 GB/s, so
// that about 10 MB can be added between two checks.
const memoryInterval = 10 * time.Millisecond

// runOrder makes the files of an order.
func (o compileOrder) runOrder(ctx context.Context) error {
	// From here on the collector works harder, before the limit is met.
	debug.SetMemoryLimit(o.Limits.MemoryBytes / 2)
	original, err := readModule(o.Path, o.Digest)
	if err != nil {
		return err
	}
	ready, err := prepareModule(ctx, original, o.Extism)
	if err != nil {
		return err
	}
	if !o.Inspect {
		if err := o.compile(ctx, ready); err != nil {
			return err
		}
		if err := o.tryLoading(ctx, ready, len(original)); err != nil {
			return err
		}
	}
	return ready.write(filepath.Join(o.Folder, moduleFile))
}

// compile compiles the module into files, and notes them.
func (o compileOrder) compile(ctx context.Context, ready *readyModule) error {
	folder := filepath.Join(o.Folder, codeFolder)
	if err := compileInto(ctx, folder, ready); err != nil {
		return err
	}
	return filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		sum, size, err := sumFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(folder, path)
		ready.Code = append(ready.Code, codeFile{Name: name, Size: size, Sum: sum})
		return err
	})
}

// tryLoading loads the compiled module as the host will, and refuses one that would take too
// much memory there: for loading, for its code and for the module itself. A module is decoded
// and validated again whenever it is loaded, and 80 bytes are kept for each function, so that
// 2 MB of empty functions take 80 MB.
func (o compileOrder) tryLoading(ctx context.Context, ready *readyModule, size int) error {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := compileInto(ctx, filepath.Join(o.Folder, codeFolder), ready); err != nil {
		return err
	}
	runtime.ReadMemStats(&after)
	cost := int64(after.TotalAlloc-before.TotalAlloc) + int64(len(ready.code))
	for _, code := range ready.Code {
		cost += code.Size
	}
	if limit := max(o.Limits.LoadBytes, int64(size)*loadPerByte); cost > limit {
		return limitPassed("load", fmt.Sprintf("makes code that takes %d MiB to load (limit %d MiB)", cost>>20, limit>>20))
	}
	return nil
}

// compileInto compiles a module into a folder, or loads it from there.
func compileInto(ctx context.Context, folder string, ready *readyModule) error {
	cache, err := wazero.NewCompilationCacheWithDir(folder)
	if err != nil {
		return cacheFailed(err)
	}
	defer func() { _ = cache.Close(ctx) }()
	r := wazero.NewRuntimeWithConfig(ctx, class{pages: maxPages, metered: ready.Info.Metered}.config(cache))
	workers := experimental.WithCompilationWorkers(ctx, runtime.GOMAXPROCS(0))
	compiled, err := r.CompileModule(workers, ready.code)
	if err != nil {
		return moduleInvalid(err)
	}
	return errors.Join(compiled.Close(ctx), r.Close(ctx))
}

// readModule reads a module whose digest is known.
func readModule(path, digest string) ([]byte, error) {
	module, err := os.ReadFile(path)
	if err != nil {
		return nil, sdk.Errorf(sdk.NotFound, "module_unreadable", "the module: %w", err).WithHint("add the plugin again")
	}
	if got := hexDigest(module); got != digest {
		return nil, sdk.Errorf(sdk.Denied, "checksum_mismatch", "the module was changed while it was being read: it has the SHA-256 %s, and had %s", got, digest).
			WithHint("add the plugin again")
	}
	return module, nil
}
