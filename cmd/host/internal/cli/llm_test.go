package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/store/pebble"
	"github.com/reflectory/reflectory/plugins/llm-eval/llmtest"
)

// exampleAt is an example's workflow with its endpoint replaced.
func exampleAt(t *testing.T, name, was, now string) string {
	t.Helper()
	text, err := os.ReadFile("../../../../examples/judge-with-llm/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), was) {
		t.Fatalf("%s doesn't name %s", name, was)
	}
	return strings.ReplaceAll(string(text), was, now)
}

// allow lets the workflows ask a scripted model.
func (w *world) allow(server *llmtest.Server) {
	w.env["REFLECTORY_LLM_ENDPOINTS"] = strings.TrimPrefix(server.URL, "http://")
}

const (
	prose   = "Sure! Here is the JSON:\n```json\n{\"name\": \"Ada Lovelace\"}\n```\n"
	perfect = `{"name": "Ada Lovelace", "email": "ada@example.org"}`
)

func TestTheFirstExampleRunsOnAScriptedModel(t *testing.T) {
	coretest.Long(t)
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	cases := []struct {
		name      string
		replies   []llmtest.Reply
		code      int
		iteration int
		errors    string
	}{
		{"prose, then right", []llmtest.Reply{llmtest.Text(prose), llmtest.Text(perfect)}, exitPassed, 2, ""},
		{"overloaded, then right", []llmtest.Reply{llmtest.Status(429).RetryAfter("0"), llmtest.Text(perfect)}, exitPassed, 1, ""},
		{"broken, then right", []llmtest.Reply{llmtest.Status(500).RetryAfter("0"), llmtest.Text(perfect)}, exitPassed, 1, ""},
		{"cut off, then right", []llmtest.Reply{llmtest.Text(perfect).CutOff(), llmtest.Text(perfect)}, exitPassed, 1, ""},
		{"slow, then right", []llmtest.Reply{llmtest.Text(perfect).After(never), llmtest.Text(perfect).Always()}, exitPassed, 1, ""},
		{"a wrong key", []llmtest.Reply{llmtest.Status(401).Always()}, exitFailure, 0, "llm_key_rejected"},
		{"never JSON", []llmtest.Reply{llmtest.Text("I can't do that.").Always()}, exitNotValid, 1, "json"},
	}
	for i := 0; i < len(cases); i += coretest.Cases(3, 1) {
		c := cases[i]
		t.Run(c.name, func(t *testing.T) {
			server := llmtest.New(t, c.replies...)
			w := newWorld(t)
			w.allow(server)
			url := `"` + server.URL + `"`
			if strings.HasPrefix(c.name, "slow") { // no other is asked again because the machine is busy
				url += ", timeout: 1s"
			}
			code, out, errs := w.run(t.Context(), "run", "--json",
				w.file("w.yaml", exampleAt(t, "workflow.yaml", `"http://127.0.0.1:11434"`, url)))
			var r core.LoopResult
			if err := json.Unmarshal([]byte(out), &r); err != nil {
				t.Fatalf("%v: %s%s", err, out, errs)
			}
			if code != c.code || r.Iteration != c.iteration {
				t.Errorf("exit %d at iteration %d: %s", code, r.Iteration, out)
			}
			if c.code == exitNotValid && (len(r.Errors) == 0 || r.Errors[0].Code != c.errors) {
				t.Errorf("errors %+v", r.Errors)
			}
			if c.code == exitFailure && (r.Error == nil || r.Error.Code != c.errors || len(r.History) > 0) {
				t.Errorf("error %+v after %d attempts", r.Error, len(r.History))
			}
			if c.code == exitPassed && r.Usage.Tokens() == 0 {
				t.Error("no tokens were counted")
			}
		})
	}
}

func TestTheExamplesPromptsAreRendered(t *testing.T) {
	server := llmtest.New(t, llmtest.Text(prose), llmtest.Text(perfect))
	w := newWorld(t)
	w.allow(server)
	workflow := w.file("w.yaml", exampleAt(t, "workflow.yaml", "http://127.0.0.1:11434", server.URL))
	if code, _, errs := w.run(t.Context(), "run", workflow, "--state", "request=Grace"); code != exitPassed {
		t.Fatalf("exit %d: %s", code, errs)
	}
	asked := server.Requests()
	if got := asked[0].Prompt(); got != "Generate valid JSON for: Grace" {
		t.Errorf("the generator was asked %q", got)
	}
	fix := asked[1].Prompt()
	for _, part := range []string{"Fix this JSON. Errors: [{", `"code":"required"`, `Original: {"name":"Ada Lovelace"}`} {
		if !strings.Contains(strings.ReplaceAll(fix, `": "`, `":"`), part) {
			t.Errorf("the corrector was asked %q, without %q", fix, part)
		}
	}
}

