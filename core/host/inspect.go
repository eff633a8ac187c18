package host

import (
	"context"
	"fmt"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/core/plugin/process/sandbox"
	"github.com/reflectory/reflectory/core/plugin/wasm"
	"github.com/reflectory/reflectory/sdk"
)

// This file describes plugins without running them. Much of it depends on this machine
// and its settings, such as what a sandbox would prevent, so it isn't part of the
// package's own data.

// PluginSummary is a plugin in a list.
type PluginSummary struct {
	Name        string     `json:"name"`
	Version     string     `json:"version"`
	Kinds       []sdk.Kind `json:"kinds,omitempty"`
	Runtime     string     `json:"runtime,omitempty"`
	Description string     `json:"description,omitempty"`
	// From is the lock that pins it: project or shipped; dev means that no lock pins it.
	From    string   `json:"from"`
	Lock    string   `json:"lock,omitempty"`
	Folder  string   `json:"folder"`
	Granted []string `json:"granted"`
	// Digest is the SHA-256 over the files that the lock pins; "" for a plugin in development.
	Digest string `json:"digest,omitempty"`
	install.Signed
	// Problem is the reason why it can't run.
	Problem *core.ErrorInfo `json:"problem,omitempty"`
	// Health is how its instances are doing; nil until something called a plugin of this host.
	Health *PluginHealth `json:"health,omitempty"`
}

// Summarize describes a plugin for a list.
func Summarize(p *install.Plugin) PluginSummary {
	s := PluginSummary{Name: p.Name, Version: p.Version, From: p.Place.Label, Lock: p.Place.Lock, Folder: p.Folder, Granted: []string{}}
	if p.Package != nil {
		s.Kinds, s.Runtime, s.Description = p.Package.Kinds, string(p.Package.Runtime), p.Package.Description
		s.Granted = append(s.Granted, p.Package.Capabilities.List()...)
	}
	if p.Locked != nil {
		s.Granted, s.Signed = append([]string{}, p.Locked.Granted.List()...), p.Locked.Signed
	}
	s.Digest = p.Digest()
	s.Problem = core.NewErrorInfo(p.Problem)
	return s
}

// PluginLimits are the limits of each instance of a plugin.
type PluginLimits struct {
	MemoryBytes int64  `json:"memory_bytes"`
	Timeout     string `json:"timeout"`
	OutputBytes int    `json:"output_bytes"`
	Instances   int    `json:"instances"`
	// Parallel is how many calls an instance takes at a time; 0 means that the plugin
	// decides.
	Parallel int `json:"parallel"`
	// Fuel is the limit of a module, Processes the limit of a process.
	Fuel      uint64 `json:"fuel,omitempty"`
	Processes int    `json:"processes,omitempty"`
}

// LimitsOf are the limits of a package with their defaults.
func LimitsOf(p *install.Package) *PluginLimits {
	l := p.Limits.WithDefaults(p.Runtime)
	shown := &PluginLimits{MemoryBytes: l.MemoryBytes, Timeout: l.Timeout.String(), OutputBytes: l.MessageBytes, Instances: l.Instances, Parallel: l.Parallel}
	if p.Runtime == plugin.RuntimeWASM {
		shown.Fuel = l.Fuel
	} else {
		shown.Processes = l.Processes
	}
	return shown
}

// Inspection is everything that is known about a plugin without running it.
type Inspection struct {
	PluginSummary
	// Package is its plugin.yaml; nil if it can't be read.
	Package *install.Package `json:"package,omitempty"`
	// Limits are the package's limits with their defaults.
	Limits *PluginLimits `json:"limits,omitempty"`
	// Files are the files that the lock pins.
	Files map[string]string `json:"files,omitempty"`
	// Sandbox describes what would confine its process on this machine, and Module
	// describes its module: a plugin has one or the other.
	Sandbox *Confinement `json:"sandbox,omitempty"`
	Module  *Module      `json:"module,omitempty"`
}

