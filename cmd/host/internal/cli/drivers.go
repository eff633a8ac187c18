package cli

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/guard"
	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/core/plugin/process"
	"github.com/reflectory/reflectory/core/plugin/process/sandbox"
	"github.com/reflectory/reflectory/core/plugin/wasm"
	"github.com/reflectory/reflectory/policy"
)

// drivers are what starts plugins, by their runtime.
type drivers struct {
	plugin.Drivers
	modules *wasm.Driver // nil where no plugin is a module
}

// driverOptions are what differs between the uses of drivers.
type driverOptions struct {
	// verdictBytes is how many bytes of pure modules' verdicts are kept: see
	// [wasm.Options].
	verdictBytes int64
	// log takes what plugins write. Default is to show it.
	log func(plugin.LogLine)
	// services answers what plugins ask of the host. Default is to refuse.
	services plugin.Services
}

// wasmCacheDir is the folder of what is kept of modules.
func (a *App) wasmCacheDir() string { return filepath.Join(a.config.DataDir.Value, "cache", "wasm") }

// openDrivers makes the drivers that the installed plugins need. Compiled modules
// and the verdicts of pure ones are kept in the data folder.
func (a *App) openDrivers(installed []plugin.Installed, o driverOptions) (*drivers, error) {
	if o.log == nil {
		o.log = a.pluginLog
	}
	d := &drivers{Drivers: plugin.Drivers{
		plugin.RuntimeProcess: process.New(process.Options{
			Sandbox: sandbox.Mode(a.config.Sandbox.Value), Network: network,
			Log: o.log, LogLevel: a.leastLevel(), Services: o.services,
		}),
	}}
	if !slices.ContainsFunc(installed, func(p plugin.Installed) bool { return p.Runtime == plugin.RuntimeWASM }) {
		return d, nil
	}
	var err error
	d.modules, err = wasm.New(wasm.Options{
		CacheDir:          a.wasmCacheDir(),
		VerdictCacheBytes: o.verdictBytes, Log: o.log, Services: o.services,
		Expressions: policy.NewValueExpressions(),
	})
	if err != nil {
		return nil, err
	}
	d.Drivers[plugin.RuntimeWASM] = d.modules
	return d, nil
}

// compile compiles a package's module, if it is one, so that its first start, which
// has a deadline, is quick, and says what the module is. What is compiled is what is
// pinned.
func (d *drivers) compile(ctx context.Context, p *install.Plugin) (*wasm.Info, error) {
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
func (d *drivers) Close() error {
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
