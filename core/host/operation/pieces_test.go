package operation_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/core/store/mem"
)

// written is a workflow whose loop passes once its generator is asked for pieces.
func written(iterations int, pieces string, times int) string {
	return fmt.Sprintf(`name: write
nodes:
  - name: draft
    action: reflection.loop
    with:
      generator: {plugin: test/judge, config: {pieces: %s, times: %d}}
      evaluator: {plugin: test/judge, config: {want: in pieces}}
      max_iterations: %d
`, pieces, times, iterations)
}

// queuedRun queues a run of a workflow.
func queuedRun(w *operationtest.World, source string) *operation.JobQueued {
	w.T.Helper()
	out, err := operation.Do(w.Ctx, operation.Call{Host: w.Host, Queue: true}, "run_start", &operation.RunStart{Workflow: source, Namespace: operationtest.Here})
	w.Must(err)
	return out.(*operation.JobQueued)
}

// doJobs does the jobs that are queued.
func doJobs(w *operationtest.World) {
	w.T.Helper()
	p, err := w.Host.Workers.NewPool(operation.Handlers(w.Host))
	w.Must(err)
	_, err = p.RunUntilIdle(w.Ctx)
	w.Must(err)
}

// TestPieces_ComeToWhoFollows the run of a job before it began, joined and in order; the others don't make
// the generator write any.
func TestPieces_ComeToWhoFollows(t *testing.T) {
	w := operationtest.NewWithJudge(t, mem.Open())
	q, other := queuedRun(w, written(1, `["Größe ", "zählt"]`, 2)), queuedRun(w, written(1, `["x"]`, 1))
	one, two := w.Host.Runner.FollowPieces(q.RunID), w.Host.Runner.FollowPieces(q.RunID)
	defer two.Stop()
	w.Must(w.Host.Ready(w.Ctx))
	doJobs(w)
	want := core.OutputChunk{Visit: 1, Node: "draft", Iteration: 1, Text: "Größe zähltGröße zählt"}
	for _, f := range []*host.PieceFollower{one, two} {
		<-f.More()
		if got := f.Take(); len(got) != 1 || got[0] != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	one.Stop()
	one.Stop()
	for id, status := range map[string]core.Status{q.RunID: core.StatusPassed, other.RunID: core.StatusExhausted} {
		if r, err := w.Host.Runs.Get(w.Ctx, id); err != nil || r.Status != status {
			t.Errorf("%s is %+v, %v; want %s", id, r, err, status)
		}
	}
}

// TestPieces_OfWhoTakesNoneAreDropped: a follower that takes nothing doesn't hold the run, and of a long text
// gets the end, with where it is.
func TestPieces_OfWhoTakesNoneAreDropped(t *testing.T) {
	w := operationtest.NewWithJudge(t, mem.Open())
	const times, size = 100, 10_000
	q := queuedRun(w, written(1, `["`+strings.Repeat("ö", size)+`"]`, times))
	f := w.Host.Runner.FollowPieces(q.RunID)
	defer f.Stop()
	doJobs(w)
	got := f.Take()
	if len(got) != 1 {
		t.Fatalf("%d pieces", len(got))
	}
	if n := utf8.RuneCountInString(got[0].Text); got[0].Offset == 0 || got[0].Offset+n != times*size || len(got[0].Text) > 256<<10 {
		t.Errorf("%d characters from %d, %d bytes", n, got[0].Offset, len(got[0].Text))
	}
	if got := f.Take(); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

// TestPieces_ComeWhileACallWaits for the job or the run, from the next attempt on.
func TestPieces_ComeWhileACallWaits(t *testing.T) {
	w := operationtest.NewWithJudge(t, mem.Open())
	p, err := w.Host.Workers.NewPool(operation.Handlers(w.Host))
	w.Must(err)
	w.Must(p.Start(w.Ctx))
	defer func() { w.Must(p.Stop(context.WithoutCancel(w.Ctx))) }()
	for _, by := range []string{"job", "run"} {
		q := queuedRun(w, written(1000, `["a", "b"]`, 1))
		var text strings.Builder
		c := operation.Call{Host: w.Host, Pieces: true, Events: func(e core.Event) { text.WriteString(e.(core.OutputChunk).Text) }}
		for text.Len() == 0 { // a run that hasn't begun doesn't exist yet
			var failed error
			if by == "job" {
				_, failed = operation.Do(w.Ctx, c, "job_result", &operation.JobResultGet{ID: q.JobID, Waiting: operation.Waiting{Wait: 60}})
			} else {
				_, failed = operation.Do(w.Ctx, c, "run_get", &operation.RunGet{ID: q.RunID, Waiting: operation.Waiting{Wait: 60}})
			}
			if by == "job" {
				w.Must(failed)
			}
			if r, err := w.Host.Runs.Get(w.Ctx, q.RunID); err == nil && r.Status != core.StatusRunning && text.Len() == 0 {
				t.Fatalf("%s: it is %s without a piece", by, r.Status)
			}
		}
		if text.String() != "ab" {
			t.Errorf("%s: %q", by, text.String())
		}
	}
}

// TestPieces_AreForTheRunsReaders: who may only look at the job gets none.
func TestPieces_AreForTheRunsReaders(t *testing.T) {
	w := operationtest.NewWithJudge(t, mem.Open())
	w.File("data/policies/access/runs.yaml", `rule: {match: [{condition: 'operation == "run_get" && subject == "auditor"', output: '{"allow": false, "reason": "runs are private"}'}, {output: '{"allow": true}'}]}`)
	w.Reopen()
	q := queuedRun(w, written(1, `["x"]`, 1))
	j, err := w.Host.Jobs.Get(w.Ctx, q.JobID)
	w.Must(err)
	scoped := core.Caller{Subject: "reader", Scopes: []core.Scope{core.ScopeRun}, Namespaces: []string{operationtest.Here}}
	for name, who := range map[string]core.Caller{
		"a reader": scoped, "denied by the policy": {Subject: "auditor", Scopes: scoped.Scopes, Namespaces: scoped.Namespaces},
		"without the scope": {Subject: "reader", Scopes: []core.Scope{core.ScopeMemoryWrite}, Namespaces: scoped.Namespaces},
		"elsewhere":         {Subject: "reader", Scopes: scoped.Scopes, Namespaces: []string{operationtest.Elsewhere}},
	} {
		f, id := operation.FollowPieces(core.WithCaller(w.Ctx, who), w.Host, j)
		if (f != nil) != (name == "a reader") || (id == q.RunID) != (f != nil) {
			t.Errorf("%s: %v of %q", name, f, id)
		}
		if f.Take() != nil { // of none, too
			t.Errorf("%s has pieces", name)
		}
		f.Stop()
	}
}
