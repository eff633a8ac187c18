package fuel_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// Each case of testdata/charge is a module, one call of its function f, and what
// that gives and uses:
//
//	run ARG… [budget=N]
//
// The result is the result of the unchanged module, and the fuel is the same with each
// engine of wazero and with slices of any size.
func TestChargesAreWhatIsExecuted(t *testing.T) {
	datadriven.Walk(t, "testdata/charge", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			return runCase(t, d)
		})
	})
}

func runCase(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	budget := int64(1 << 40)
	var args []uint64
	for _, arg := range d.CmdArgs {
		if arg.Key == "budget" {
			arg.Scan(t, 0, &budget)
			continue
		}
		n, err := strconv.ParseInt(arg.Key, 0, 64)
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		args = append(args, uint64(n))
	}
	plain := assemble(d.Input)
	metered := instrument(t, plain)
	var first string
	for _, engine := range []wazero.RuntimeConfig{wazero.NewRuntimeConfig(), wazero.NewRuntimeConfigInterpreter()} {
		for _, slice := range []int64{1 << 30, 1000, 7} {
			got := runMetered(t, engine, metered, &tank{budget: budget, slice: slice}, args)
			if first == "" {
				first = got
			}
			if got != first {
				d.Fatalf(t, "with slices of %d: %q, at first %q", slice, got, first)
			}
		}
	}
	if want := runPlain(t, plain, args, budget); want != "" && !strings.HasPrefix(first, want+"\n") {
		d.Fatalf(t, "without metering %q, with it %q", want, first)
	}
	return first
}

func runMetered(t *testing.T, engine wazero.RuntimeConfig, module []byte, tk *tank, args []uint64) string {
	t.Helper()
	r := newRuntime(t, engine.WithCoreFeatures(features), tk.refill)
	defer r.Close(context.Background())
	guest, text := start(r, module)
	if guest == nil {
		return text
	}
	return fmt.Sprintf("%s\nfuel %d\n", call(guest, args), tk.used(guest))
}

// runPlain returns nothing for a call that its budget would end.
func runPlain(t *testing.T, module []byte, args []uint64, budget int64) string {
	t.Helper()
	if budget < 1<<40 {
		return ""
	}
	r := newRuntime(t, everything(), nil)
	defer r.Close(context.Background())
	guest, text := start(r, module)
	if guest == nil {
		return text
	}
	return call(guest, args)
}

func start(r wazero.Runtime, module []byte) (api.Module, string) {
	guest, err := r.Instantiate(context.Background(), module)
	if err != nil {
		return nil, failure(err)
	}
	return guest, ""
}

func call(guest api.Module, args []uint64) string {
	out, err := guest.ExportedFunction("f").Call(context.Background(), args...)
	switch {
	case errors.Is(err, errSpent):
		return errSpent.Error()
	case err != nil:
		return failure(err)
	}
	var text []string
	for _, v := range out {
		text = append(text, strconv.FormatInt(int64(int32(v)), 10))
	}
	return strings.Join(append([]string{"="}, text...), " ")
}