// Inspect describes a plugin, even one that isn't installed, without running it.
func Inspect(ctx context.Context, settings *config.Config, getenv func(string) string, p *install.Plugin) *Inspection {
	i := &Inspection{PluginSummary: Summarize(p), Package: p.Package}
	if p.Locked != nil {
		i.Files = p.Locked.Files
	}
	if p.Package == nil {
		return i
	}
	i.Limits = LimitsOf(p.Package)
	switch installed := p.Installed(); installed.Runtime {
	case plugin.RuntimeProcess:
		i.Sandbox = confine(settings, getenv, installed, p.Folder)
	case plugin.RuntimeWASM:
		i.Module = inspectModule(ctx, installed)
	}
	return i
}

// Sandbox is what confines processes on this machine, with the settings.
type Sandbox struct {
	Mode string `json:"mode"`
	// Refuses is whether the mode refuses to run processes on this machine.
	Refuses bool `json:"refuses"`
	// Essentials is whether the sandbox has all essential parts.
	Essentials bool `json:"holds"`
	sandbox.Status
}

// NewSandbox combines the status of this machine's sandbox with the settings.
func NewSandbox(settings *config.Config, s sandbox.Status) Sandbox {
	mode := settings.Sandbox.Value
	return Sandbox{Mode: mode, Refuses: s.Refuses(sandbox.Mode(mode)), Essentials: s.Holds(), Status: s}
}

// Word is how a process would be confined: full, partial, none or refused.
func (f Sandbox) Word() string {
	switch {
	case f.Refuses:
		return "refused"
	case f.Mode == string(sandbox.Off) || !f.NoNewPrivs:
		return "none"
	case f.Essentials:
		return "full"
	}
	return "partial"
}

// Confinement is what would confine a plugin's process on this system.
type Confinement struct {
	Sandbox
	// Reads are the paths that it may read, "system" for the system's folders.
	Reads []string `json:"reads"`
	// Reaches are the endpoints that it may reach, through the host.
	Reaches []string `json:"reaches"`
}

// confine returns the confinement of a process with a plugin's grants.
func confine(settings *config.Config, getenv func(string) string, p plugin.Installed, folder string) *Confinement {
	limits := p.Limits.WithDefaults(plugin.RuntimeProcess)
	granted := Granted(settings, []plugin.Installed{p}, getenv)[0].Granted
	status := sandbox.Probe().Expected(sandbox.Mode(settings.Sandbox.Value), limits.Processes)
	return &Confinement{
		Sandbox: NewSandbox(settings, status),
		Reads:   append([]string{folder}, granted.FS...),
		Reaches: append([]string{}, granted.Network...),
	}
}

// Module describes a plugin's module.
type Module struct {
	File string `json:"file"`
	*wasm.Info
	// ABI is the interface by which it is called.
	ABI string `json:"abi,omitempty"`
	// Pure is whether equal calls get the same answer, which is cached; if not, Impure is
	// the reason.
	Pure   bool   `json:"pure"`
	Impure string `json:"impure,omitempty"`
	// Problem is the reason why it can't be called.
	Problem *core.ErrorInfo `json:"problem,omitempty"`
	// Stateful and Isolated come from its plugin.yaml: whether its instances keep their
	// memory between calls, and whether each call gets a new instance.
	Stateful bool `json:"-"`
	Isolated bool `json:"-"`
}

func inspectModule(ctx context.Context, p plugin.Installed) *Module {
	m := &Module{File: p.Path, Stateful: p.Stateful, Isolated: p.Isolated}
	info, err := wasm.Inspect(ctx, p)
	if err != nil {
		m.Problem = core.NewErrorInfo(err)
		return m
	}
	m.Info, m.ABI = &info, info.Kind.ABI()
	m.Impure = wasm.Impure(p)
	m.Pure = m.Impure == ""
	return m
}

// PluginNotFound is the error for a name that no plugin of a set has, with a suggestion.
func PluginNotFound(set *install.Set, name string) error {
	var names []string
	fallback := "see what is installed"
	for _, p := range set.Plugins() {
		names = append(names, p.Name)
		if strings.HasSuffix(p.Name, "/"+name) {
			fallback = fmt.Sprintf("write its publisher too: %s", p.Name)
		}
	}
	hint := sdk.DidYouMean(name, names, fallback)
	err := sdk.Errorf(sdk.NotFound, "plugin_not_found", "there is no plugin %q", name).WithHint("%s", hint)
	if hint == "see what is installed" {
		err = err.WithAction("plugin list")
	}
	return err
}
