package wasm_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/services"
	"github.com/reflectory/reflectory/core/plugin/wasm"
	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/check"
)

// answering is a host's services as one function.
type answering func(ctx context.Context, r plugin.ServiceRequest) (json.RawMessage, error)

func (f answering) Serve(ctx context.Context, r plugin.ServiceRequest) (json.RawMessage, error) {
	return f(ctx, r)
}

// echo answers each request with who asked for what.
func echo(_ context.Context, r plugin.ServiceRequest) (json.RawMessage, error) {
	if string(r.Body) == "0" {
		return nil, sdk.Errorf(sdk.Exhausted, "cache_full", "no room")
	}
	return json.Marshal([]any{r.Plugin, r.Service, r.RunID, r.Body})
}

// trusted is the Go guest with all services.
func trusted(t testing.TB, mode string) plugin.Installed {
	t.Helper()
	return plugin.Installed{Path: goGuest(t, mode), Granted: plugin.Capabilities{Host: sdk.Services()}}
}

func TestHostServicesNeedTheirGrant(t *testing.T) {
	d := newDriver(t, wasm.Options{Services: answering(echo)})
	p := plugin.Installed{Path: goGuest(t, "c-shared")}
	for _, what := range []string{"service", "remember", "recall", "complete"} {
		if _, err := evaluate(start(t, d, p), do(what), `7`); sdk.ReasonOf(err) != "capability_missing" || sdk.CodeOf(err) != sdk.Denied {
			t.Errorf("%s: %v", what, err)
		}
	}
	p.Granted.Host = []plugin.Service{plugin.ServiceCache}
	i := start(t, d, p)
	r, err := evaluate(i, do("service"), `7`)
	if err != nil || string(r.Verdict.Output) != `["guest","cache","r1",7]` {
		t.Errorf("%+v %v", r, err)
	}
	if _, err := evaluate(i, do("service"), `0`); sdk.ReasonOf(err) != "cache_full" || sdk.CodeOf(err) != sdk.Exhausted {
		t.Error(err)
	}
}

// What the host keeps outlives a call, which the guest's own memory doesn't.
func TestAGuestRemembersAndLogsWithTheHost(t *testing.T) {
	for _, mode := range goModes {
		var lines []plugin.LogLine
		host := services.New(services.Options{Log: func(l plugin.LogLine) { lines = append(lines, l) }})
		i := start(t, newDriver(t, wasm.Options{Services: host}), trusted(t, mode))
		for _, step := range []struct{ judges, last string }{{`1`, `"nothing"`}, {`{"a":2}`, `1`}, {`3`, `{"a":2}`}} {
			r, err := evaluate(i, do("remember"), step.judges)
			if err != nil || string(r.Verdict.Output) != step.last {
				t.Fatalf("%s: judging %s: %+v %v, want %s", mode, step.judges, r, err, step.last)
			}
		}
		if len(lines) != 3 || lines[0].Message != "judged" || lines[0].Level != "warn" || lines[0].RunID != "r1" ||
			lines[0].Plugin != "guest" || lines[0].Fields["_run"] != "r1" {
			t.Errorf("%s: logged %+v", mode, lines)
		}
	}
}

func TestAGuestRecallsAndCompletesWithTheHost(t *testing.T) {
	var asked []string
	d := newDriver(t, wasm.Options{Services: answering(func(_ context.Context, r plugin.ServiceRequest) (json.RawMessage, error) {
		asked = append(asked, string(r.Service)+" "+string(r.Body))
		return json.RawMessage(`{"memories": [{"title": "three"}], "output": "four"}`), nil
	})})
	i := start(t, d, trusted(t, "c-shared"))
	if got := feedback(t, i, do("recall")) + feedback(t, i, do("complete")); got != "threefour" {
		t.Error(got)
	}
	if want := []string{`memory.recall {"query":"q","limit":1}`, `llm.complete {"prompt":"how many?"}`}; !slices.Equal(asked, want) {
		t.Errorf("asked for %q", asked)
	}
}

