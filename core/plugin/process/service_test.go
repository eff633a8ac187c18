package process_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/process"
	"github.com/reflectory/reflectory/sdk"
)

// answering is a host's services as one function.
type answering func(ctx context.Context, r plugin.ServiceRequest) (json.RawMessage, error)

func (f answering) Serve(ctx context.Context, r plugin.ServiceRequest) (json.RawMessage, error) {
	return f(ctx, r)
}

// step evaluates as a step of a run.
func step(t testing.TB, i plugin.Instance, runID string, c plugin.Config) (*sdk.EvaluateResponse, error) {
	t.Helper()
	results, err := i.Evaluate(t.Context(), c, []*sdk.EvaluateRequest{{Call: sdk.Call{RunID: runID}, Output: json.RawMessage(`1`)}})
	if err != nil {
		return nil, err
	}
	return results[0].Response, results[0].Err
}

func TestAGrantedServiceIsReachedFromAProcess(t *testing.T) {
	var asked plugin.ServiceRequest
	services := answering(func(_ context.Context, r plugin.ServiceRequest) (json.RawMessage, error) {
		asked = r
		return json.RawMessage(`{"output":"three"}`), nil
	})
	p := self(t, "serve")
	p.Granted.Host = []plugin.Service{plugin.ServiceLLM}
	i := start(t, process.Options{Services: services}, p)
	r, err := step(t, i, "run-1", do("ask", "how many?"))
	if err != nil || r.Verdict.Feedback != "three" {
		t.Fatalf("%v, %+v", err, r)
	}
	want := plugin.ServiceRequest{Plugin: "probe", Service: plugin.ServiceLLM, RunID: "run-1", Body: json.RawMessage(`{"prompt":"how many?"}`)}
	if asked.Redactor = nil; !cmp.Equal(want, asked) {
		t.Error(cmp.Diff(want, asked))
	}
}

func TestAServiceThatWasNotGrantedIsRefusedToAProcess(t *testing.T) {
	services := answering(func(context.Context, plugin.ServiceRequest) (json.RawMessage, error) {
		t.Error("the service was asked")
		return nil, nil
	})
	i := start(t, process.Options{Services: services}, self(t, "serve"))
	_, err := step(t, i, "run-1", do("ask", "how many?"))
	if sdk.CodeOf(err) != sdk.Denied || sdk.ReasonOf(err) != "capability_missing" ||
		!strings.Contains(sdk.AsError(err).Hint, "grant it host:llm.complete") {
		t.Errorf("got %v, hint %q", err, sdk.AsError(err).Hint)
	}
}

func TestAProcessIsAskedForItsHealth(t *testing.T) {
	i := start(t, process.Options{}, self(t, "serve"))
	if err := i.(plugin.InstanceWithHealth).Healthy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := evaluate(t, i, do("poison")); err != nil {
		t.Fatal(err)
	}
	if err := i.(plugin.InstanceWithHealth).Healthy(t.Context()); sdk.ReasonOf(err) != "plugin_unhealthy" || !strings.Contains(err.Error(), "nothing works") {
		t.Errorf("got %v", err)
	}
	i.Kill(context.Canceled)
	if err := i.(plugin.InstanceWithHealth).Healthy(t.Context()); sdk.ReasonOf(err) != "plugin_unhealthy" {
		t.Errorf("got %v", err)
	}
}

// kept takes lines of a plugin's log.
type kept struct {
	mu    sync.Mutex
	lines []plugin.LogLine
}

func (k *kept) log(l plugin.LogLine) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.lines = append(k.lines, l)
}

// await waits for n lines: they take their own way.
func (k *kept) await(t *testing.T, n int) []plugin.LogLine {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-time.After(time.Millisecond) {
		k.mu.Lock()
		lines := append([]plugin.LogLine(nil), k.lines...)
		k.mu.Unlock()
		if len(lines) >= n {
			return lines
		}
	}
	t.Fatalf("no %d lines came: %+v", n, k.lines)
	return nil
}

func TestLogLinesBearTheirRun(t *testing.T) {
	tests := map[string]struct {
		parallel int
		claims   string
		want     []string // of the line with a context, and the one without
	}{
		"one call at a time":         {parallel: 1, want: []string{"run-2", "run-2"}},
		"many":                       {parallel: 8, want: []string{"run-2", ""}},
		"a run that it worked on":    {parallel: 8, claims: "run-1", want: []string{"run-2", "run-1"}},
		"a run that it never saw":    {parallel: 8, claims: "run-7", want: []string{"run-2", ""}},
		"never saw, one at a time":   {parallel: 1, claims: "run-7", want: []string{"run-2", "run-2"}},
		"another's, one at a time":   {parallel: 1, claims: "run-1", want: []string{"run-2", "run-1"}},
		"its own, with many at once": {parallel: 8, claims: "run-2", want: []string{"run-2", "run-2"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var k kept
			p := self(t, "serve")
			p.Limits.Parallel = tt.parallel
			i := start(t, process.Options{Log: k.log}, p)
			if _, err := step(t, i, "run-1", do("")); err != nil {
				t.Fatal(err)
			}
			if _, err := step(t, i, "run-2", do("log run", tt.claims)); err != nil {
				t.Fatal(err)
			}
			for n, l := range k.await(t, 2)[:2] {
				if l.RunID != tt.want[n] {
					t.Errorf("%q is of run %q, want %q", l.Message, l.RunID, tt.want[n])
				}
			}
		})
	}
}

func TestGrantedValuesAreNotLogged(t *testing.T) {
	const secret = `sk-"quoted"-key`
	var k kept
	p := self(t, "serve")
	p.Env = []string{"KEY=" + secret}
	i := start(t, process.Options{Log: k.log}, p)
	if _, err := step(t, i, "", do("leak")); err != nil {
		t.Fatal(err)
	}
	_, err := step(t, i, "", do("leak", "exit"))
	if sdk.ReasonOf(err) != "plugin_exited" {
		t.Fatal(err)
	}
	<-i.Done()
	all := fmt.Sprintf("%+v %v %+v", k.await(t, 5), err, sdk.AsError(err).Details)
	if strings.Contains(all, "quoted") || !strings.Contains(all, "panic: ***") {
		t.Errorf("the secret shows: %s", all)
	}
}
