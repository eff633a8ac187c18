package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/plugins/llm-eval/llmtest"
	"github.com/reflectory/reflectory/sdk"
)

// TestPrompts_AreRecordedUntilAMemoryIsPurged: the whole store has no byte of a purged memory that
// was in the prompts of an answer and of a loop, and no key that was in a prompt.
func TestPrompts_AreRecordedUntilAMemoryIsPurged(t *testing.T) {
	const secret = "harbourmaster Zebulon keeps the key under the ninth stone"
	server := llmtest.New(t, llmtest.Text("At six.").Always())
	w := newWorld(t)
	w.allow(server)
	w.ok("memory", "observe", "--id", "harbour-1", "--content", "The "+secret+".")
	w.ok("memory", "observe", "--id", "gull-1", "--content", "Gulls sleep on the pier.")
	file := w.file("w.yaml", `settings: {llm: {provider: ollama, model: m, base_url: "`+server.URL+`"}}
nodes:
  - {name: first, action: llm.call, with: {prompt: "Say hello to the pier."}}
  - {name: known, action: memory.recall, with: {query: harbourmaster key stone}}
  - {name: answer, action: llm.call, with: {system: "You are brief.", prompt: "Known: {{ state.known.memories[0].content }} Where?"}}
  - name: loop
    action: reflection.loop
    with:
      max_iterations: 3
      generator: {action: llm.call, system: "You are brief.", prompt: "{{ state.known.memories[0].content }} Again {{ state.reflection_iteration }}?"}
      evaluator: {run: return state.reflection_iteration == 3}
`)
	out, _ := w.ok("run", "--json", file)
	var ran struct {
		RunID string `json:"run_id"`
	}
	if err := json.Unmarshal([]byte(out), &ran); err != nil {
		t.Fatal(err)
	}
	r, text := shownWithPrompts(t, w, ran.RunID)
	if len(r.Prompts) != 2 || len(r.Loops) != 1 || len(r.Loops[0].Attempts) != 3 {
		t.Fatalf("shown is %s", text)
	}
	if p := r.Prompts[1].Prompts[0]; p.Plugin != "reflectory/llm-eval" || len(p.Messages) != 2 || p.Messages[0].Text != "You are brief." || !strings.Contains(p.Messages[1].Text, secret) {
		t.Errorf("the prompt is %+v", p)
	}
	for i, a := range r.Loops[0].Attempts {
		if len(a.Prompts) != 1 || !strings.Contains(a.Prompts[0].Messages[1].Text, secret+". Again "+string(rune('1'+i))) {
			t.Errorf("attempt %d has %+v", i+1, a.Prompts)
		}
	}
	if plain, _ := w.ok("runs", "show", ran.RunID); !strings.Contains(plain, "prompt to generate: system 14 bytes, user ") {
		t.Errorf("shown is %s", plain)
	}
	if !w.holds("Zebulon") {
		t.Error("before the purge, no file has the memory as plain bytes, so that the check below would find nothing")
	}
	w.ok("gate", "request", "harbour-1", "--erase", "--reason", "wrong")
	r, text = shownWithPrompts(t, w, ran.RunID)
	if strings.Contains(text, "Zebulon") || !r.Prompts[1].Prompts[0].Purged || !r.Loops[0].Attempts[2].Prompts[0].Purged {
		t.Errorf("after the purge, shown is %s", text)
	}
	if p := r.Prompts[0].Prompts[0]; p.Purged || p.Messages[0].Text != "Say hello to the pier." {
		t.Errorf("the prompt before the recall is %+v", p)
	}
	w.absent("Zebulon")
	w.ok("store", "check")
}

// TestPrompts_OfADigestsWorkflow have sizes and digests only.
func TestPrompts_OfADigestsWorkflow(t *testing.T) {
	server := llmtest.New(t, llmtest.Text("At six.").Always())
	w := newWorld(t)
	w.allow(server)
	file := w.file("w.yaml", `settings: {record: digests, llm: {provider: ollama, model: m, base_url: "`+server.URL+`"}}
nodes: [{name: first, action: llm.call, with: {prompt: "Say hello to the quay."}}]
`)
	out, _ := w.ok("run", "--json", file)
	var ran struct {
		RunID string `json:"run_id"`
	}
	if err := json.Unmarshal([]byte(out), &ran); err != nil {
		t.Fatal(err)
	}
	text, _ := w.ok("runs", "show", "--json", ran.RunID)
	var r operation.Run
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	p := r.Prompts[0].Prompts[0]
	if m := p.Messages[0]; p.Withheld != "digests" || m.Text != "" || m.Bytes != len("Say hello to the quay.") || m.Digest == "" {
		t.Errorf("the prompt is %+v", p)
	}
}

