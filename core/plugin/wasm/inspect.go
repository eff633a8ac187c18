package wasm

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/abi"
)

// Kind is how a guest is spoken to.
type Kind string

// The kinds of guests.
const (
	// KindReactor is a guest of ABI version 1.
	KindReactor Kind = "reactor"
	// KindExtism is an Extism plug-in.
	KindExtism Kind = "extism"
	// KindCommand is a WASI command: a new instance for each call.
	KindCommand Kind = "command"
)

// ABI is how the host and a guest of the kind exchange messages.
func (k Kind) ABI() string {
	switch k {
	case KindReactor:
		return fmt.Sprintf("reflectory %d", abi.Version)
	case KindExtism:
		return "extism"
	}
	return "wasi command"
}

// Info is what a module is.
type Info struct {
	Kind Kind `json:"kind"`
	// Imports are the functions that it imports, as module.name, sorted.
	Imports []string `json:"imports"`
	// Exports are the functions that it can be called by, sorted.
	Exports []string `json:"exports"`
	// Metered is whether fuel counts what it executes; if not, Unmetered is the reason.
	Metered   bool   `json:"metered"`
	Unmetered string `json:"unmetered,omitempty"`
	// Restorable is whether the state of an instance can be put back, so that a warm one
	// serves call after call; if not, Unrestorable is the reason.
	Restorable   bool   `json:"restorable"`
	Unrestorable string `json:"unrestorable,omitempty"`
	// Network and Services are whether it imports functions that need these capabilities.
	Network  bool `json:"network"`
	Services bool `json:"services"`

	// InstanceBytes is about what an instance takes next to its linear memory, which
	// counts towards limits.memory.
	InstanceBytes int64 `json:"instance_bytes,omitempty"`
	// Shared is whether its memory may be shared between threads, so that it must not
	// move. A guest has one thread anyway.
	Shared bool `json:"shared,omitempty"`

	// Globals are the names under which its mutable globals were exported.
	Globals []string `json:"globals,omitempty"`
}

