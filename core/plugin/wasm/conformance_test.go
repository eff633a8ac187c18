package wasm_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/wasm"
	"github.com/reflectory/reflectory/sdk"
)

// goModes are the ways in which the Go guest is built: as a reactor, and as a
// command.
var goModes = []string{"c-shared", "exe"}

func TestAGoGuestKeepsTheContract(t *testing.T) {
	coretest.Long(t)
	d := newDriver(t, wasm.Options{})
	for _, mode := range goModes {
		i := start(t, d, plugin.Installed{Path: goGuest(t, mode)})
		want := &sdk.Manifest{Name: "guest", Version: "1.0.0", Contract: 1, Kinds: []sdk.Kind{"corrector", "evaluator", "generator"}}
		if diff := cmp.Diff(want, i.Manifest()); diff != "" {
			t.Error(mode, diff)
		}
		if err := i.Prepare(t.Context(), sdk.KindEvaluator, do("echo")); err != nil {
			t.Error(mode, err)
		}
		if err := i.Prepare(t.Context(), sdk.KindEvaluator, do("refuse")); sdk.ReasonOf(err) != "config_invalid" {
			t.Error(mode, err)
		}
		r, err := evaluate(i, do("echo"), `{"a": [1, "é"]}`)
		if err != nil || string(r.Verdict.Output) != `{"a":[1,"é"]}` {
			t.Errorf("%s: %+v %v", mode, r, err)
		}
		_, err = evaluate(i, do("fail"), `1`)
		e := sdk.AsError(err)
		if e == nil || e.Code != sdk.Unavailable || e.Reason != "upstream_down" || e.Hint != "the plugin says: wait" || fmt.Sprint(e.Details["tries"]) != "3" {
			t.Errorf("%s: %+v", mode, e)
		}
		if _, err := evaluate(i, do("panic"), `1`); sdk.ReasonOf(err) != "plugin_panic" {
			t.Error(mode, err)
		}
		if _, err := evaluate(i, do("nan"), `1`); sdk.ReasonOf(err) != "score_not_finite" {
			t.Error(mode, err)
		}
	}
}

func TestBatchesKeepTheirOrder(t *testing.T) {
	d := newDriver(t, wasm.Options{})
	for _, mode := range goModes {
		i := start(t, d, plugin.Installed{Path: goGuest(t, mode)})
		var evaluations []*sdk.EvaluateRequest
		var corrections []*sdk.CorrectRequest
		for n := range 5 {
			output := json.RawMessage(fmt.Sprint(n))
			evaluations = append(evaluations, &sdk.EvaluateRequest{Output: output})
			corrections = append(corrections, &sdk.CorrectRequest{Output: output, Feedback: "f", Errors: []sdk.Finding{{Message: "m"}}})
		}
		verdicts, err := i.Evaluate(t.Context(), do("echo"), evaluations)
		if err != nil {
			t.Fatal(err)
		}
		corrected, err := i.Correct(t.Context(), do("echo"), corrections)
		if err != nil {
			t.Fatal(err)
		}
		for n := range 5 {
			if got := string(verdicts[n].Response.Verdict.Output); got != fmt.Sprint(n) {
				t.Errorf("%s: verdict %d: %s", mode, n, got)
			}
			if got := string(corrected[n].Response.Output); got != fmt.Sprintf(`[%d,[{"message":"m"}],"f"]`, n) {
				t.Errorf("%s: correction %d: %s", mode, n, got)
			}
		}
	}
}

func TestAReactorsOutputCanBeWatched(t *testing.T) {
	d := newDriver(t, wasm.Options{})
	paths := []string{cGuest}
	if !testing.Short() {
		paths = append(paths, goGuest(t, "c-shared"))
	}
	for _, path := range paths {
		i := start(t, d, plugin.Installed{Path: path})
		var pieces []string
		results, err := i.Generate(t.Context(), do("x"), []*sdk.GenerateRequest{{Emit: func(p string) { pieces = append(pieces, p) }}})
		if err != nil || string(results[0].Response.Output) != `"one two"` || strings.Join(pieces, "|") != "one |two" {
			t.Errorf("%s: %v %q", path, err, pieces)
		}
	}
}

