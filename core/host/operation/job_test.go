package operation_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/sdk"
)

// notesYAML writes two memories, and needs no plugin.
const notesYAML = `name: notes
nodes:
  - {name: one, action: memory.observe, with: {content: the harbour closes at noon}}
  - {name: two, action: memory.observe, with: {content: the ferry leaves at ten}}
`

// queued makes a job do an operation.
func queued(w *world, c core.Caller, name string, in any) (*operation.JobQueued, error) {
	w.T.Helper()
	o, err := operation.Find(name)
	w.Must(err)
	o, is := o.AsJob()
	if !is {
		w.T.Fatalf("%s is no job", name)
	}
	out, err := o.Do(core.WithCaller(w.T.Context(), c), operation.Call{Host: w.Host}, w.Again(in))
	if err != nil {
		return nil, err
	}
	return out.(*operation.JobQueued), nil
}

// pool works on the world's jobs; handlers that don't end have no time.
func pool(w *world) *job.Pool {
	w.T.Helper()
	p, err := job.NewPool(w.Host.Jobs, job.PoolOptions{
		Handlers: operation.Handlers(w.Host), Grace: time.Millisecond, Poll: time.Millisecond,
	})
	w.Must(err)
	return p
}

// work works on the world's jobs until none may run.
func work(w *world) {
	w.T.Helper()
	_, err := pool(w).RunUntilIdle(w.T.Context())
	w.Must(err)
}

func wantJob(w *world, id string, status job.Status, reason string) *job.Job {
	w.T.Helper()
	j, err := w.Host.Jobs.Get(w.T.Context(), id)
	w.Must(err)
	if j.Status != status || j.Reason != reason {
		w.T.Fatalf("the job is %s (%s: %s), want %s (%s)", j.Status, j.Reason, j.Message, status, reason)
	}
	return j
}

// TestJob_DoesWhatTheOperationDoes: an evaluation's result is the operation's; a run is
// there by the id that the answer named.
func TestJob_DoesWhatTheOperationDoes(t *testing.T) {
	w := operationtest.NewWithJudge(t, mem.Open())
	me := core.Operator(operationtest.Agent)
	in := &operation.Evaluate{Evaluator: operationtest.JudgeYAML, Namespace: here, Output: []byte(`2`)}
	judged, err := queued(w, me, "evaluate", in)
	w.Must(err)
	ran, err := queued(w, me, "run_start", &operation.RunStart{Workflow: operationtest.LoopYAML, Namespace: here})
	w.Must(err)
	work(w)
	want, err := w.Do(me, "evaluate", in)
	w.Must(err)
	if got := wantJob(w, judged.JobID, job.StatusCompleted, job.Done).Result; string(got) != string(jsontext.MustEncode(want)) {
		t.Errorf("the job gives %s, the operation %s", got, jsontext.MustEncode(want))
	}
	if got := wantJob(w, ran.JobID, job.StatusCompleted, job.Done).Result; string(got) != fmt.Sprintf(`{"run_id":%q,"status":"passed"}`, ran.RunID) {
		t.Errorf("the job gives %s", got)
	}
	if run := try[operation.Run](w, "run_get", &operation.RunGet{ID: ran.RunID}); run.Status != core.StatusPassed {
		t.Errorf("the run is %s", run.Status)
	}
}

// TestJob_ResultIsTheOperations: of a run its end, which the job only names.
func TestJob_ResultIsTheOperations(t *testing.T) {
	w := newWorld(t)
	ran, err := queued(w, core.Operator(operationtest.Agent), "run_start", &operation.RunStart{Workflow: notesYAML, Namespace: here})
	w.Must(err)
	look := func() *operation.JobResult {
		return try[operation.JobResult](w, "job_result", &operation.JobResultGet{ID: ran.JobID})
	}
	if got := look(); got.Status != job.StatusQueued || got.Operation != "run_start" || got.RunID != ran.RunID || got.Result != nil || got.Reason != "" {
		t.Errorf("%+v", got)
	}
	work(w)
	run, err := w.Host.Runs.Get(w.Ctx, ran.RunID)
	w.Must(err)
	got := look()
	if want, _ := json.Marshal(operation.RunEnded{Run: run}); got.Status != job.StatusCompleted || string(got.Result) != string(want) || got.Progress != 1 || got.Reason != job.Done {
		t.Errorf("%+v: %s, want %s", got, got.Result, want)
	}
}

