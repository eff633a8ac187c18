package operation_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/core/inject"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/sdk"
)

// quoted is in the texts of all memories that are purged in these tests, and in what quotes them.
const quoted = "harbour closes"

// quote makes a request quote a memory, where it has a text that a purge removes.
func quote(in any) {
	const text = "The harbour closes at noon: note"
	switch in := in.(type) {
	case *memory.LinkRequest:
		in.Metadata = jsontext.MustEncode(map[string]string{"why": text})
	case *core.ObserveRequest:
		in.Content = text
	case *operation.MemoryObserveAll:
		in.Items[0].Content = text
	case *core.ReflectRequest:
		in.Content = text
	case *core.RecallRequest:
		in.Query = text
	case *core.FeedbackRequest:
		in.Summary, in.NextTurnHint, in.CorrectiveAction = text, text, text
	case *inject.BuildRequest:
		in.Query = text
	}
}

// quotingKinds are the prefixes of keys with a memory's text in themselves or in their values, and
// quietKinds the declared kinds and sums that have none, except for what a caller or a model
// wrote of it in a run and in evidence: that isn't found, and stays. The index of so few memories isn't
// kept: TestPurge_TakesTheKeptIndex in core/memory has one.
var (
	quotingKinds = strings.Fields(`memory/ memory-tag/ link/ pending/ promotion/ knowledge/ dream-undo/ turn/ turn-reflection/
		session-window-summary/ run-memory/ run-prompt-text/ run-step/ llm-reply/ idempotency/ snapshot-memory/ snapshot-session/
		job-content/ job-step/ job-result/`)
	quietKinds = strings.Fields(`attempt/ dream-run/ evidence-dag/ evidence-omega/ evidence-tally/ evidence-tool/ gate-decision/ gateway-message/ gateway-place/ gateway-session/ host/
		job/ job-active/ job-finished/ job-memory/ job-queue/ job-request/ job-took/ lease/ login-link/ login-session/
		memory-count/ memory-index/ memory-index-docs/ memory-index-words/ memory-trial/ rate/ reflection-count/ reflection-state/ run/ run-content/ run-host/ run-prompt/ run-result/
		snapshot/ snapshot-turn/ spent/ token/ token-used/ visit/`)
)

// TestPurge_LeavesNothingInAnyKind does everything that writes, with a memory's text wherever a
// caller, a plugin or a job can put it, erases all memories, and looks for the text in each key and
// value. A kind that is declared is in one of the lists above.
func TestPurge_LeavesNothingInAnyKind(t *testing.T) {
	w := operationtest.NewWithJudge(t, mem.Open())
	w.Config.DeferGate = true
	w.Reopen()
	me := core.Operator("tester")
	quoteInJobs(w)
	quoteInRuns(w)
	quoteInSessions(w, me)
	quoteInMemories(w)
	for _, o := range writing(t) {
		in := w.ValidRequest(o.Name)
		quote(in)
		_, _, _ = keyed(w, me, "key of "+o.Name, o.Name, in) // some have nothing to do
	}
	w.Reopen() // decisions are recorded in the background
	holding := slices.Collect(maps.Keys(quoting(w)))
	if missing := without(quotingKinds, holding); len(missing) > 0 {
		t.Errorf("before the purge, no key of %v quotes a memory, so that this test proves nothing of them", missing)
	}
	if unknown := without(holding, quotingKinds); len(unknown) > 0 {
		t.Errorf("%v quote a memory, and aren't in quotingKinds", unknown)
	}
	parts, err := host.Checkers(w.Config.Store)
	w.Must(err)
	for _, part := range parts {
		declared, ok := part.(interface{ Rows() []string })
		for i := 0; ok && i < len(declared.Rows()); i++ {
			row := declared.Rows()[i]
			prefix := strings.Split(row, "`")[1]
			if !strings.Contains(row, "| index") && !slices.Contains(quotingKinds, prefix) && !slices.Contains(quietKinds, prefix) {
				t.Errorf("can %s quote a memory? then it belongs in quotingKinds, and this test makes one; otherwise in quietKinds", prefix)
			}
		}
	}

	erase(w)
	for prefix, keys := range quoting(w) {
		t.Errorf("%s quotes a purged memory: %q", prefix, keys)
	}
	sound(w)
}

// without are the words that aren't among others, sorted.
func without(words, others []string) []string {
	return slices.Sorted(slices.Values(slices.DeleteFunc(slices.Clone(words), func(word string) bool { return slices.Contains(others, word) })))
}

// quoting are the keys of the store with the text in themselves or in their values, by their prefixes.
func quoting(w *world) map[string][]string {
	w.T.Helper()
	found := map[string][]string{}
	for key, value := range contents(w.T, w.Config.Store, "") {
		if strings.Contains(key, quoted) || strings.Contains(value, quoted) {
			prefix, _, _ := strings.Cut(key, "/")
			found[prefix+"/"] = append(found[prefix+"/"], key)
		}
	}
	return found
}

