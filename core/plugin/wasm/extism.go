package wasm

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/reflectory/reflectory/core/plugin/guard"
	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/check"
)

// extismModule is the module of the functions that Extism's PDKs import.
const extismModule = "extism:host/env"

// extismFunction is one of them: its parameters and results by a letter each
// ("i" is i32, "I" i64).
type extismFunction struct {
	params, results string
	call            func(g *guest, p []uint64)
}

// extismFunctions is Extism's host environment (EIP-007 and the PDKs).
func extismFunctions() map[string]extismFunction {
	get := func(value func(k *kernel) uint64) extismFunction {
		return extismFunction{"", "I", func(g *guest, p []uint64) { p[0] = value(g.kernel) }}
	}
	length := extismFunction{"I", "I", func(g *guest, p []uint64) { p[0] = g.kernel.blocks[p[0]] }}
	log := func(level string) extismFunction {
		return extismFunction{"I", "", func(g *guest, p []uint64) { g.extismLog(level, p[0]) }}
	}
	return map[string]extismFunction{
		"alloc":          {"I", "I", func(g *guest, p []uint64) { g.charge(int(min(p[0], 1<<32))); p[0] = g.kernel.alloc(p[0]) }},
		"free":           {"I", "", func(g *guest, p []uint64) { g.kernel.free(p[0]) }},
		"length":         length,
		"length_unsafe":  length,
		"load_u8":        {"I", "i", func(g *guest, p []uint64) { p[0] = g.kernel.load(p[0], 1) }},
		"load_u64":       {"I", "I", func(g *guest, p []uint64) { p[0] = g.kernel.load(p[0], 8) }},
		"store_u8":       {"Ii", "", func(g *guest, p []uint64) { g.kernel.store(p[0], p[1], 1) }},
		"store_u64":      {"II", "", func(g *guest, p []uint64) { g.kernel.store(p[0], p[1], 8) }},
		"input_offset":   get(func(k *kernel) uint64 { return k.input.offset }),
		"input_length":   get(func(k *kernel) uint64 { return k.input.length }),
		"input_load_u8":  {"I", "i", func(g *guest, p []uint64) { p[0] = g.kernel.loadInput(p[0], 1) }},
		"input_load_u64": {"I", "I", func(g *guest, p []uint64) { p[0] = g.kernel.loadInput(p[0], 8) }},
		"input_set":      {"II", "", func(g *guest, p []uint64) { g.kernel.input = block{p[0], p[1]} }},
		"output_set":     {"II", "", func(g *guest, p []uint64) { g.kernel.output = block{p[0], p[1]} }},
		"output_offset":  get(func(k *kernel) uint64 { return k.output.offset }),
		"output_length":  get(func(k *kernel) uint64 { return k.output.length }),
		"error_set":      {"I", "", func(g *guest, p []uint64) { g.kernel.failure = block{p[0], g.kernel.blocks[p[0]]} }},
		"error_get":      get(func(k *kernel) uint64 { return k.failure.offset }),
		"reset":          {"", "", func(g *guest, _ []uint64) { g.kernel.reset() }},
		"memory_bytes":   get(func(k *kernel) uint64 { return uint64(len(k.arena)) }),

		"config_get":       {"I", "I", func(g *guest, p []uint64) { p[0] = g.extismGet(g.kernel.config, p[0]) }},
		"var_get":          {"I", "I", func(g *guest, p []uint64) { p[0] = g.extismGet(g.kernel.vars, p[0]) }},
		"var_set":          {"II", "", func(g *guest, p []uint64) { g.kernel.setVar(g.kernel.text(p[0]), g.kernel.text(p[1]), p[1] != 0) }},
		"http_request":     {"II", "I", extismHTTP},
		"http_status_code": {"", "i", func(g *guest, p []uint64) { p[0] = uint64(g.kernel.status) }},
		"http_headers":     get(func(k *kernel) uint64 { return k.put(k.headers) }),

		"get_log_level": {"", "i", func(_ *guest, p []uint64) { p[0] = uint64(slices.Index(logLevels[:], "info")) }},
		"log_trace":     log("trace"),
		"log_debug":     log("debug"),
		"log_info":      log("info"),
		"log_warn":      log("warn"),
		"log_error":     log("error"),
	}
}

func extismNames() []string { return slices.Collect(maps.Keys(extismFunctions())) }