// TestJob_OfWhatIsRefused: what is wrong with a request is said at once, and makes no job.
func TestJob_OfWhatIsRefused(t *testing.T) {
	w := newWorld(t)
	me := core.Caller{Subject: "me", Scopes: core.Scopes(), Namespaces: []string{here}}
	_, err := queued(w, me, "run_start", &operation.RunStart{Workflow: "nodes: []\n", Namespace: here})
	w.Refused(err, sdk.Invalid, "workflow_invalid")
	_, err = queued(w, me, "run_start", &operation.RunStart{Workflow: notesYAML, Namespace: elsewhere})
	w.Refused(err, sdk.Denied, "namespace_denied")
	_, err = queued(w, me, "evaluate", &operation.Evaluate{Evaluator: "plugin: [", Namespace: here, Output: []byte(`1`)})
	w.Refused(err, sdk.Invalid, "workflow_invalid")
	if page := try[operation.JobPage](w, "job_list", &operation.JobList{}); len(page.Items) > 0 || !page.NoWorker {
		t.Errorf("%+v", page)
	}
}

// TestJob_IsItsUsers: for another subject of the namespace it doesn't exist, with the same
// bytes as for a job that never was. A caller that operates the host, or reaches the user's own
// namespace, sees it.
func TestJob_IsItsUsers(t *testing.T) {
	w := newWorld(t)
	of := func(subject string, scopes []core.Scope, namespaces ...string) core.Caller {
		return core.Caller{Subject: subject, Scopes: scopes, Namespaces: namespaces}
	}
	run := []core.Scope{core.ScopeRun}
	made, err := queued(w, of("alice", run, here), "run_start", &operation.RunStart{Workflow: notesYAML, Namespace: here})
	w.Must(err)
	own, err := queued(w, of("carol", run, "users/carol"), "run_start", &operation.RunStart{Workflow: notesYAML, Namespace: "users/carol"})
	w.Must(err)
	for name, c := range map[string]struct {
		who  core.Caller
		id   string
		user string
		sees bool
	}{
		"the user":                     {of("alice", run, here), made.JobID, "", true},
		"the user, by name":            {of("alice", run, here), made.JobID, "alice", true},
		"the user, by another's name":  {of("alice", run, here), made.JobID, "bob", false},
		"another":                      {of("bob", run, here), made.JobID, "", false},
		"another, by the user's name":  {of("bob", run, here), made.JobID, "alice", false},
		"who reaches everything":       {of("bob", run, "**"), made.JobID, "", false},
		"who operates":                 {of("bob", core.Scopes(), here), made.JobID, "", true},
		"who operates elsewhere":       {of("bob", core.Scopes(), elsewhere), made.JobID, "", false},
		"who acts for a user":          {of("agent", run, "users/**"), own.JobID, "carol", true},
		"the user of another instance": {of("alice", run, elsewhere), made.JobID, "", false},
	} {
		for _, verb := range []string{"job_get", "job_cancel"} {
			ask := func(id string) (any, error) {
				if verb == "job_get" {
					return w.Do(c.who, verb, &operation.JobGet{ID: id, UserID: c.user})
				}
				return w.Do(c.who, verb, &operation.JobCancel{ID: id, UserID: c.user})
			}
			out, err := ask(c.id)
			if c.sees {
				w.Must(err)
				continue
			}
			const never = "ffffffff-0000-7000-8000-00000000dead"
			_, absent := ask(never)
			got, want := w.Answer(out, err), w.Answer(nil, absent)
			if got = replaced(got, c.id); got != replaced(want, never) {
				t.Errorf("%s, %s: %s, want %s", name, verb, got, want)
			}
		}
		page, err := w.Do(c.who, "job_list", &operation.JobList{UserID: c.user})
		w.Must(err)
		found := false
		for _, j := range page.(*operation.JobPage).Items {
			found = found || j.ID == c.id
		}
		if found != c.sees {
			t.Errorf("%s: the list has it: %t", name, found)
		}
	}
}