func TestAGuestSeesNothingOfItsHost(t *testing.T) {
	t.Setenv("SECRET", "s3cret")
	d := newDriver(t, wasm.Options{})
	for _, mode := range goModes {
		i := start(t, d, plugin.Installed{Path: goGuest(t, mode)})
		first := feedback(t, i, do("world"))
		if !strings.HasPrefix(first, "2022-01-01 ") || !strings.HasSuffix(first, " 0  true") {
			t.Errorf("%s: %s", mode, first)
		}
		if again := feedback(t, i, do("world")); again != first {
			t.Errorf("%s: %s, then %s", mode, first, again)
		}
		if got := feedback(t, i, do("sleep")); got != "true" {
			t.Errorf("%s: an hour's sleep: %s", mode, got)
		}
		if got := feedback(t, i, do("call")); got != `{"node":"n"}` {
			t.Errorf("%s: a pure guest is told %s", mode, got)
		}
		granted := start(t, d, plugin.Installed{Path: goGuest(t, mode), Env: []string{"SECRET=granted"}})
		if got := feedback(t, granted, do("world")); !strings.Contains(got, " 1 granted true") {
			t.Errorf("%s: %s", mode, got)
		}
	}
	told := start(t, d, plugin.Installed{Path: goGuest(t, "c-shared"), Granted: plugin.Capabilities{Host: []plugin.Service{"cache"}}})
	if got := feedback(t, told, do("call")); got != `{"run_id":"r1","node":"n","idempotency_key":"k1"}` {
		t.Errorf("a guest with services is told %s", got)
	}
	_, err := d.Start(t.Context(), plugin.Installed{Name: "guest", Path: cGuest, Granted: plugin.Capabilities{FS: []string{"/etc"}}})
	if sdk.ReasonOf(err) != "capability_unsupported" {
		t.Error(err)
	}
}

func TestNoCallLeaksToTheNextUnlessItIsAskedFor(t *testing.T) {
	d := newDriver(t, wasm.Options{})
	modules := map[string]string{"c": cGuest, "table": cTable}
	if !testing.Short() {
		modules["go"] = goGuest(t, "c-shared")
	}
	for name, path := range modules {
		for _, isolated := range []bool{false, true} {
			i := start(t, d, plugin.Installed{Path: path, Isolated: isolated})
			for range 3 {
				if got := feedback(t, i, do("count")); got != "1" {
					t.Errorf("%s isolated %t: call number %s", name, isolated, got)
				}
			}
		}
		i := start(t, d, plugin.Installed{Path: path, Stateful: true})
		for n := range 3 {
			if got := feedback(t, i, do("count")); got != fmt.Sprint(n+1) {
				t.Errorf("%s stateful: call number %s, want %d", name, got, n+1)
			}
		}
	}
}

func TestGrownMemoryIsGivenBack(t *testing.T) {
	i := start(t, newDriver(t, wasm.Options{}), plugin.Installed{Path: cGuest})
	for range 3 {
		if got := feedback(t, i, do("grow")); got != "2" {
			t.Errorf("%s pages", got)
		}
	}
}

func TestAWornInstanceIsReplaced(t *testing.T) {
	d := newDriver(t, wasm.Options{RecycleCalls: 3})
	i := start(t, d, plugin.Installed{Path: cGuest, Stateful: true})
	var seen []string
	for range 6 {
		seen = append(seen, feedback(t, i, do("count")))
	}
	// The description and each preparation are calls too.
	if got := strings.Join(seen, " "); got != "1 1 2 1 2 1" {
		t.Error(got)
	}
}

func TestAnOldInstanceIsReplaced(t *testing.T) {
	var age atomic.Int64
	born := time.Now()
	d := newDriver(t, wasm.Options{RecycleAge: time.Minute, Now: func() time.Time { return born.Add(time.Duration(age.Load())) }})
	i := start(t, d, plugin.Installed{Path: cGuest, Stateful: true})
	var seen []string
	for _, now := range []time.Duration{0, 0, time.Minute - 1, time.Minute, 2*time.Minute - 1, 2 * time.Minute} {
		age.Store(int64(now))
		seen = append(seen, feedback(t, i, do("count")))
	}
	if got := strings.Join(seen, " "); got != "1 2 3 1 2 1" {
		t.Error(got)
	}
}

