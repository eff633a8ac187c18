package wasm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/wasm/scan"
	"github.com/reflectory/reflectory/sdk"
)

// pageBytes is WebAssembly's unit of memory.
const pageBytes = 64 << 10

// maxPages is the whole of a 32-bit memory.
const maxPages = 1 << 16

// class holds what wazero sets per runtime: modules of one class share a runtime.
type class struct {
	pages   uint32
	metered bool
}

// moduleKey names a compiled module.
type moduleKey struct {
	digest string
	pages  uint32
	extism bool // it is treated as an Extism plug-in, whatever it imports
}

// module is a compiled module, and what is known of it.
type module struct {
	info      Info
	compiled  wazero.CompiledModule
	runtime   wazero.Runtime
	digest    string // SHA-256 of the original
	snapshots *snapshots
}

// load is a module that is being compiled or has been.
type load struct {
	done   chan struct{} // closed once the rest is set
	module *module
	err    error
}

// load returns a plugin's compiled module. The compiler checks the digest again, so that it
// compiles exactly what was hashed. A failure that the module itself causes is remembered;
// any other is reported to the callers that waited, and the next call tries again.
func (d *Driver) load(ctx context.Context, p plugin.Installed) (*module, error) {
	digest, err := digestOf(p)
	if err != nil {
		return nil, err
	}
	key := moduleKey{digest: digest, pages: pagesOf(p.Limits.MemoryBytes), extism: p.Extism}
	l, err := d.claim(key, p.Path)
	if err != nil {
		return nil, err
	}
	select {
	case <-l.done:
		return l.module, l.err
	case <-ctx.Done():
		return nil, plugin.StartEnded(ctx, &p, "its module is still being compiled, and that continues: try again later; adding a plugin compiles it in advance")
	}
}

func (d *Driver) claim(key moduleKey, path string) (*load, error) {
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
		l.module, l.err = d.compile(key, path)
		if code := sdk.CodeOf(l.err); l.err != nil && code != sdk.Invalid && code != sdk.Incompatible && code != sdk.Exhausted {
			d.mu.Lock()
			delete(d.loads, key)
			d.mu.Unlock()
		}
		close(l.done)
	})
	return l, nil
}

// digestOf is the SHA-256 of a plugin's module, which must be the installed one. The host
// never holds the module in memory.
func digestOf(p plugin.Installed) (string, error) {
	digest, err := hashFile(p.Path)
	if e, ok := errors.AsType[*sdk.Error](err); ok {
		return "", e
	}
	if err != nil {
		return "", sdk.Errorf(sdk.NotFound, "module_unreadable", "the module of plugin %s: %w", p.Name, p.ShownError(err)).
			WithHint("add the plugin again")
	}
	if p.Digest != "" && p.Digest != digest {
		return "", sdk.Errorf(sdk.Denied, "checksum_mismatch", "the module of plugin %s has the SHA-256 %s, and %s was installed", p.Name, digest, p.Digest).
			WithHint("the file was changed after it was installed; add the plugin again if that was you").
			WithDetail("path", p.Shown(p.Path)).WithDetail("want", p.Digest).WithDetail("got", digest)
	}
	return digest, nil
}

func hashFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && info.Size() > scan.MaxModule {
		err = scan.TooLarge(info.Size())
	}
	if err != nil {
		return "", err
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, scan.MaxModule)); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// compile makes a module ready for instances: it takes it from the cache, and has it
// compiled into the cache first if it isn't there.
func (d *Driver) compile(key moduleKey, path string) (*module, error) {
	ctx := d.life
	ready, err := d.fetchModule(key)
	if err != nil {
		if ready, err = d.compileApart(ctx, path, key); err != nil {
			return nil, err
		}
	}
	r, err := d.runtime(ctx, class{pages: key.pages, metered: ready.Info.Metered})
	if err != nil {
		return nil, err
	}
	compiled, err := r.CompileModule(ctx, ready.code) // loads the machine code
	if err != nil {
		_ = os.Remove(d.modulePath(key)) // the cached file may be damaged
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
	r := wazero.NewRuntimeWithConfig(ctx, c.config(d.compiled))
	for _, provide := range []func(context.Context, wazero.Runtime) error{provideWASI, provideFuel, provideHost, provideExtism} {
		if err := provide(ctx, r); err != nil {
			return nil, sdk.Errorf(sdk.Internal, "runtime_failed", "set up the WASM runtime: %w", err)
		}
	}
	d.runtimes[c] = r
	return r, nil
}

// features are what modules may use: WebAssembly 2.0, and the extensions that wazero 1.12
// supports.
const features = api.CoreFeaturesV2 | experimental.CoreFeaturesThreads | experimental.CoreFeaturesTailCall |
	experimental.CoreFeaturesExtendedConst | experimental.CoreFeaturesExceptionHandling |
	experimental.CoreFeaturesTypedFunctionReferences

// config configures a runtime of the class. Machine code depends on metered and on nothing
// else of the class.
func (c class) config(cache wazero.CompilationCache) wazero.RuntimeConfig {
	return wazero.NewRuntimeConfig().
		WithCoreFeatures(features).
		WithCompilationCache(cache).
		WithMemoryLimitPages(c.pages).
		WithCloseOnContextDone(!c.metered).
		WithDebugInfoEnabled(false)
}

// pagesOf rounds a limit down to whole pages, at least one.
func pagesOf(limit int64) uint32 { return uint32(min(max(limit/pageBytes, 1), maxPages)) }

func moduleInvalid(err error) *sdk.Error {
	return sdk.Errorf(sdk.Invalid, "module_invalid", "it is no valid WASM module: %s", firstLine(err.Error())).
		WithHint("build it for WebAssembly 2.0 (wasip1), with at most the memory that the plugin's limits allow")
}