// TestJob_CancelledBeforeItRuns leaves no run.
func TestJob_CancelledBeforeItRuns(t *testing.T) {
	w := newWorld(t)
	me := core.Operator(operationtest.Agent)
	made, err := queued(w, me, "run_start", &operation.RunStart{Workflow: notesYAML, Namespace: here})
	w.Must(err)
	out := try[operation.JobCancelled](w, "job_cancel", &operation.JobCancel{ID: made.JobID})
	if !out.Cancelled || out.Status != job.StatusCancelled {
		t.Errorf("%+v", out)
	}
	if out := try[operation.JobCancelled](w, "job_cancel", &operation.JobCancel{ID: made.JobID}); out.Cancelled {
		t.Errorf("again: %+v", out)
	}
	work(w)
	wantJob(w, made.JobID, job.StatusCancelled, job.CancelledByRequest)
	_, err = w.Host.Runs.Get(t.Context(), made.RunID)
	w.Refused(err, sdk.NotFound, "run_not_found")
}

// heldStore is a store in which the first transaction of a job's handler lasts until its
// context ends.
type heldStore struct {
	core.Store
	once  sync.Once
	begun chan struct{}
}

func (s *heldStore) Update(ctx context.Context, fn func(core.Tx) error) error {
	held := false
	if core.CallerOf(ctx).Subject == "alice" {
		s.once.Do(func() { held = true })
	}
	if held {
		close(s.begun)
		<-ctx.Done()
		return ctx.Err()
	}
	return s.Store.Update(ctx, fn)
}

// TestJob_CancelStopsTheRun that is at work: the job is cancelled.
func TestJob_CancelStopsTheRun(t *testing.T) {
	inner := mem.Open()
	w := operationtest.NewOn(t, inner)
	alice := core.Caller{Subject: "alice", Scopes: core.Scopes(), Namespaces: []string{here}}
	made, err := queued(w, alice, "run_start", &operation.RunStart{Workflow: notesYAML, Namespace: here})
	w.Must(err)
	w.Must(w.Host.Close())
	held := &heldStore{Store: inner, begun: make(chan struct{})}
	w.Config.Store = held
	w.Open()
	p := pool(w)
	w.Must(p.Start(t.Context()))
	<-held.begun
	if out := try[operation.JobCancelled](w, "job_cancel", &operation.JobCancel{ID: made.JobID}); !out.Cancelled || out.Status != job.StatusRunning {
		t.Errorf("%+v", out)
	}
	w.Must(p.Stop(t.Context()))
	wantJob(w, made.JobID, job.StatusCancelled, job.CancelledByRequest)
}

// TestJob_WithAnIdempotencyKey is made once, and the operation's own key is another.
func TestJob_WithAnIdempotencyKey(t *testing.T) {
	w := newWorld(t)
	o, err := operation.Find("run_start")
	w.Must(err)
	o, _ = o.AsJob()
	in := &operation.RunStart{Workflow: notesYAML, Namespace: here}
	var ids []string
	for range 2 {
		out, err := o.Do(w.Ctx, operation.Call{Host: w.Host, IdempotencyKey: "k"}, w.Again(in))
		w.Must(err)
		ids = append(ids, out.(*operation.JobQueued).JobID)
	}
	if ids[0] != ids[1] {
		t.Errorf("two jobs: %v", ids)
	}
	_, _, err = keyed(w, core.Operator(operationtest.Agent), "k", "run_start", in)
	w.Refused(err, sdk.Invalid, "idempotency_key_reused")
}

