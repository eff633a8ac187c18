package wasm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"runtime"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk"
)

// maxModule bounds a module's file, in bytes: far above a Go guest's 3 MB.
const maxModule = 256 << 20

// pageBytes is WebAssembly's unit of memory.
const pageBytes = 64 << 10

// maxPages is a 32-bit memory as a whole.
const maxPages = 1 << 16

// class is what modules of one runtime share: wazero sets both per runtime.
type class struct {
	pages   uint32
	metered bool
}

// moduleKey names a compiled module.
type moduleKey struct {
	digest string
	pages  uint32
}

// module is a compiled module, and what is known of it.
type module struct {
	info      Info
	compiled  wazero.CompiledModule
	runtime   wazero.Runtime
	digest    string // SHA-256 of the original
	snapshots *snapshots
}

// load is a module that is being compiled, or is.
type load struct {
	done   chan struct{} // closed once the rest is set
	module *module
	err    error
}

// load returns a plugin's compiled module. What is compiled is what was hashed:
// the file is read once. A failure is told to whoever waited for it, and
// forgotten.
func (d *Driver) load(ctx context.Context, p plugin.Installed) (*module, error) {
	original, digest, err := readModule(p)
	if err != nil {
		return nil, err
	}
	key := moduleKey{digest: digest, pages: pagesOf(p.Limits.MemoryBytes)}
	l, err := d.claim(key, original)
	if err != nil {
		return nil, err
	}
	select {
	case <-l.done:
		return l.module, l.err
	case <-ctx.Done():
		return nil, plugin.StartEnded(ctx, &p, "its module is still being compiled: try again, compiling goes on; plugin add compiles it ahead")
	}
}

func (d *Driver) claim(key moduleKey, original []byte) (*load, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, errClosed()
	}
	if l := d.loads[key]; l != nil {
		return l, nil
	}
	l := &load{done: make(chan struct{})}
	d.loads[key] = l
	d.loading.Go(func() {
		l.module, l.err = d.compile(key, original)
		if l.err != nil {
			d.mu.Lock()
			delete(d.loads, key)
			d.mu.Unlock()
		}
		close(l.done)
	})
	return l, nil
}

func readModule(p plugin.Installed) (original []byte, digest string, err error) {
	info, err := os.Stat(p.Path)
	if err == nil && info.Size() > maxModule {
		return nil, "", sdk.Errorf(sdk.Exhausted, "module_too_large", "the module of plugin %s is %d bytes, over the cap of %d", p.Name, info.Size(), maxModule).
			WithHint("build the module without debug data, or with less in it")
	}
	if err == nil {
		original, err = os.ReadFile(p.Path)
	}
	if err != nil {
		return nil, "", sdk.Errorf(sdk.NotFound, "module_unreadable", "the module of plugin %s: %w", p.Name, p.ShownError(err)).
			WithHint("add the plugin again")
	}
	sum := sha256.Sum256(original)
	digest = hex.EncodeToString(sum[:])
	if p.Digest != "" && p.Digest != digest {
		return nil, "", sdk.Errorf(sdk.Denied, "checksum_mismatch", "the module of plugin %s has the SHA-256 %s, and %s was installed", p.Name, digest, p.Digest).
			WithHint("the file was changed after it was installed; add the plugin again if that was you").
			WithDetail("path", p.Shown(p.Path)).WithDetail("want", p.Digest).WithDetail("got", digest)
	}
	return original, digest, nil
}

// compile makes a module ready for instances: from the cache where it can.
func (d *Driver) compile(key moduleKey, original []byte) (*module, error) {
	ctx := context.Background()
	ready, err := d.fetchModule(key.digest)
	if err != nil {
		if ready, err = prepareModule(ctx, original); err != nil {
			return nil, err
		}
		d.keepModule(key.digest, ready)
	}
	r, err := d.runtime(ctx, class{pages: key.pages, metered: ready.Info.Metered})
	if err != nil {
		return nil, err
	}
	workers := experimental.WithCompilationWorkers(ctx, runtime.GOMAXPROCS(0))
	compiled, err := r.CompileModule(workers, ready.code)
	if err != nil {
		return nil, moduleInvalid(err)
	}
	return &module{
		info: ready.Info, compiled: compiled, runtime: r, digest: key.digest, snapshots: newSnapshots(),
	}, nil
}

// runtime returns the runtime of a class.
func (d *Driver) runtime(ctx context.Context, c class) (wazero.Runtime, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r := d.runtimes[c]; r != nil {
		return r, nil
	}
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().
		WithCompilationCache(d.compiled).
		WithMemoryLimitPages(c.pages).
		WithCloseOnContextDone(!c.metered).
		WithDebugInfoEnabled(false))
	for _, provide := range []func(context.Context, wazero.Runtime) error{provideWASI, provideFuel, provideHost, provideExtism} {
		if err := provide(ctx, r); err != nil {
			return nil, sdk.Errorf(sdk.Internal, "runtime_failed", "set up the WASM runtime: %w", err)
		}
	}
	d.runtimes[c] = r
	return r, nil
}

// pagesOf rounds a limit down to whole pages, at least one.
func pagesOf(limit int64) uint32 { return uint32(min(max(limit/pageBytes, 1), maxPages)) }

func moduleInvalid(err error) *sdk.Error {
	return sdk.Errorf(sdk.Invalid, "module_invalid", "it is no valid WASM module: %s", firstLine(err.Error())).
		WithHint("build it for WebAssembly 2.0 (wasip1), with at most the memory that the plugin's limits allow")
}