// Inspect describes what a plugin's module is, or why it can't be a plugin. The module
// must be what was installed. Nothing of it is run, and it is read in a process of
// its own.
func Inspect(ctx context.Context, p plugin.Installed) (Info, error) {
	digest, err := digestOf(p)
	if err != nil {
		return Info{}, err
	}
	folder, err := os.MkdirTemp("", "reflectory-inspect-")
	if err != nil {
		return Info{}, cacheFailed(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	err = runCompiler(ctx, compileOrder{
		Path: p.Path, Digest: digest, Extism: p.Extism, Folder: folder, Inspect: true, Limits: CompileLimits{}.withDefaults(),
	})
	if err != nil {
		return Info{}, err
	}
	ready, err := readReady(filepath.Join(folder, moduleFile))
	if err != nil {
		return Info{}, cacheFailed(err)
	}
	return ready.Info, nil
}

// Impure is the reason why equal calls of a plugin may get different answers; "" if they
// get the same, which is then kept.
func Impure(p plugin.Installed) string {
	var reasons []string
	if p.Stateful {
		reasons = append(reasons, "it keeps its state from call to call")
	}
	if len(p.Granted.Network) > 0 {
		reasons = append(reasons, "it may reach the network")
	}
	if len(p.Granted.Host) > 0 {
		reasons = append(reasons, "it may ask the host")
	}
	return strings.Join(reasons, ", ")
}

// hostModules are the modules that guests may import, with the functions of
// each; nil means those that the module itself defines.
var hostModules = map[string][]string{
	wasiModule:     nil,
	abi.HostModule: {abi.HostHTTP, abi.HostService, abi.HostLog, abi.HostEmit},
	extismModule:   extismNames(),
}

// detect finds a validated module's kind: by its exports and imports, unless it is
// said to be an Extism plug-in.
func detect(compiled wazero.CompiledModule, extism bool) (Info, error) {
	info := Info{Imports: []string{}, Exports: []string{}}
	var unknown []string
	for _, f := range compiled.ImportedFunctions() {
		module, name, _ := f.Import()
		info.Imports = append(info.Imports, module+"."+name)
		names, ok := hostModules[module]
		if !ok || names != nil && !slices.Contains(names, name) {
			unknown = append(unknown, module+"."+name)
		}
	}
	for _, m := range compiled.ImportedMemories() {
		module, name, _ := m.Import()
		unknown = append(unknown, fmt.Sprintf("the memory %s.%s", module, name))
	}
	slices.Sort(info.Imports)
	if len(unknown) > 0 {
		slices.Sort(unknown)
		return Info{}, sdk.Errorf(sdk.Incompatible, "import_unsupported", "the module imports %s, which this host doesn't have", strings.Join(unknown, ", ")).
			WithHint("guests may import %s, %s and %s", wasiModule, abi.HostModule, extismModule).
			WithDetail("imports", unknown)
	}
	info.Network = slices.Contains(info.Imports, abi.HostModule+"."+abi.HostHTTP) || slices.Contains(info.Imports, extismModule+".http_request")
	info.Services = slices.Contains(info.Imports, abi.HostModule+"."+abi.HostService)
	return info, info.setKind(compiled, extism)
}

// setKind sets the kind and the exports that go with it.
func (info *Info) setKind(compiled wazero.CompiledModule, said bool) error {
	functions := compiled.ExportedFunctions()
	has := func(name string) bool { return functions[name] != nil }
	extism := said || slices.ContainsFunc(info.Imports, func(name string) bool { return strings.HasPrefix(name, extismModule+".") })
	// A program in Go exports the reactor's functions too, and has to be run.
	program := has(commandStart) && !has(abi.ExportInitialize)
	switch {
	case !said && !program && (has(abi.ExportCall) || has(abi.ExportVersion) || has(abi.ExportAlloc)):
		info.Kind = KindReactor
		return info.checkExports(compiled, reactorExports())
	case extism:
		info.Kind = KindExtism
		for name, f := range functions {
			if isExtismFunction(f) {
				info.Exports = append(info.Exports, name)
			}
		}
		slices.Sort(info.Exports)
		if len(info.Exports) == 0 {
			return exportsInvalid([]string{"no export is a function () → (i32), as Extism calls them"})
		}
		return nil
	case has(commandStart):
		info.Kind = KindCommand
		return info.checkExports(compiled, []export{{name: commandStart, required: true}})
	}
	return exportsInvalid([]string{fmt.Sprintf("it exports neither %s (reactor) nor %s (command), and imports nothing of %s (Extism)", abi.ExportCall, commandStart, extismModule)})
}

// export is a function that a guest exports.
type export struct {
	name            string
	params, results []api.ValueType
	required        bool
}

// checkExports refuses missing and ill-typed exports, naming each.
func (info *Info) checkExports(compiled wazero.CompiledModule, exports []export) error {
	var problems []string
	functions := compiled.ExportedFunctions()
	for _, e := range exports {
		f := functions[e.name]
		switch {
		case f == nil && e.required:
			problems = append(problems, fmt.Sprintf("the function %s%s is missing", e.name, signature(e.params, e.results)))
		case f == nil:
		case !slices.Equal(f.ParamTypes(), e.params) || !slices.Equal(f.ResultTypes(), e.results):
			problems = append(problems, fmt.Sprintf("%s is %s, and has to be %s", e.name,
				signature(f.ParamTypes(), f.ResultTypes()), signature(e.params, e.results)))
		default:
			info.Exports = append(info.Exports, e.name)
		}
	}
	if _, ok := compiled.ExportedMemories()[abi.ExportMemory]; !ok {
		problems = append(problems, "the memory "+abi.ExportMemory+" is missing")
	}
	slices.Sort(info.Exports)
	if len(problems) > 0 {
		return exportsInvalid(problems)
	}
	return nil
}

func exportsInvalid(problems []string) error {
	return sdk.Errorf(sdk.Incompatible, "exports_invalid", "the module can't be called: %s", strings.Join(problems, "; ")).
		WithHint("build it as a reactor with sdk/guest, as an Extism plug-in, or as a WASI command; an Extism plug-in that imports nothing of Extism needs abi: extism in its plugin.yaml").
		WithDetail("problems", problems)
}

func signature(params, results []api.ValueType) string {
	return "(" + typeNames(params) + ") → (" + typeNames(results) + ")"
}

func typeNames(types []api.ValueType) string {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = api.ValueTypeName(t)
	}
	return strings.Join(names, ", ")
}

// firstLine is a text's first line, without what follows on the next ones.
func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