// TestJob_Maintenance makes the namespace's vectors, decides on what waits for the gate,
// and the store pruned.
func TestJob_Maintenance(t *testing.T) {
	w := newWorld(t)
	w.Config.DeferGate = false
	waiting := w.Waiting() // the gate of this host waits for an operator
	w.Reopen()
	ids := map[job.Type]string{}
	for _, typ := range []job.Type{job.Revalidate, job.Reembed, job.Compact} {
		made := try[operation.JobQueued](w, "job_enqueue", &operation.JobEnqueue{Type: typ, Namespace: here})
		if again := try[operation.JobQueued](w, "job_enqueue", &operation.JobEnqueue{Type: typ, Namespace: here}); again.JobID != made.JobID || !again.Already {
			t.Errorf("%s: %+v, then %+v", typ, made, again)
		}
		ids[typ] = made.JobID
	}
	work(w)
	for typ, id := range ids {
		j := wantJob(w, id, job.StatusCompleted, job.Done)
		if len(j.Result) == 0 {
			t.Errorf("%s has no result", typ)
		}
	}
	m, err := w.Host.Memories.Get(t.Context(), waiting)
	w.Must(err)
	if m.State == core.StateRevalidatePending {
		t.Error("the gate hasn't decided")
	}
}

// TestJob_OfTheGate: if jobs do what is due after a feedback, the feedback answers as it does
// without them, and the gate decides later.
func TestJob_OfTheGate(t *testing.T) {
	w := newWorld(t)
	w.Config.DeferGate, w.Config.GateJobs = false, true
	w.Reopen()
	id := w.Waiting()
	m, err := w.Host.Memories.Get(t.Context(), id)
	w.Must(err)
	if m.State != core.StateRevalidatePending {
		t.Fatalf("it is %s", m.State)
	}
	page := try[operation.JobPage](w, "job_list", &operation.JobList{Type: job.Revalidate, Status: job.StatusQueued})
	if len(page.Items) != 1 || page.Items[0].UserID != job.SystemUser || page.Items[0].Namespace != here {
		t.Fatalf("%+v", page.Items)
	}
	work(w)
	j := wantJob(w, page.Items[0].ID, job.StatusCompleted, job.Done)
	var swept struct {
		Evaluated int
		Gated     map[string]int
	}
	w.Must(json.Unmarshal(j.Result, &swept))
	if len(swept.Gated) == 0 || swept.Evaluated > 0 {
		t.Errorf("%s", j.Result)
	}
}

// TestJob_OfTheGateMissesNothing: if a memory begins to wait after the gate's job has looked for
// the last time, its feedback finds the job still active. The job then runs again.
func TestJob_OfTheGateMissesNothing(t *testing.T) {
	w := newWorld(t)
	w.Config.DeferGate, w.Config.GateJobs = false, true
	w.Reopen()
	waiting := []string{w.Waiting()}
	handlers := operation.Handlers(w.Host)
	gate := handlers[job.Revalidate]
	handlers[job.Revalidate] = job.HandlerFunc(func(ctx context.Context, j *job.Running) (*job.Outcome, error) {
		out, err := gate.Run(ctx, j)
		if len(waiting) == 1 {
			waiting = append(waiting, w.Waiting())
		}
		return out, err
	})
	p, err := w.Host.Workers.NewPool(handlers)
	w.Must(err)
	_, err = p.RunUntilIdle(t.Context())
	w.Must(err)
	for i, id := range waiting {
		m, err := w.Host.Memories.Get(t.Context(), id)
		w.Must(err)
		if m.State == core.StateRevalidatePending {
			t.Errorf("the gate didn't decide on memory %d of %d", i+1, len(waiting))
		}
	}
	page := try[operation.JobPage](w, "job_list", &operation.JobList{Type: job.Revalidate})
	if len(page.Items) != 1 {
		t.Fatalf("%+v", page.Items)
	}
	wantJob(w, page.Items[0].ID, job.StatusCompleted, job.Done)
}

// TestJob_SweepsEveryHundredTurns of a namespace.
func TestJob_SweepsEveryHundredTurns(t *testing.T) {
	w := newWorld(t)
	w.Config.DeferGate, w.Config.GateJobs = false, true
	w.Reopen()
	id, session := w.Memory(), w.Session()
	for range 100 {
		_, err := w.Host.Memories.Feedback(w.Ctx, w.Feedback(id, session))
		w.Must(err)
	}
	work(w)
	page := try[operation.JobPage](w, "job_list", &operation.JobList{Type: job.Revalidate})
	if len(page.Items) == 0 {
		t.Fatal("no job was queued")
	}
	var swept struct{ Turn, Evaluated int }
	w.Must(json.Unmarshal(wantJob(w, page.Items[0].ID, job.StatusCompleted, job.Done).Result, &swept))
	if swept.Turn != 100 || swept.Evaluated == 0 {
		t.Errorf("%+v", swept)
	}
}