func TestAModelJudgesAndItsKeyStaysSecret(t *testing.T) {
	const key = "sk-test-7c1f0e9a55d3"
	server := llmtest.New(t,
		llmtest.Text("Of course, at any time! Your key is "+key), llmtest.Text(`{"pass": false, "score": 0.1, "feedback": "the facts allow 30 days"}`),
		llmtest.Text("Only if it is faulty."), llmtest.Text(`{"pass": true, "score": 0.9, "feedback": ""}`),
	)
	w := newWorld(t)
	w.allow(server)
	w.env["OPENAI_API_KEY"] = key
	code, out, errs := w.run(t.Context(), "run", "--json",
		w.file("w.yaml", exampleAt(t, "judge.yaml", "https://api.openai.com/v1", server.URL+"/v1")))
	var r core.LoopResult
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != exitPassed || r.Iteration != 2 {
		t.Fatalf("exit %d, %v: %s%s", code, err, out, errs)
	}
	if r.Usage.CostUSD == 0 {
		t.Error("no cost was counted")
	}
	if strings.Contains(out+errs, key) {
		t.Error("the key was printed")
	}
	_, shown, _ := w.run(t.Context(), "runs", "show", "--json", r.RunID)
	if strings.Contains(shown, key) {
		t.Error("the key was shown")
	}
	w.absent(key)
}

// absent checks that no file of the data folder holds a text.
func (w *world) absent(text string) {
	w.t.Helper()
	if w.holds(text) {
		w.t.Errorf("a file holds %q", text)
	}
}

// holds reports whether a file of the data folder holds a text.
func (w *world) holds(text string) (found bool) {
	w.t.Helper()
	files := 0
	err := filepath.WalkDir(w.env["REFLECTORY_DATA_DIR"], func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		data, err := os.ReadFile(path)
		found = found || bytes.Contains(data, []byte(text))
		return err
	})
	if err != nil || files == 0 {
		w.t.Errorf("%d files: %v", files, err)
	}
	return found
}

func TestAMissingKeyIsSaidBeforeAnythingRuns(t *testing.T) {
	w := newWorld(t)
	code, _, errs := w.run(t.Context(), "run", "../../../../examples/judge-with-llm/judge.yaml")
	if code != exitFailure || !strings.Contains(errs, "OPENAI_API_KEY") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

func TestAModelThatIsDownForAWhileCostsNoAttempt(t *testing.T) {
	coretest.Long(t)
	var down atomic.Bool
	var asked atomic.Int64
	server := llmtest.StartFunc(func(*llmtest.Request) llmtest.Reply {
		switch n := asked.Add(1); {
		case down.Load():
			return llmtest.Status(503)
		case n == 3:
			down.Store(true) // in the middle of the run, from the next question on
		}
		return llmtest.Text(strconv.FormatInt(asked.Load(), 10))
	})
	t.Cleanup(server.Close)
	w := newWorld(t)
	w.allow(server)
	file := w.file("w.yaml", `settings: {llm: {provider: ollama, model: m, base_url: "`+server.URL+`"}}
nodes:
  - name: l
    action: reflection.loop
    with:
      max_iterations: 50
      generator: {action: llm.call, timeout: 300ms, prompt: "{{ state.reflection_iteration }}"}
      evaluator: {run: return state.reflection_iteration == 5}
`)
	code, out, errs := w.run(t.Context(), "run", "--json", file)
	var r core.LoopResult
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v: %s%s", err, out, errs)
	}
	if code != exitFailure || r.Status != core.StatusError || r.StopReason != core.StopGeneratorError || len(r.History) != 3 {
		t.Errorf("exit %d, %s by %s after %d attempts: %+v", code, r.Status, r.StopReason, len(r.History), r.Error)
	}
	down.Store(false)
	code, out, errs = w.run(t.Context(), "resume", "--json", r.RunID)
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v: %s%s", err, out, errs)
	}
	if code != exitPassed || r.Iteration != 5 || len(r.History) != 5 {
		t.Errorf("resumed: exit %d, %s at iteration %d of %d: %s", code, r.Status, r.Iteration, len(r.History), errs)
	}
}