// Services aren't told of a run to which not all of a batch belongs.
func TestABatchOfSeveralRunsIsOfNone(t *testing.T) {
	i := start(t, newDriver(t, wasm.Options{Services: answering(echo)}), trusted(t, "c-shared"))
	for runs, want := range map[string]string{"a a": "a", "a b": "", "a b b": "", "b": "b"} {
		var reqs []*sdk.EvaluateRequest
		for run := range strings.FieldsSeq(runs) {
			reqs = append(reqs, &sdk.EvaluateRequest{Call: sdk.Call{RunID: run}, Output: json.RawMessage(`7`)})
		}
		results, err := i.Evaluate(t.Context(), do("service"), reqs)
		if err != nil || results[0].Err != nil || string(results[0].Response.Verdict.Output) != `["guest","cache","`+want+`",7]` {
			t.Errorf("%s: %+v %v, want run %q", runs, results, err, want)
		}
	}
}

func TestOneCallAsksTheHostWithinBounds(t *testing.T) {
	p := trusted(t, "c-shared")
	p.Limits = plugin.Limits{Fuel: 1e12, MemoryBytes: 256 << 20, Timeout: time.Minute}
	i := start(t, newDriver(t, wasm.Options{Services: answering(echo)}), p)
	if _, err := evaluate(i, do("pester"), `1`); sdk.ReasonOf(err) != "host_calls_exceeded" || !strings.Contains(err.Error(), "more than 10000") {
		t.Errorf("questions without end: %v", err)
	}
	if _, err := evaluate(i, do("service"), `7`); err != nil {
		t.Errorf("the next call: %v", err)
	}
	large := `"` + strings.Repeat("x", check.MaxHostBytes) + `"`
	if _, err := evaluate(i, do("service"), large); sdk.ReasonOf(err) != "message_too_large" || sdk.CodeOf(err) != sdk.Exhausted {
		t.Errorf("a large question: %v", err)
	}
}

func TestTheHostIsAskedWithinACallOnly(t *testing.T) {
	p := trusted(t, "c-shared")
	p.Stateful = true // it keeps the context of its first call
	i := start(t, newDriver(t, wasm.Options{Services: services.New(services.Options{})}), p)
	if _, err := evaluate(i, do("stale"), `1`); err != nil {
		t.Fatal(err)
	}
	if _, err := evaluate(i, do("stale"), `1`); sdk.ReasonOf(err) != "call_ended" {
		t.Errorf("a context of an earlier call: %v", err)
	}
}

// Fuel is what the guest executes; the deadline is for all of a call.
func TestTimeInTheHostIsNoFuelButCountsForTheDeadline(t *testing.T) {
	var slow time.Duration
	d := newDriver(t, wasm.Options{Services: answering(func(ctx context.Context, _ plugin.ServiceRequest) (json.RawMessage, error) {
		answered, cancel := context.WithTimeout(ctx, slow)
		defer cancel()
		<-answered.Done()
		return json.RawMessage(`1`), ctx.Err()
	})})
	i := start(t, d, trusted(t, "c-shared"))
	var fuel []string
	for _, slow = range []time.Duration{0, 100 * time.Millisecond} { // 100 ms of work are about 1e8 units
		r, err := evaluate(i, do("service"), `1`)
		if err != nil {
			t.Fatal(err)
		}
		fuel = append(fuel, r.Metadata[wasm.MetadataFuel])
	}
	if fuel[0] == "" || fuel[0] != fuel[1] {
		t.Errorf("a quick service costs %s units of fuel, a slow one %s", fuel[0], fuel[1])
	}
	slow = time.Hour
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := evaluateWith(ctx, i, do("service"), `1`); sdk.CodeOf(err) != sdk.Timeout {
		t.Errorf("a service that doesn't answer: %v", err)
	}
}