// mortal is a store whose process ends at a commit, before it is written or after, and never
// hears of it.
type mortal struct {
	core.Store
	mu    sync.Mutex
	left  int // commits until its end; 0 is never
	after bool
	died  context.CancelFunc
	dead  bool
}

func (m *mortal) Update(ctx context.Context, fn func(core.Tx) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	killed := sdk.Errorf(sdk.Unavailable, "process_killed", "the process is gone")
	wrote := false
	err := m.Store.Update(ctx, func(tx core.Tx) error {
		spy := &spyTx{Tx: tx}
		err := fn(spy)
		if wrote = spy.wrote; err == nil && wrote && (m.dead || m.left == 1 && !m.after) {
			err = killed
		}
		return err
	})
	if wrote && m.left > 0 {
		if m.left--; m.left == 0 {
			m.dead = true
			m.died()
			return killed
		}
	}
	return err
}

// spyTx tells transactions that write from those that only look.
type spyTx struct {
	core.Tx
	wrote bool
}

func (s *spyTx) Put(key, value []byte) error { s.wrote = true; return s.Tx.Put(key, value) }
func (s *spyTx) Delete(key []byte) error     { s.wrote = true; return s.Tx.Delete(key) }

// endsAt works on jobs in a process that ends at a commit, and reports whether it came to
// that.
func endsAt(w *world, inner core.Store, commit int, after bool) bool {
	w.T.Helper()
	ctx, cancel := context.WithCancel(w.T.Context())
	defer cancel()
	m := &mortal{Store: inner, left: commit, after: after, died: cancel}
	w.Config.Store = m
	w.Open()
	_, err := pool(w).RunUntilIdle(ctx)
	if err != nil && ctx.Err() == nil {
		w.T.Fatal(err)
	}
	_ = w.Host.Close() // which writes what nobody is told
	return m.dead
}

// replaced is an answer without the id that was asked for.
func replaced(answer, id string) string { return strings.ReplaceAll(answer, id, "ID") }

// TestJob_RunSurvivesAProcessThatEndsAtAnyCommit: the next process continues the run, and
// each memory is there once.
func TestJob_RunSurvivesAProcessThatEndsAtAnyCommit(t *testing.T) {
	ends := 0
	for _, after := range []bool{false, true} {
		for commit := 1; ; commit++ {
			if commit > 100 {
				t.Fatal("the work never ends")
			}
			inner := mem.Open()
			w := newWorld(t)
			w.Must(w.Host.Close())
			w.Config.Store, w.Config.Sole, w.Config.IDs = inner, true, &core.SystemIDs{}
			w.Open()
			made, err := queued(w, core.Operator(operationtest.Agent), "run_start", &operation.RunStart{Workflow: notesYAML, Namespace: here})
			w.Must(err)
			w.Must(w.Host.Close())
			if !endsAt(w, inner, commit, after) {
				break
			}
			ends++
			w.Config.Store = inner
			w.Open()
			work(w)
			when := fmt.Sprintf("commit %d, after %t", commit, after)
			j := wantJob(w, made.JobID, job.StatusCompleted, job.Done)
			if string(j.Result) != fmt.Sprintf(`{"run_id":%q,"status":"passed"}`, made.RunID) {
				t.Errorf("%s: %s", when, j.Result)
			}
			if list := try[operation.Memories](w, "memory_list", &operation.MemoryList{Namespace: here}); len(list.Items) != 2 {
				t.Errorf("%s: %d memories", when, len(list.Items))
			}
			if runs := try[operation.Page[operation.RunSummary]](w, "run_list", &operation.RunList{}); len(runs.Items) != 1 {
				t.Errorf("%s: %d runs", when, len(runs.Items))
			}
			w.Must(w.Host.Close())
		}
	}
	if ends < 12 {
		t.Errorf("a process ended at %d commits only", ends)
	}
}

