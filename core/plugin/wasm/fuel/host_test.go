package fuel_test

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/reflectory/reflectory/core/plugin/wasm/fuel"
)

// features are all that wazero runs.
const features = api.CoreFeaturesV2 | experimental.CoreFeaturesThreads | experimental.CoreFeaturesTailCall |
	experimental.CoreFeaturesExtendedConst | experimental.CoreFeaturesExceptionHandling |
	experimental.CoreFeaturesTypedFunctionReferences

var errSpent = errors.New("out of fuel")

// tank is a host's side of metering, as the package's comment describes it.
type tank struct {
	budget, slice int64
	granted       int64
	refills       int
}

func (t *tank) refill(_ context.Context, guest api.Module, _ []uint64) {
	counter := guest.ExportedGlobal(fuel.Global).(api.MutableGlobal)
	left := int64(counter.Get())
	used := t.granted - left
	if used > t.budget {
		panic(errSpent)
	}
	grant := min(t.slice, t.budget-used)
	t.granted += grant - left
	t.refills++
	counter.Set(uint64(grant))
}

// used is the fuel that a guest has used so far.
func (t *tank) used(guest api.Module) int64 {
	return t.granted - int64(guest.ExportedGlobal(fuel.Global).Get())
}

// endless is a refill without a budget, for guests that call each other: each has
// a counter of its own.
func endless(_ context.Context, guest api.Module, _ []uint64) {
	guest.ExportedGlobal(fuel.Global).(api.MutableGlobal).Set(1000)
}

// newRuntime is a runtime whose guests are refilled by a function.
func newRuntime(t testing.TB, config wazero.RuntimeConfig, refill api.GoModuleFunc) wazero.Runtime {
	t.Helper()
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, config)
	t.Cleanup(func() { r.Close(ctx) })
	_, err := r.NewHostModuleBuilder(fuel.ImportModule).NewFunctionBuilder().
		WithGoModuleFunction(refill, nil, nil).Export(fuel.ImportRefill).Instantiate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// everything is the configuration with all features.
func everything() wazero.RuntimeConfig { return wazero.NewRuntimeConfig().WithCoreFeatures(features) }

func instrument(t testing.TB, module []byte) []byte {
	t.Helper()
	out, err := fuel.Instrument(module)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// moduleFolder is where a module of this repository's go.mod lies.
func moduleFolder(t testing.TB, path string) string {
	t.Helper()
	cmd := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", path)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go list -m %s: %v\n%s", path, err, out)
	}
	return strings.TrimSpace(string(out))
}
