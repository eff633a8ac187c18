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

// Drivers are what starts plugins, by their runtime.
type Drivers struct {
	plugin.Drivers
	modules *wasm.Driver // nil where no plugin is a module
}

// DriverOptions are what differs between the uses of drivers.
type DriverOptions struct {
	// VerdictBytes is how many bytes of pure modules' verdicts are kept: see
	// [wasm.Options].
	VerdictBytes int64
	// Log takes what plugins write. It must be safe for concurrent use.
	Log func(plugin.LogLine)
	// Services answers what plugins ask of the host. Nil refuses.
	Services plugin.Services
}

// WASMCacheDir is the folder of what is kept of modules: compiled code, and the verdicts
// of pure ones.
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

// keptLevel is the level from which plugins write logs at all: what is shown, and info,
// which is kept.
func keptLevel(c *config.Config) string {
	levels := plugin.LogLevels()
	if shown := slices.Index(levels, c.LogLevel.Value); shown >= 0 && shown < slices.Index(levels, "info") {
		return c.LogLevel.Value
	}
	return "info"
}

// Compile compiles a package's module, if it is one, so that its first start, which has a
// deadline, is quick, and says what the module is. What is compiled is what is pinned.
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

// Close frees what the modules hold, once their instances are gone.
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
