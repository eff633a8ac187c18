package host

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/guard"
	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/core/plugin/process"
	"github.com/reflectory/reflectory/core/plugin/process/sandbox"
	"github.com/reflectory/reflectory/core/plugin/wasm"
	"github.com/reflectory/reflectory/policy"
)

// Drivers start plugins, by their runtime.
type Drivers struct {
	plugin.Drivers
	modules *wasm.Driver // nil if no plugin is a module
}

// DriverOptions are the options of drivers that differ between their uses.
type DriverOptions struct {
	// VerdictBytes is how many bytes of pure modules' verdicts are cached: see
	// [wasm.Options].
	VerdictBytes int64
	// Log receives what plugins write. It must be safe for concurrent use.
	Log func(plugin.LogLine)
	// Services serve the requests of plugins to the host. Nil refuses them.
	Services plugin.Services
}

// WASMCacheDir is the folder of the cache for modules: compiled code, and the verdicts of
// pure ones.
func WASMCacheDir(c *config.Config) string { return filepath.Join(c.DataDir.Value, "cache", "wasm") }

// OpenDrivers makes the drivers that the installed plugins need.
func OpenDrivers(c *config.Config, installed []plugin.Installed, o DriverOptions) (*Drivers, error) {
	d := &Drivers{Drivers: plugin.Drivers{
		plugin.RuntimeProcess: process.New(process.Options{
			Sandbox: sandbox.Mode(c.Sandbox.Value), Network: network,
			Log: o.Log, LogLevel: keptLevel(c), Services: o.Services,
		}),
	}}
	if !slices.ContainsFunc(installed, func(p plugin.Installed) bool { return p.Runtime == plugin.RuntimeWASM }) {
		return d, nil
	}
	var err error
	d.modules, err = wasm.New(wasm.Options{
		CacheDir: WASMCacheDir(c), VerdictCacheBytes: o.VerdictBytes, Log: o.Log, Services: o.Services,
		Expressions: policy.NewValueExpressions(),
	})
	if err != nil {
		return nil, err
	}
	d.Drivers[plugin.RuntimeWASM] = d.modules
	return d, nil
}

// keptLevel is the lowest level at which plugins write logs: the level that is shown, or
// info, which is always kept.
func keptLevel(c *config.Config) string {
	levels := plugin.LogLevels()
	if shown := slices.Index(levels, c.LogLevel.Value); shown >= 0 && shown < slices.Index(levels, "info") {
		return c.LogLevel.Value
	}
	return "info"
}

// Compile compiles a package's module, if it is one, so that its first start, which has a
// deadline, is quick, and returns what is known about the module. It compiles exactly the
// pinned files.
func (d *Drivers) Compile(ctx context.Context, p *install.Plugin) (*wasm.Info, error) {
	if d.modules == nil || p.Package.Module() == "" {
		return nil, nil
	}
	info, err := d.modules.Compile(ctx, p.Installed())
	if err != nil {
		return nil, err
	}
	return &info, nil
}

// Close frees the resources of modules, once their instances have ended.
func (d *Drivers) Close() error {
	if d.modules == nil {
		return nil
	}
	return d.modules.Close()
}

// network lets a plugin reach the endpoints that it was granted.
func network(endpoints []string) (process.Dialer, error) {
	list, err := guard.New(endpoints)
	if err != nil {
		return nil, err
	}
	return &guard.Dialer{List: list}, nil
}
