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

// Why an init: as with the sandbox's launcher, there is then no call that a
// program which embeds the driver could forget, test binaries included. It never
// returns in a compiler.
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
		err = o.carryOut(context.Background())
	}
	if errors.Is(err, syscall.ENOMEM) {
		err = limitPassed("memory", fmt.Sprintf("took more than %d MiB of memory", o.Limits.MemoryBytes>>20))
	}
	if json.NewEncoder(stdout).Encode(compileReply{Error: abi.NewError(err)}) != nil {
		return 1
	}
	return 0
}

// The statuses of a compiler that took too much memory, or too much processor time.
const (
	exitMemory = 12
	exitCPU    = 24
)

// watchMemory ends the compiler when Go's runtime holds so many bytes, a quarter
// below what the system lets it have: a program in Go that the system refuses
// memory crashes in one of many ways.
func watchMemory(most int64) {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}}
	for range time.Tick(memoryInterval) {
		if metrics.Read(sample); sample[0].Value.Uint64() > uint64(most) {
			os.Exit(exitMemory)
		}
	}
}

// memoryInterval is how often the compiler looks at its memory. Go takes some 1
// GB/s, so that 10 MB can come in between.
const memoryInterval = 10 * time.Millisecond

// carryOut makes the files of an order.
func (o compileOrder) carryOut(ctx context.Context) error {
	// The collector works harder from here on, before the limit is there.
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
		if err := o.rehearse(ctx, ready, len(original)); err != nil {
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

// rehearse loads what was compiled as the host will, and refuses what would cost
// it too much: what it allocates for that, its code, and the module itself. A
// module is decoded and validated again whenever it is loaded, and keeps 80 bytes
// of each function, so that 2 MB of empty ones take 80 MB.
func (o compileOrder) rehearse(ctx context.Context, ready *readyModule, size int) error {
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
