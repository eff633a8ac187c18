package run_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/sdk"
)

// hostsOf are repositories of hosts on one store, that know which of them live.
type hostsOf struct {
	store *mem.Store
	mu    sync.Mutex
	gone  map[string]bool
}

func (h *hostsOf) repository(name string) *run.Repository {
	r := run.NewRepository(h.store, &coretest.Clock{})
	r.Holder = func() string { return name }
	r.Lives = func(_ core.Reader, host string) (bool, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		return !h.gone[host], nil
	}
	return r
}

func (h *hostsOf) end(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gone[name] = true
}

// checked fails on anything that a check finds.
func (h *hostsOf) checked(t *testing.T) {
	t.Helper()
	err := h.store.View(t.Context(), func(r core.Reader) error {
		return run.Checker{}.Check(t.Context(), r, func(p core.Problem) { t.Errorf("%+v", p) })
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A run of a host that is gone continues on one of the others, with what it needs and whose
// it is; the host that had it writes nothing more of it.
func TestHeld_OneHostTakesOver(t *testing.T) {
	hosts := &hostsOf{store: mem.Open(), gone: map[string]bool{}}
	a := hosts.repository("a")
	caller := core.Caller{Subject: "ada", Scopes: []core.Scope{core.ScopeRun}, Namespaces: []string{"team/**"}, Label: "x"}
	ctx := core.WithCaller(t.Context(), caller)
	r := &core.Run{ID: "run-1", Workflow: "w", Source: core.Source{File: "w.yaml"}, State: []byte(`{}`)}
	needs := run.Needs{Plugins: map[string]string{"acme/eval": "sha256:1"}}
	if err := a.CreateWith(ctx, r, needs); err != nil {
		t.Fatal(err)
	}
	before := a.Recorder(r)
	b, c := hosts.repository("b"), hosts.repository("c")
	if _, err := b.Resume(ctx, "run-1"); sdk.ReasonOf(err) != "run_active" {
		t.Errorf("b takes a run of a host that lives: %v", err)
	}
	if shown, err := b.Get(ctx, "run-1"); err != nil || shown.Status != core.StatusRunning {
		t.Error(shown, err)
	}
	held, err := b.Held(ctx)
	want := []run.Held{{RunID: "run-1", Host: "a", Epoch: 1, Caller: caller, Needs: needs}}
	if err != nil || fmt.Sprint(held) != fmt.Sprint(want) {
		t.Fatalf("held are %v, %v", held, err)
	}
	hosts.checked(t)
	if _, err := b.ResumeWith(ctx, "run-1", needs, &held[0]); sdk.ReasonOf(err) != "run_taken" { // it joined after b looked
		t.Fatalf("b takes over a run of a host that lives: %v", err)
	}
	hosts.end("a")
	if shown, err := b.Get(ctx, "run-1"); err != nil || shown.Status != core.StatusInterrupted {
		t.Error(shown, err)
	}
	taken := make([]*core.Run, 2)
	var all sync.WaitGroup
	for i, other := range []*run.Repository{b, c} {
		all.Go(func() {
			run, err := other.ResumeWith(ctx, "run-1", needs, &held[0])
			if taken[i] = run; err != nil && sdk.ReasonOf(err) != "run_taken" {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if (taken[0] == nil) == (taken[1] == nil) {
		t.Fatalf("b has %v, c %v", taken[0], taken[1])
	}
	now, by := b, "b"
	if taken[0] == nil {
		now, by = c, "c"
	}
	hosts.checked(t)
	if held, err := now.HeldBy(ctx, "run-1"); err != nil || held.Host != by || held.Epoch != 2 || !now.Runs("run-1") {
		t.Error(held, err)
	}
	if err := before.RecordVisit(ctx, &core.Visit{Number: 1, Node: "n"}); sdk.ReasonOf(err) != "run_taken_over" {
		t.Errorf("a still writes: %v", err)
	}
	r.Status = core.StatusPassed
	if err := now.Recorder(r).RecordEnd(ctx, r, nil); err != nil {
		t.Fatal(err)
	}
	if held, err := now.Held(ctx); err != nil || len(held) > 0 {
		t.Errorf("a run that has ended is held: %v, %v", held, err)
	}
	if _, err := now.ResumeWith(ctx, "run-1", needs, &held[0]); sdk.ReasonOf(err) != "run_taken" {
		t.Errorf("it is taken over after its end: %v", err)
	}
	hosts.checked(t)
}

// TestHeld_AJobHasItsRun: who holds the job goes on with its run, whichever host began it.
func TestHeld_AJobHasItsRun(t *testing.T) {
	for _, job := range []bool{true, false} {
		hosts := &hostsOf{store: mem.Open(), gone: map[string]bool{}}
		needs := run.Needs{Job: job}
		r := &core.Run{ID: "run-1", Workflow: "w", Source: core.Source{File: "w.yaml"}, State: []byte(`{}`)}
		if err := hosts.repository("a").CreateWith(t.Context(), r, needs); err != nil {
			t.Fatal(err)
		}
		if _, err := hosts.repository("b").ResumeWith(t.Context(), r.ID, needs, nil); (err == nil) != job {
			t.Errorf("resumed by another host, by a job %v: %v", job, err)
		}
	}
}

// A check finds a host's run that isn't so, and a rebuild drops it.
func TestHeld_RebuildDropsWhatDoesNotAgree(t *testing.T) {
	hosts := &hostsOf{store: mem.Open(), gone: map[string]bool{}}
	ctx := t.Context()
	r := &core.Run{ID: "run-1", Source: core.Source{File: "w.yaml"}, State: []byte(`{}`)}
	if err := hosts.repository("a").Create(ctx, r); err != nil {
		t.Fatal(err)
	}
	put := func(key, value string) {
		if err := hosts.store.Update(ctx, func(tx core.Tx) error { return tx.Put([]byte(key), []byte(value)) }); err != nil {
			t.Fatal(err)
		}
	}
	put("run-host/run-2", `{"host":"a","epoch":1}`)
	put("run-host/run-1", `{"host":"a","epoch":7}`)
	found := 0
	check := func() {
		found = 0
		_ = hosts.store.View(ctx, func(r core.Reader) error {
			return run.Checker{}.Check(context.Background(), r, func(p core.Problem) {
				if found++; !p.Rebuildable {
					t.Errorf("%+v", p)
				}
			})
		})
	}
	if check(); found != 2 {
		t.Errorf("found %d", found)
	}
	if err := (run.Checker{}).Rebuild(ctx, hosts.store); err != nil {
		t.Fatal(err)
	}
	if check(); found != 0 {
		t.Errorf("after the rebuild %d", found)
	}
}