// TestPrompts_OfFailedCalls: what was asked is recorded with the run that a call ended, and isn't in its
// error; a purge removes it.
func TestPrompts_OfFailedCalls(t *testing.T) {
	const secret = "harbourmaster Zebulon keeps the key under the ninth stone"
	server := llmtest.New(t, llmtest.Text("At s").FinishedBy("length").Always())
	w := newWorld(t)
	w.allow(server)
	w.ok("memory", "observe", "--id", "harbour-1", "--content", "The "+secret+".")
	file := w.file("w.yaml", `settings: {llm: {provider: ollama, model: m, base_url: "`+server.URL+`"}}
nodes:
  - {name: known, action: memory.recall, with: {query: harbourmaster key stone}}
  - {name: answer, action: llm.call, with: {prompt: "Known: {{ state.known.memories[0].content }} Where?"}}
`)
	_, out, _ := w.run(t.Context(), "run", "--json", file)
	var ran struct {
		RunID string `json:"run_id"`
	}
	if err := json.Unmarshal([]byte(out), &ran); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	r, text := shownWithPrompts(t, w, ran.RunID)
	if len(r.Prompts) != 1 || r.Prompts[0].Node != "answer" || r.Prompts[0].Visit != 2 || !strings.Contains(r.Prompts[0].Prompts[0].Messages[0].Text, secret) {
		t.Fatalf("shown is %s", text)
	}
	if r.Error == nil || r.Error.Code != "llm_reply_cut" || r.Error.Details[sdk.PromptDetail] != nil || strings.Count(text, "Zebulon") != 1 {
		t.Errorf("shown is %s", text)
	}
	w.ok("gate", "request", "harbour-1", "--erase", "--reason", "wrong")
	if r, text = shownWithPrompts(t, w, ran.RunID); strings.Contains(text, "Zebulon") || !r.Prompts[0].Prompts[0].Purged {
		t.Errorf("after the purge, shown is %s", text)
	}
	w.absent("Zebulon")
	w.ok("store", "check")
}

// shownWithPrompts is what runs show prints of a run, decoded and as text.
func shownWithPrompts(t *testing.T, w *world, id string) (r operation.Run, text string) {
	t.Helper()
	text, _ = w.ok("runs", "show", "--json", id)
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	return r, text
}

// TestPrompts_AreComparedByDiffAndReplay: what differs between attempts, with its text, and between a
// judgement and its replay, without it; and nothing of a purged memory.
func TestPrompts_AreComparedByDiffAndReplay(t *testing.T) {
	coretest.Long(t)
	const secret = "harbourmaster Zebulon keeps the key under the ninth stone"
	server := llmtest.New(t, llmtest.Text(`{"valid": false, "score": 0.5, "feedback": "no"}`).Always())
	w := newWorld(t)
	w.allow(server)
	w.ok("memory", "observe", "--id", "harbour-1", "--content", "The "+secret+".")
	file := w.file("w.yaml", `settings: {llm: {provider: ollama, model: m, base_url: "`+server.URL+`"}}
nodes:
  - {name: known, action: memory.recall, with: {query: harbourmaster key stone}}
  - name: loop
    action: reflection.loop
    with:
      max_iterations: 2
      generator: {action: llm.call, system: "You are brief.", prompt: "{{ state.known.memories[0].content }}\nAgain {{ state.reflection_iteration }}?"}
      evaluator: {type: llm, prompt: "Known: {{ state.known.memories[0].content }}\nJudge {{ output }}"}
`)
	_, out, _ := w.run(t.Context(), "run", "--json", file)
	var ran struct {
		RunID string `json:"run_id"`
	}
	if err := json.Unmarshal([]byte(out), &ran); err != nil {
		t.Fatal(err)
	}
	replay := func(want int, args ...string) string {
		t.Helper()
		code, out, _ := w.run(t.Context(), append([]string{"replay", ran.RunID}, args...)...)
		if code != want {
			t.Errorf("replay %q: exit %d: %s", args, code, out)
		}
		return out
	}
	diff, _ := w.ok("runs", "diff", ran.RunID)
	if !strings.Contains(diff, "prompt to generate: message 2 (user), ") || !strings.Contains(diff, "\n  -Again 1?\n  +Again 2?\n") || strings.Contains(diff, "Zebulon") {
		t.Errorf("the difference is %s", diff)
	}
	if same := replay(0); strings.Contains(same, "prompt") {
		t.Errorf("the same replay says %s", same)
	}
	stricter := w.file("e.yaml", `{type: llm, llm: {provider: ollama, model: m, base_url: "`+server.URL+`"}, prompt: "Known: {{ state.known.memories[0].content }} Judge strictly {{ output }}"}`)
	if out := replay(0, "--evaluator", stricter); !strings.Contains(out, "the prompt of attempt 1 differs from the recorded one, to evaluate: message ") || strings.Contains(out, "Zebulon") {
		t.Errorf("the stricter replay says %s", out)
	}
	if out := replay(0, "--json", "--evaluator", stricter); !strings.Contains(out, `"prompts":`) || strings.Contains(out, "Zebulon") {
		t.Errorf("the stricter replay is %s", out)
	}
	w.ok("gate", "request", "harbour-1", "--erase", "--reason", "wrong")
	if diff, _ = w.ok("runs", "diff", ran.RunID); strings.Contains(diff, "Again 1") || !strings.Contains(diff, "; a memory in it was purged") {
		t.Errorf("after the purge, the difference is %s", diff)
	}
	if out := replay(0); !strings.Contains(out, "the prompt of attempt 2 differs from the recorded one, to evaluate: ") || strings.Contains(out, "Zebulon") {
		t.Errorf("after the purge, the replay says %s", out)
	}
	w.absent("Zebulon")
}