// TestJob_IsOfItsScope: a caller that may have memories tidied up reaches no run of the
// same subject.
func TestJob_IsOfItsScope(t *testing.T) {
	w := newWorld(t)
	of := func(scopes ...core.Scope) core.Caller {
		return core.Caller{Subject: "alice", Scopes: scopes, Namespaces: []string{here}}
	}
	ids := map[string]string{}
	for name, in := range map[string]any{
		"run_start":  &operation.RunStart{Workflow: notesYAML, Namespace: here},
		"evaluate":   &operation.Evaluate{Evaluator: operationtest.JudgeYAML, Namespace: here, Output: []byte(`2`)},
		"dream_plan": &operation.DreamPlan{DreamPass: operation.DreamPass{Namespace: here}},
	} {
		made, err := queued(w, of(core.Scopes()...), name, in)
		w.Must(err)
		ids[name] = made.JobID
	}
	pass, err := w.Host.Jobs.Enqueue(w.Ctx, &job.Request{UserID: job.SystemUser, Namespace: here, Type: job.Dream})
	w.Must(err)
	ids["a pass"] = pass.ID
	for scope, sees := range map[core.Scope][]string{
		core.ScopeRun: {"run_start"}, core.ScopeEvaluate: {"evaluate"}, core.ScopeMemoryWrite: {"a pass", "dream_plan"},
		core.ScopeOperate: {"a pass", "dream_plan", "evaluate", "run_start"},
	} {
		who := of(scope)
		if scope == core.ScopeOperate {
			who = of(scope, core.ScopeRun) // without which it may ask for no job
		}
		page, err := w.Do(who, "job_list", &operation.JobList{})
		w.Must(err)
		for name, id := range ids {
			listed := slices.ContainsFunc(page.(*operation.JobPage).Items, func(j job.Job) bool { return j.ID == id })
			_, err := w.Do(who, "job_get", &operation.JobGet{ID: id})
			if want := slices.Contains(sees, name); listed != want || (err == nil) != want {
				t.Errorf("%s, %s: listed %t, %v; want %t", scope, name, listed, err, want)
			}
		}
	}
	_, err = w.Do(of(core.ScopeMemoryWrite), "job_cancel", &operation.JobCancel{ID: ids["run_start"]})
	w.Refused(err, sdk.NotFound, job.NotFound)
}

// TestJob_WaitsForAHostThatHasItsPlugin, and fails if none has it.
func TestJob_WaitsForAHostThatHasItsPlugin(t *testing.T) {
	w := newWorld(t)
	me := core.Operator(operationtest.Agent)
	status := func() *job.Job {
		made, err := queued(w, me, "run_start", &operation.RunStart{Workflow: operationtest.LoopYAML, Namespace: here})
		w.Must(err)
		work(w)
		j, err := w.Host.Jobs.Get(w.Ctx, made.JobID)
		w.Must(err)
		return j
	}
	if j := status(); j.Status != job.StatusFailed || j.Reason != "plugin_not_found" {
		t.Errorf("alone: %s, %s", j.Status, j.Reason)
	}
	w.OtherHost() // has it
	if j := status(); j.Status != job.StatusQueued {
		t.Errorf("beside another: %s, %s", j.Status, j.Reason)
	}
}

// TestJob_ResumesWhateverTheClocksSay: the host on which the run failed had a clock that is
// ahead of the one that resumes it.
func TestJob_ResumesWhateverTheClocksSay(t *testing.T) {
	w := newWorld(t)
	id := w.Run(here)
	w.Config.Clock.(*coretest.Clock).Advance(-time.Hour)
	made, err := queued(w, core.Operator(operationtest.Agent), "run_resume", &operation.RunResume{ID: id})
	w.Must(err)
	before, err := w.Host.Runs.NextEnd(w.Ctx, id)
	w.Must(err)
	work(w)
	after, err := w.Host.Runs.NextEnd(w.Ctx, id)
	w.Must(err)
	if after != before+1 {
		t.Errorf("the job is %+v, and the run wasn't resumed", wantJob(w, made.JobID, job.StatusCompleted, job.Done))
	}
}
