package wasm

import (
	"context"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/reflectory/reflectory/core/plugin/wasm/fuel"
	"github.com/reflectory/reflectory/sdk"
)

// slice is how many units a guest gets at a time: about 0.1 ms of work. A deadline is kept
// to within that, at a cost too small to measure. The contract allows ten times as many.
const slice = 100_000

// fuelMeter is the fuel of a guest. Only the goroutine that runs the guest uses it.
type fuelMeter struct {
	left    api.MutableGlobal // nil if the guest isn't metered
	granted int64
	budget  int64
}

// begin sets a new budget, of which the guest has no slice yet.
func (m *fuelMeter) begin(budget uint64) {
	m.granted, m.budget = 0, int64(min(budget, 1<<62))
	if m.left != nil {
		m.left.Set(0)
	}
}

// used is what was used since begin.
func (m *fuelMeter) used() int64 {
	if m.left == nil {
		return 0
	}
	return m.granted - int64(m.left.Get())
}

// refill grants the next slice, and reports whether the guest is still within its budget:
// see package fuel.
func (m *fuelMeter) refill() bool {
	used := m.used()
	if used > m.budget {
		return false
	}
	next := min(slice, m.budget-used)
	m.granted = used + next
	m.left.Set(uint64(next))
	return true
}

func provideFuel(ctx context.Context, r wazero.Runtime) error {
	_, err := r.NewHostModuleBuilder(fuel.ImportModule).NewFunctionBuilder().
		WithGoModuleFunction(api.GoModuleFunc(refill), nil, nil).
		Export(fuel.ImportRefill).Instantiate(ctx)
	return err
}

// refill is called by a guest that has used up its slice. It runs on the guest's goroutine,
// which Go's scheduler can preempt here.
func refill(ctx context.Context, mod api.Module, _ []uint64) {
	g := guestOf(ctx)
	if g.meter.left == nil { // its start function is running
		g.meter.left = mod.ExportedGlobal(fuel.Global).(api.MutableGlobal)
	}
	if err := g.interrupted(); err != nil {
		panic(stopped{err})
	}
	if !g.meter.refill() {
		panic(stopped{fuelExhausted(g.plugin.Name, g.meter.budget)})
	}
}

// interrupted is why the call under way must end; nil if it needn't. It checks the deadline
// too, since the context's timer needs a goroutine that may not run meanwhile.
func (g *guest) interrupted() error {
	if err := g.ctx.Err(); err != nil {
		return err
	}
	if deadline, ok := g.ctx.Deadline(); ok && !time.Now().Before(deadline) {
		return context.DeadlineExceeded
	}
	return context.Cause(g.life)
}

// stopped is the panic with which the host ends a call.
type stopped struct{ reason error }

func (s stopped) Error() string { return s.reason.Error() }

func fuelExhausted(plugin string, budget int64) error {
	return sdk.Errorf(sdk.Exhausted, "fuel_exhausted", "plugin %s used up its %d units of fuel in one call", plugin, budget).
		WithHint("give it less to do in one call, or raise limits.fuel in its plugin.yaml").
		WithDetail("plugin", plugin).WithDetail("fuel", budget)
}

// charge takes fuel for work of the host that depends on a length, at the price of the
// guest's own bulk operations, and ends a call that is out of fuel or time. So the deadline
// also holds for a guest that has the host do its work.
func (g *guest) charge(n int) {
	if g.meter.left != nil {
		g.meter.left.Set(g.meter.left.Get() - uint64(n)>>3)
		if int64(g.meter.left.Get()) >= 0 && n < slice {
			return
		}
	}
	if err := g.interrupted(); err != nil {
		panic(stopped{err})
	}
	if g.meter.left != nil && int64(g.meter.left.Get()) < 0 && !g.meter.refill() {
		panic(stopped{fuelExhausted(g.plugin.Name, g.meter.budget)})
	}
}