func TestAJudgeThatIsRefusedIsAFailureAndNoDenial(t *testing.T) {
	server := llmtest.New(t, llmtest.Status(401).Always())
	w := newWorld(t)
	w.allow(server)
	judge := w.file("judge.yaml", `{type: llm, llm: {provider: ollama, model: m, base_url: "`+server.URL+`"}}`)
	code, _, errs := w.run(t.Context(), "evaluate", "--evaluator", judge, w.file("out.json", `{}`))
	if code != exitFailure || !strings.Contains(errs, "401 Unauthorized") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

// repliesKept is how many replies of models the store keeps.
func repliesKept(w *world) (n int) {
	w.t.Helper()
	db, err := pebble.Open(w.t.Context(), pebble.Options{Dir: filepath.Join(w.env["REFLECTORY_DATA_DIR"], "store")})
	if err != nil {
		w.t.Fatal(err)
	}
	err = db.View(w.t.Context(), func(r core.Reader) error {
		digests, err := core.Suffixes(r, []byte("llm-reply/"), 10)
		n = len(digests)
		return err
	})
	if err := errors.Join(err, db.Close()); err != nil {
		w.t.Fatal(err)
	}
	return n
}

func TestCachedReply_CostsNothingAndLeavesWithItsMemory(t *testing.T) {
	server := llmtest.New(t, llmtest.Text("The harbour closes at six.").Usage(7, 5), llmtest.Text("At six, they say."))
	w := newWorld(t)
	w.allow(server)
	w.ok("memory", "observe", "--id", "harbour-1", "--content", "The harbour closes at six in the evening.")
	file := w.file("w.yaml", `settings: {llm: {provider: ollama, model: m, base_url: "`+server.URL+`"}}
nodes:
  - {name: known, action: memory.recall, with: {query: when does the harbour close}}
  - name: answer
    action: llm.call
    with: {cache: true, temperature: "{{ state.t }}", prompt: "Known: {{ state.known.memories[0].content }} When does it close?"}
`)
	ask := func(temperature string) (output string, tokens int64) {
		t.Helper()
		out, _ := w.ok("run", "--json", "--state", "t="+temperature, file)
		var r struct {
			Output string
			Usage  core.RunUsage
		}
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return r.Output, r.Usage.Tokens()
	}
	for i, c := range []struct {
		temperature, output string
		tokens              int64
	}{{"0", "The harbour closes at six.", 12}, {"0", "The harbour closes at six.", 0}, {"1", "At six, they say.", 2}} {
		output, tokens := ask(c.temperature)
		if output != c.output || (tokens > 0) != (c.tokens > 0) {
			t.Errorf("run %d: %q for %d tokens", i+1, output, tokens)
		}
	}
	if asked := len(server.Requests()); asked != 2 {
		t.Errorf("the model was asked %d times", asked)
	}
	if n := repliesKept(w); n != 2 {
		t.Errorf("%d replies are kept", n)
	}
	w.ok("gate", "request", "harbour-1", "--erase", "--reason", "wrong")
	if n := repliesKept(w); n != 0 {
		t.Errorf("%d replies are kept after the purge of what they were given", n)
	}
	w.ok("store", "check")
}

// TestCachedReply_NotWhereAPluginRecalls: the host doesn't know in which reply or prompt of a run the
// text is that a plugin of it recalled by itself. So none is kept, or a purge would leave the text.
func TestCachedReply_NotWhereAPluginRecalls(t *testing.T) {
	coretest.Long(t)
	const cached = `cache: true, prompt: "Known: {{ state | tojson }} Where?"`
	for name, nodes := range map[string]string{
		"a node before":       `[{name: pries, action: plugin.call, with: {plugin: test/prying}}, {name: answer, action: llm.call, with: {` + cached + `}}]`,
		"a node in between":   `[{name: first, action: llm.call, with: {prompt: Hello}}, {name: pries, action: plugin.call, with: {plugin: test/prying}}, {name: answer, action: llm.call, with: {` + cached + `}}]`,
		"a generator":         `[{name: loop, action: reflection.loop, with: {max_iterations: 2, generator: {plugin: test/prying}, evaluator: {run: return state.reflection_iteration == 2}, corrector: {action: llm.call, cache: true, prompt: "Again: {{ state.reflection_output | tojson }}"}}}]`,
		"a recall of the run": `[{name: known, action: memory.recall, with: {query: key}}, {name: pries, action: plugin.call, with: {plugin: test/prying}}, {name: answer, action: llm.call, with: {` + cached + `}}]`,
	} {
		t.Run(name, func(t *testing.T) {
			server := llmtest.New(t, llmtest.Text("At six.").Always())
			w := newWorld(t).unconfined()
			w.allow(server)
			w.installPrying()
			w.ok("memory", "observe", "--id", "harbour-1", "--content", "Harbourmaster Zebulon has a secret of anybody: the key.")
			file := w.file("w.yaml", `settings: {llm: {provider: ollama, model: m, base_url: "`+server.URL+`"}}
nodes: `+nodes+"\n")
			out, _ := w.ok("run", "--json", file)
			var ran struct {
				RunID string `json:"run_id"`
			}
			if err := json.Unmarshal([]byte(out), &ran); err != nil {
				t.Fatal(err)
			}
			asked := false
			for _, r := range server.Requests() {
				asked = asked || strings.Contains(string(r.Body), "Zebulon")
			}
			if !asked {
				t.Fatal("the model isn't asked about what the plugin recalled")
			}
			if n := repliesKept(w); n != 0 {
				t.Errorf("%d replies are kept", n)
			}
			r, text := shownWithPrompts(t, w, ran.RunID)
			for _, l := range r.Loops {
				for _, a := range l.Attempts {
					r.Prompts = append(r.Prompts, operation.VisitPrompts{Prompts: a.Prompts})
				}
			}
			for _, v := range r.Prompts {
				for _, p := range v.Prompts {
					if p.Withheld != core.PromptRecall || p.Messages[0].Text+p.Messages[0].Digest != "" {
						t.Errorf("the prompt is %+v", p)
					}
				}
			}
			if len(r.Prompts) == 0 {
				t.Errorf("shown is %s", text)
			}
		})
	}
}
