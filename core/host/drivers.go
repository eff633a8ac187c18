package host

import (
	"context"
	"crypto/x509"
	"path/filepath"
	"slices"
	"sync"

	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/outbound"
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
	// Warn receives what is wrong with the files of authorities, when a plugin that uses them
	// starts. Nil drops it.
	Warn func(error)
	// Services serve the requests of plugins to the host. Nil refuses them.
	Services plugin.Services
}

// WASMCacheDir is the folder of the cache for modules: compiled code, and the verdicts of
// pure ones.
func WASMCacheDir(c *config.Config) string { return filepath.Join(c.DataDir.Value, "cache", "wasm") }

// OpenDrivers makes the drivers that the installed plugins need.
func OpenDrivers(c *config.Config, installed []plugin.Installed, o DriverOptions) (*Drivers, error) {
	n := &pluginNetwork{Network: c.Network(), warn: o.Warn}
	d := &Drivers{Drivers: plugin.Drivers{
		plugin.RuntimeProcess: process.New(process.Options{
			Sandbox: sandbox.Mode(c.Sandbox.Value), Network: n.dialer, Authorities: n.authorities,
			Log: o.Log, LogLevel: keptLevel(c), Services: o.Services,
		}),
	}}
	if !slices.ContainsFunc(installed, func(p plugin.Installed) bool { return p.Runtime == plugin.RuntimeWASM }) {
		return d, nil
	}
	var err error
	d.modules, err = wasm.New(wasm.Options{
		CacheDir: WASMCacheDir(c), VerdictCacheBytes: o.VerdictBytes, Log: o.Log, Services: o.Services,
		Expressions: policy.NewValueExpressions(), Through: n.Through, Roots: n.roots,
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

// pluginNetwork is the host's network as plugins use it.
type pluginNetwork struct {
	*outbound.Network
	warn   func(error)
	warned sync.Once
}

// dialer lets a plugin reach the endpoints that it was granted.
func (n *pluginNetwork) dialer(endpoints []string) (process.Dialer, error) {
	list, err := guard.New(endpoints)
	if err != nil {
		return nil, err
	}
	return &guard.Dialer{List: list, Through: n.Through}, nil
}

func (n *pluginNetwork) authorities() (pem []byte, folders bool) {
	n.check()
	return n.Bundle()
}

func (n *pluginNetwork) roots() *x509.CertPool {
	n.check()
	return n.Roots()
}

// check reports once what is wrong with the files of authorities.
func (n *pluginNetwork) check() {
	if err := n.Problem(); err != nil && n.warn != nil {
		n.warned.Do(func() { n.warn(err) })
	}
}
