package wasm

import (
	"context"

	"github.com/tetratelabs/wazero"

	"github.com/reflectory/reflectory/core/plugin/wasm/fuel"
	"github.com/reflectory/reflectory/core/plugin/wasm/scan"
	"github.com/reflectory/reflectory/sdk"
)

// rewriteVersion is raised whenever the same module would be rewritten, or
// understood, in another way.
const rewriteVersion = "2"

// prepareModule validates a module and makes of it what is run. The scan comes
// before everything else that looks at it. The original is validated before it is
// rewritten: an invalid module could otherwise become a valid one, with code of
// its own choice between the charges. It is for the compiler's process only.
func prepareModule(ctx context.Context, original []byte, extism bool) (*readyModule, error) {
	cost, err := scan.Scan(original)
	if err != nil {
		return nil, err
	}
	info, err := validate(ctx, original, extism)
	if err != nil {
		return nil, err
	}
	info.InstanceBytes, info.Shared = cost.InstanceBytes, cost.Shared
	code, err := info.rewrite(original)
	if err != nil {
		return nil, err
	}
	return &readyModule{Info: info, code: code}, nil
}

// validate has wazero read the module, with its interpreter, which reads a module
// as its compiler does and takes a fraction of the time.
func validate(ctx context.Context, module []byte, extism bool) (Info, error) {
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(features).WithDebugInfoEnabled(false))
	defer func() { _ = r.Close(ctx) }() // nothing runs in it
	compiled, err := r.CompileModule(ctx, module)
	if err != nil {
		return Info{}, moduleInvalid(err)
	}
	return detect(compiled, extism)
}

// rewrite makes a module's state reachable and meters it, as far as that goes,
// and notes in info what was done.
func (info *Info) rewrite(code []byte) ([]byte, error) {
	exposed, state, err := fuel.Expose(code)
	switch {
	case err == nil:
		code, info.Globals = exposed, state.Globals
		info.Unrestorable, info.Restorable = state.Hidden, state.Hidden == ""
	case sdk.ReasonOf(err) == "fuel_unsupported":
		info.Unrestorable = err.Error()
	default:
		return nil, err
	}
	metered, err := fuel.Instrument(code)
	switch {
	case err == nil:
		code, info.Metered = metered, true
	case sdk.ReasonOf(err) == "fuel_unsupported":
		info.Unmetered = err.Error()
	default:
		return nil, err
	}
	return code, nil
}