// The same module, input and fuel give the same verdict, with the same fuel and
// the same errors, in every instance and in every mode.
func TestEveryRunIsTheSame(t *testing.T) {
	runs := coretest.Cases(8, coretest.Heavy(50, 1000))
	d := newDriver(t, wasm.Options{})
	type guest struct{ path, do string }
	guests := []guest{{cGuest, "work"}, {cGuest, "grow"}, {cGuest, "nan"}, {cGuest, "itemerror"}, {cTable, ""}}
	if !testing.Short() {
		guests = append(guests, guest{goGuest(t, "c-shared"), "world"}, guest{goGuest(t, "c-shared"), "fail"}, guest{goGuest(t, "exe"), "world"})
	}
	for _, tt := range guests {
		seen := map[string]int{}
		for _, isolated := range []bool{false, true} {
			for _, instances := range []int{1, 2} {
				each := plugin.Installed{Name: "guest", Path: tt.path, Isolated: isolated}
				runAll(t, d, each, instances, max(1, runs/4), do(tt.do), seen)
			}
		}
		if len(seen) != 1 {
			t.Errorf("%s %s: %v", tt.path, tt.do, seen)
		}
	}
}

// runAll makes calls on some instances at a time, and counts what they gave.
func runAll(t *testing.T, d *wasm.Driver, p plugin.Installed, instances, calls int, c plugin.Config, seen map[string]int) {
	t.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	for range instances {
		i := start(t, d, p)
		all.Go(func() {
			for range calls / instances {
				r, err := evaluate(i, c, `{"a":1}`)
				b, _ := json.Marshal([]any{r, err})
				mu.Lock()
				seen[string(b)+sdk.ReasonOf(err)]++
				mu.Unlock()
			}
		})
	}
	all.Wait()
}

func TestFuelIsReportedAndBinding(t *testing.T) {
	d := newDriver(t, wasm.Options{})
	fuel := func(p plugin.Installed) (string, error) {
		p.Path = cGuest
		r, err := evaluate(start(t, d, p), do("work"), `1`)
		if err != nil {
			return "", err
		}
		return r.Metadata[wasm.MetadataFuel], nil
	}
	used, err := fuel(plugin.Installed{})
	var n uint64
	fmt.Sscan(used, &n)
	if err != nil || n < 300_000 {
		t.Fatal(used, err)
	}
	if again, err := fuel(plugin.Installed{Limits: plugin.Limits{Fuel: n}}); err != nil || again != used {
		t.Errorf("with just enough: %s, %v", again, err)
	}
	if _, err := fuel(plugin.Installed{Limits: plugin.Limits{Fuel: n - 1000}}); sdk.ReasonOf(err) != "fuel_exhausted" || sdk.AsError(err).Hint == "" {
		t.Errorf("with too little: %v", err)
	}
}

func TestWhatAGuestWritesIsLogged(t *testing.T) {
	for _, mode := range goModes {
		var lines []string
		d := newDriver(t, wasm.Options{Log: func(l plugin.LogLine) { lines = append(lines, l.Plugin+" "+l.Level+" "+l.Message) }})
		i := start(t, d, plugin.Installed{Path: goGuest(t, mode)})
		feedback(t, i, do("log"))
		if got := strings.Join(lines, "\n"); got != "guest warn look here n=7\nguest info plain line" {
			t.Errorf("%s: %s", mode, got)
		}
	}
}

func TestALogFloodIsBounded(t *testing.T) {
	var lines int
	d := newDriver(t, wasm.Options{Log: func(plugin.LogLine) { lines++ }})
	feedback(t, start(t, d, plugin.Installed{Path: cGuest}), do("flood"))
	if lines == 0 || lines > 1000 {
		t.Errorf("%d lines", lines)
	}
}

func TestACallNeedsItsContext(t *testing.T) {
	i := start(t, newDriver(t, wasm.Options{}), plugin.Installed{Path: cGuest})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := evaluateWith(ctx, i, do("loop"), `1`); sdk.CodeOf(err) != sdk.Cancelled {
		t.Error(err)
	}
}
