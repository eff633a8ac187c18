package wasm

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/guard"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/sdk"
)

// Options set up a [Driver]. The zero value of each field is its default.
type Options struct {
	// CacheDir is a private folder (0700) for compiled code and verdicts, which are
	// trusted. "" is a temporary folder until Close, and no verdicts are kept.
	CacheDir string
	// Compile bounds the compilation of each module, in its own process.
	Compile CompileLimits
	// VerdictCacheBytes bounds the verdicts on disk. Default 64 MiB;
	// a negative value keeps none.
	VerdictCacheBytes int64
	// RecycleCalls and RecycleAge bound how many calls a guest serves and for how long, so
	// that nothing in it builds up. Defaults 10,000 and 10 min.
	RecycleCalls int
	RecycleAge   time.Duration
	// Log gets what plugins write, line by line. By default it is discarded.
	Log func(plugin.LogLine)
	// Expressions compiles the verdicts in the configs of Extism plug-ins. Nil means
	// that such configs are refused.
	Expressions policypoint.ValueExpressions
	// Services answers what plugins ask the host for. Nil means that there are none.
	Services plugin.Services
	// Resolver finds the addresses of hosts that plugins connect to. Default the system's.
	Resolver guard.Resolver
	// Through and Roots are how plugins connect: see [guard.Dialer].
	Through func(scheme, host string, port int) func(context.Context) (net.Conn, error)
	Roots   func() *x509.CertPool
	// Now is the clock for ages and log lines; no guest sees it. Default the system's.
	Now func() time.Time
}

const (
	defaultVerdictCache = 64 << 20
	defaultRecycleCalls = 10_000
	defaultRecycleAge   = 10 * time.Minute
)

func (o Options) withDefaults() Options {
	o.Compile = o.Compile.withDefaults()
	if o.VerdictCacheBytes == 0 {
		o.VerdictCacheBytes = defaultVerdictCache
	}
	if o.RecycleCalls == 0 {
		o.RecycleCalls = defaultRecycleCalls
	}
	if o.RecycleAge == 0 {
		o.RecycleAge = defaultRecycleAge
	}
	if o.Log == nil {
		o.Log = func(plugin.LogLine) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Driver runs WASM modules. It is safe for concurrent use, and must be closed
// after its instances.
type Driver struct {
	options  Options
	compiled wazero.CompilationCache
	cache    string // the folder of what is kept of modules
	ownCache bool   // it ends with the driver
	verdicts *verdictCache

	life      context.Context // ends with Close, and compilations with it
	end       context.CancelCauseFunc
	compilers chan struct{} // holds a token for each compiler that runs
	loading   sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	runtimes map[class]wazero.Runtime
	loads    map[moduleKey]*load
}

var _ plugin.Driver = (*Driver)(nil)

// initVersion has wazero look up its own version. Otherwise wazero does so when the first
// cache or runtime is made, and stores it without a lock, so that two drivers that begin at
// the same time would race.
var initVersion = sync.OnceFunc(func() {
	ctx := context.Background()
	_ = wazero.NewRuntime(ctx).Close(ctx) // nothing runs in it
})

// maxCompilers is how many compilers run at a time: each may use all processors and as much
// memory as its limit allows.
const maxCompilers = 2

// New returns a driver. The error is about its folder.
func New(o Options) (*Driver, error) {
	initVersion()
	d := &Driver{
		options: o.withDefaults(), runtimes: map[class]wazero.Runtime{}, loads: map[moduleKey]*load{},
		compilers: make(chan struct{}, maxCompilers),
	}
	d.life, d.end = context.WithCancelCause(context.Background())
	if err := d.openCache(); err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "cache_unusable", "the folder of compiled plugins: %w", err).
			WithHint("remove %s, which is made again, or name another data folder", d.cache)
	}
	return d, nil
}

// Start starts one instance. See [plugin.Driver]. A module that isn't compiled
// yet is compiled first, which can take seconds: see [Driver.Compile].
func (d *Driver) Start(ctx context.Context, p plugin.Installed) (plugin.Instance, error) {
	p.Limits = p.Limits.WithDefaults(plugin.RuntimeWASM)
	ctx, cancel := plugin.WithStartTimeout(ctx, &p)
	defer cancel()
	i, err := d.start(ctx, p)
	if err != nil {
		return nil, sdk.Wrap("start plugin "+p.Name, err)
	}
	return i, nil
}

func (d *Driver) start(ctx context.Context, p plugin.Installed) (*instance, error) {
	m, err := d.load(ctx, p)
	if err != nil {
		return nil, err
	}
	if err := checkSize(p, m.info); err != nil {
		return nil, err
	}
	i, err := newInstance(d, p, m)
	if err != nil {
		return nil, err
	}
	err = i.describe(ctx)
	if err == nil {
		return i, nil
	}
	if sdk.CodeOf(err) == sdk.Timeout && ctx.Err() != nil {
		err = plugin.StartEnded(ctx, &p, "have it do less at its start: before main, and in its answer to describe")
	}
	i.Kill(err)
	return nil, err
}

// checkSize refuses a module whose instances would exceed the plugin's memory limit even
// without any linear memory.
func checkSize(p plugin.Installed, info Info) error {
	if info.InstanceBytes <= p.Limits.MemoryBytes {
		return nil
	}
	return sdk.Errorf(sdk.Exhausted, "guest_memory_exhausted", "plugin %s needs %d MiB for its globals and tables (limit %d MiB)",
		p.Name, info.InstanceBytes>>20, p.Limits.MemoryBytes>>20).
		WithHint("raise limits.memory in its plugin.yaml, or build it with smaller tables")
}

// Compile compiles a plugin's module into the cache, as installing a plugin does, so that
// its first start is quick, and returns what the module is. It refuses a module that could
// never start.
func (d *Driver) Compile(ctx context.Context, p plugin.Installed) (Info, error) {
	if err := checkGrants(p); err != nil {
		return Info{}, err
	}
	p.Limits = p.Limits.WithDefaults(plugin.RuntimeWASM)
	m, err := d.load(ctx, p)
	if err == nil {
		err = checkSize(p, m.info)
	}
	if err != nil {
		return Info{}, sdk.Wrap("compile plugin "+p.Name, err)
	}
	return m.info, nil
}

// Close frees the compiled modules, and ends compilers that still run. Its instances must
// have ended. It is idempotent.
func (d *Driver) Close() error {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.end(errClosed())
	d.loading.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	var errs []error
	for _, r := range d.runtimes {
		errs = append(errs, r.Close(context.Background()))
	}
	clear(d.runtimes)
	errs = append(errs, d.compiled.Close(context.Background()))
	if d.ownCache {
		errs = append(errs, os.RemoveAll(d.cache))
	}
	return errors.Join(errs...)
}

func errClosed() error {
	return sdk.Errorf(sdk.Unavailable, "plugins_closed", "the WASM driver has been closed: the host is shutting down")
}