// quoteInJobs leaves a job that waits, one that runs with a step, one that failed and one that completed.
func quoteInJobs(w *world) {
	w.T.Helper()
	text := jsontext.MustEncode("The " + quoted)
	for _, namespace := range []string{"failed", "completed", "running", "waiting"} {
		id := w.Memory()
		made, err := w.Host.Jobs.Enqueue(w.Ctx, &job.Request{UserID: namespace, Type: job.Reflection, Namespace: operationtest.Here, Payload: text, Memories: []string{id}})
		w.Must(err)
		if namespace == "waiting" {
			return
		}
		c, err := w.Host.Jobs.Claim(w.Ctx, "pool", []job.Type{job.Reflection})
		w.Must(err)
		if c == nil || c.Job.ID != made.ID {
			w.T.Fatalf("the job %s isn't claimed: %+v", made.ID, c)
		}
		w.Must(w.Host.Jobs.SaveStep(w.Ctx, c.Held, "asked", text, []string{id}))
		switch namespace {
		case "failed":
			w.Must(w.Host.Jobs.Fail(w.Ctx, c.Held, &job.Outcome{
				Reason: "r", Message: string(text), Failure: job.NewFailure(sdk.Errorf(sdk.Invalid, "r", "%s", text).WithHint("leave out %s", text).WithDetail("said", string(text))),
			}))
		case "completed":
			w.Must(w.Host.Jobs.Complete(w.Ctx, c.Held, &job.Outcome{Result: jsontext.MustEncode([]map[string]string{{"memory_id": id, "content": string(text)}})}))
		}
	}
}

// quoteInRuns leaves a run that recalled a memory and sent it to a model, and a model's reply.
func quoteInRuns(w *world) {
	w.T.Helper()
	id := w.Memory()
	ended := try[operation.RunEnded](w, "run_start", &operation.RunStart{Namespace: here, Workflow: `nodes:
  - {name: tips, action: memory.recall, with: {query: when does the harbour close}}
  - name: ask
    action: reflection.loop
    with:
      generator: {plugin: test/judge, config: {want: 2, prompt: "{{ state.tips.memories[0].content }}"}}
      evaluator: {plugin: test/judge, config: {want: 2}}
`})
	if ended.Error != nil {
		w.T.Fatalf("%+v", ended.Error)
	}
	replies := &run.Replies{Store: w.Host.Store, Clock: w.Config.Clock, Purged: memory.Purged}
	w.Must(replies.KeepReply(w.Ctx, core.Digest([]byte("asked")), &core.Reply{Output: jsontext.MustEncode("The " + quoted)}, []string{id}))
	w.Must(w.Host.Runs.KeepStep(w.Ctx, ended.ID, "asked", &core.Reply{Output: jsontext.MustEncode("The " + quoted)}, []string{id}))
}

// quoteInSessions leaves turns whose queries and feedback repeat a memory, a prompt with them, and a
// summary of their window.
func quoteInSessions(w *world, me core.Caller) {
	w.T.Helper()
	w.Memory()
	for range 2 {
		built := prompted(w, me, inject.BuildRequest{Namespace: here, Session: "s", Query: "The " + quoted})
		in := &core.FeedbackRequest{Session: "s", Turn: built.TurnID, Outcome: core.OutcomeSuccess}
		quote(in)
		_, err := w.Do(me, "memory_feedback", in)
		w.Must(err)
	}
	ctx := core.WithCaller(w.Ctx, me)
	c, err := w.Host.Memories.Sessions.Context(ctx, keyOf(w, me, "s"), 0)
	w.Must(err)
	stored, err := w.Host.Memories.Sessions.SummarizeWindow(ctx, &memory.SummarizedWindow{
		Session: keyOf(w, me, "s"), Window: 1, WindowSummary: memory.WindowSummary{Through: 2, Turns: memory.DigestOfTurns(c.Turns[:2]), Text: "The " + quoted},
	})
	if err != nil || !stored {
		w.T.Fatalf("the summary isn't stored: %v", err)
	}
}

// quoteInMemories leaves a memory with the text in all that a caller gives it, a reflection that waits
// for an approval, and what undoes the changes of a dream pass.
func quoteInMemories(w *world) {
	w.T.Helper()
	text := "Yesterday the " + quoted
	m, err := w.Host.Memories.Observe(w.Ctx, &core.ObserveRequest{
		Namespace: here, Content: text, Title: text, Attributes: core.Attributes{Tags: []string{quoted}, Metadata: jsontext.MustEncode(map[string]string{"m": text})},
	})
	w.Must(err)
	_, err = w.Host.Governance.Set(w.Ctx, here, "require_approval_above_depth=0")
	w.Must(err)
	reflect := w.Reflection(m.ID)
	quote(reflect)
	_, err = w.Host.Memories.Reflect(w.Ctx, reflect)
	w.Must(err)
	_, err = w.Host.Governance.Unset(w.Ctx, here, "require_approval_above_depth")
	w.Must(err)
	_, err = w.Do(core.Operator("tester"), "dream_apply", &operation.DreamApply{ID: w.Plan()})
	w.Must(err)
}
