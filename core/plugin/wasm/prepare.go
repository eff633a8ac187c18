package wasm

import (
	"context"

	"github.com/tetratelabs/wazero"

	"github.com/reflectory/reflectory/core/plugin/wasm/fuel"
	"github.com/reflectory/reflectory/core/plugin/wasm/scan"
	"github.com/reflectory/reflectory/sdk"
)

// rewriteVersion is raised whenever the same module would be rewritten or described
// differently.
const rewriteVersion = "3"

// prepareModule validates a module and rewrites it into the one that is run. The scan comes
// before everything else that reads it. The original is validated before it is rewritten:
// otherwise an invalid module could become a valid one, with code of its own choice between
// the charges. Only the compiler's process may call it.
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

// validate has wazero decode the module for its interpreter, which validates as its compiler
// does in a fraction of the time.
func validate(ctx context.Context, module []byte, extism bool) (Info, error) {
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(features).WithDebugInfoEnabled(false))
	defer func() { _ = r.Close(ctx) }() // nothing runs in it
	compiled, err := r.CompileModule(ctx, module)
	if err != nil {
		return Info{}, moduleInvalid(err)
	}
	return detect(compiled, extism)
}

// rewrite bounds a module's tables, exports its state and meters it, the latter two if that is
// possible, and records in info what was done.
func (info *Info) rewrite(code []byte) ([]byte, error) {
	code, err := fuel.BoundTables(code)
	if err != nil {
		return nil, err
	}
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
