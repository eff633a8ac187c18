package cli

import (
	"encoding/json"
	"strings"
	"testing"

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