func provideExtism(ctx context.Context, r wazero.Runtime) error {
	b := r.NewHostModuleBuilder(extismModule)
	for name, f := range extismFunctions() {
		b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(ctx context.Context, _ api.Module, stack []uint64) {
			g := guestOf(ctx)
			if g.kernel == nil {
				panic(stopped{check.ResponseInvalid("it isn't called as an Extism plug-in and calls %s.%s", extismModule, name)})
			}
			f.call(g, narrow(f.params, stack))
		}), valueTypes(f.params), valueTypes(f.results)).Export(name)
	}
	_, err := b.Instantiate(ctx)
	return err
}

// extismGet returns a new block with the value of a name, 0 if there is none.
func (g *guest) extismGet(values map[string]string, nameAt uint64) uint64 {
	value, ok := values[g.kernel.text(nameAt)]
	if !ok {
		return 0
	}
	g.charge(len(value))
	return g.kernel.put([]byte(value))
}

func (g *guest) extismLog(level string, at uint64) {
	text := g.kernel.text(at)
	g.kernel.free(at)
	g.charge(len(text))
	if slices.Index(logLevels[:], level) >= slices.Index(logLevels[:], "info") {
		g.log(level, text)
	}
}

// extismHTTP makes a request whose description is the first block and whose body
// is the second. Extism has no way to tell the guest of a failure, so one ends
// the call.
func extismHTTP(g *guest, p []uint64) {
	var req struct {
		URL     string            `json:"url"`
		Method  string            `json:"method"`
		Headers map[string]string `json:"headers"`
		Header  map[string]string `json:"header"` // an older name of the same
	}
	k := g.kernel
	if err := decodeMessage([]byte(k.text(p[0])), &req); err != nil {
		panic(stopped{err})
	}
	r := guard.Request{Method: req.Method, URL: req.URL, Header: map[string][]string{}}
	for _, header := range []map[string]string{req.Header, req.Headers} {
		for name, value := range header {
			r.Header[name] = []string{value}
		}
	}
	if p[1] != 0 {
		r.Body = []byte(k.text(p[1]))
	}
	res, err := g.fetch(r)
	if err != nil {
		panic(stopped{err})
	}
	headers := map[string]string{}
	for name, values := range res.Header {
		headers[strings.ToLower(name)] = strings.Join(values, ",")
	}
	k.headers, _ = json.Marshal(headers) // strings can always be encoded
	k.status = uint32(res.Status)
	g.charge(len(res.Body))
	p[0] = k.put(res.Body)
}

// isExtismFunction reports whether an export is one that Extism calls: () → i32,
// or () → (). Names that begin with "_" or "asyncify_" are the toolchain's, but
// for the program itself.
func isExtismFunction(f api.FunctionDefinition) bool {
	toolchain := func(name string) bool {
		return name != commandStart && strings.HasPrefix(name, "_") || strings.HasPrefix(name, "asyncify_")
	}
	results := f.ResultTypes()
	return len(f.ParamTypes()) == 0 && len(results) <= 1 && (len(results) == 0 || results[0] == api.ValueTypeI32) &&
		!slices.ContainsFunc(f.ExportNames(), toolchain)
}

// callExtism calls an export with an input, and returns its output.
func (g *guest) callExtism(name string, input []byte, config map[string]string) ([]byte, error) {
	if err := g.fits(len(input)); err != nil {
		return nil, err
	}
	k := g.kernel
	k.begin(input, config, g.plugin.Stateful)
	f := g.mod.ExportedFunction(name)
	status, err := g.invoke(f)
	if len(f.Definition().ResultTypes()) == 0 {
		status = 0
	}
	if exit, ok := errors.AsType[exited](err); ok && name == commandStart {
		status, err = uint64(exit.code), nil // that is how programs end
	}
	if err != nil {
		return nil, err
	}
	if uint32(status) != 0 {
		text := string(k.view(k.failure))
		if text == "" {
			text = "it says no more"
		}
		return nil, sdk.Errorf(sdk.Internal, "plugin_failed", "function %s of plugin %s failed with %d: %s", name, g.plugin.Name, uint32(status), text).
			WithHint("the plugin's log may say more")
	}
	if err := g.replyFits(int(k.output.length)); err != nil {
		return nil, err
	}
	return k.view(k.output), nil
}
