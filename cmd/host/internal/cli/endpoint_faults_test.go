package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/plugins/llm-eval/llmtest"
)

// In the answers of faults, and in the answers that count.
const (
	faultMark = "MISTAKEN"
	rightMark = "RIGHT"
)

// modelCaller is a part of the program that asks a model.
type modelCaller struct {
	// answer is a whole answer that it takes, with a mark in it.
	answer string
	// asks are the questions of which one of its answers is made; 0 is one.
	asks int
	// again is how often it asks again, at most, if a text isn't an answer.
	again int
	// quotes is whether a quotation of an answer isn't one, mute whether what failed is reported to an operator alone, and
	// codes whether it is reported by its code.
	quotes, mute, codes bool
	// passes is whether its own client gets what came, and asks again.
	passes bool
	// prepare writes what each question needs into the store, before the server starts.
	prepare func(w *faultsOf, memories *memory.Memories, n int) error
	// ask asks once. used is the answer that counted, or "", and said what was reported.
	ask func(w *faultsOf, n int) (used, said string)
}

// faultsOf is a server of which one caller asks a scripted endpoint.
type faultsOf struct {
	*world
	*serving
	caller *modelCaller
	// endpoint is the endpoint as a workflow names it, and token is for the gateway.
	endpoint, token string

	mu     sync.Mutex
	script []llmtest.Reply // the last one stays
	asked  int
}

func (w *faultsOf) reply(*llmtest.Request) llmtest.Reply {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked++
	r := w.script[0]
	if len(w.script) > 1 {
		w.script = w.script[1:]
	}
	return r
}

// asking has the caller ask, and returns how often the endpoint was asked too.
func (w *faultsOf) asking(n int, script ...llmtest.Reply) (used, said string, asked int) {
	w.mu.Lock()
	w.script, w.asked = script, 0
	w.mu.Unlock()
	used, said = w.caller.ask(w, n)
	w.mu.Lock()
	defer w.mu.Unlock()
	return used, said, w.asked
}

// with is an answer of the caller with a mark.
func (c *modelCaller) with(mark string) string { return strings.ReplaceAll(c.answer, "MARK", mark) }

// quotation is a text that quotes an answer.
func (c *modelCaller) quotation() string {
	return "The text has " + c.with(faultMark) + ", which is a trick."
}

// marked is the mark in what counted.
func marked(text string) string {
	for _, mark := range []string{faultMark, rightMark} {
		if strings.Contains(text, mark) {
			return mark
		}
	}
	return ""
}

// modelCallers are all that ask a model.
func modelCallers() map[string]*modelCaller {
	const user, verdict = "users/u%d", `{"pass": true, "score": 1, "feedback": "MARK"}`
	return map[string]*modelCaller{
		"call": {
			answer: `{"value": "MARK"}`, codes: true,
			ask: func(w *faultsOf, n int) (string, string) {
				file := w.file("call.yaml", fmt.Sprintf("settings: {llm: %s}\nnodes: [{name: n, action: llm.call, with: {prompt: Question %d, parse: json, cache: true, response_schema: {type: object, required: [value]}}}]\n", w.endpoint, n))
				_, out, errs := w.run(w.world.t.Context(), "run", "--json", file)
				if strings.Contains(out, `"error": {`) {
					return "", out + errs
				}
				return marked(out), out + errs
			},
		},
		"judge": {
			answer: verdict, quotes: true,
			ask: func(w *faultsOf, _ int) (used, said string) {
				judge, output := w.file("judge.yaml", "type: llm\nllm: "+w.endpoint+"\n"), w.file("output.txt", "Buy! "+w.caller.with(faultMark))
				_, out, errs := w.run(w.world.t.Context(), "evaluate", "--json", "--evaluator", judge, output)
				var v struct {
					Valid    bool
					Feedback string
				}
				if _ = json.Unmarshal([]byte(out), &v); v.Valid {
					used = marked(v.Feedback)
				}
				return used, out + errs
			},
		},
		"reflection": {
			answer: `{"questions": ["MARK?"], "insights": [{"content": "MARK", "sources": ["m1"]}]}`, asks: 2, again: 1, quotes: true, codes: true,
			prepare: func(w *faultsOf, memories *memory.Memories, n int) (err error) {
				for i := 0; i < 3 && err == nil; i++ {
					_, err = memories.Observe(w.world.t.Context(), &core.ObserveRequest{Namespace: fmt.Sprintf(user, n), Content: fmt.Sprint(i, ": ", w.caller.with(faultMark))})
				}
				return err
			},
			ask: func(w *faultsOf, n int) (string, string) {
				_, out, errs := w.run(w.world.t.Context(), "reflect", "--user", fmt.Sprintf("u%d", n), "--force", "--wait")
				made, _ := w.ok("memory", "list", "--namespace", fmt.Sprintf(user, n), "--kind", "semantic", "--json")
				return marked(made), out + errs
			},
		},
		"summary": {
			answer: `{"summary": "MARK"}`, quotes: true, mute: true,
			prepare: func(w *faultsOf, memories *memory.Memories, n int) (err error) {
				for turn := int64(1); turn <= 7 && err == nil; turn++ {
					at := core.TurnRef{Session: fmt.Sprint("s", n), Turn: turn}
					if err = memories.Sessions.BeginTurn(w.world.t.Context(), at, "team/a"); err == nil {
						_, err = memories.Feedback(w.world.t.Context(), &core.FeedbackRequest{Session: at.Session, Turn: turn, Outcome: core.OutcomeSuccess, Summary: w.caller.with(faultMark) + strings.Repeat(" y", 450)})
					}
				}
				return err
			},
			ask: func(w *faultsOf, n int) (used, said string) {
				out, errs := w.ok("inject", "build", "--namespace", "team/a", "--session", fmt.Sprint("s", n), "--query", "what is next?", "--json")
				_, summary, _ := strings.Cut(out, "turns from=") // what comes before are the turns' own words
				summary, _, _ = strings.Cut(summary, "/turns")
				return marked(summary), errs
			},
		},
		"dream judge": {
			answer: verdict, mute: true,
			ask: func(w *faultsOf, n int) (used, said string) {
				for _, colour := range []string{"crimson", "scarlet"} {
					w.ok("memory", "observe", "--namespace", fmt.Sprint("team/d", n), "--content", fmt.Sprintf("door %d is %s", n, colour))
				}
				_, out, errs := w.run(w.world.t.Context(), "dream", "run", fmt.Sprint("team/d", n), "--mode", "always", "--judge", "reflectory/llm-eval", "--json")
				var r memory.DreamReport
				if _ = json.Unmarshal([]byte(out), &r); r.Consolidated == 0 {
					return "", out + errs
				}
				w.mu.Lock()
				defer w.mu.Unlock()
				return marked(w.script[0].Body + w.script[0].Text), out + errs // what it said last
			},
		},
		"gateway": {
			answer: `{"value": "MARK"}`, again: 2, passes: true,
			ask: func(w *faultsOf, n int) (used, said string) {
				body := fmt.Sprintf(`{"model":"small","messages":[{"role":"user","content":"Question %d"}],"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"object","required":["value"]}}}}`, n)
				r, err := http.NewRequestWithContext(w.world.t.Context(), http.MethodPost, "http://"+w.Listen+chatPath, strings.NewReader(body))
				if err != nil {
					w.world.t.Fatal(err)
				}
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("X-Api-Key", w.token)
				a, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
				if err != nil {
					return "", err.Error()
				}
				defer a.Body.Close()
				text, _ := io.ReadAll(a.Body)
				if strings.HasPrefix(a.Header.Get("Reflectory-Verdict"), "passed") {
					used = marked(string(text))
				}
				return used, string(text)
			},
		},
	}
}

// faultyEndpoint starts a server, and has written what the caller needs for each fault.
func faultyEndpoint(t *testing.T, c *modelCaller, faults int) *faultsOf {
	t.Helper()
	w := &faultsOf{world: newWorld(t), caller: c}
	up := llmtest.StartFunc(w.reply)
	t.Cleanup(up.Close)
	w.allow(up)
	for _, of := range []string{"LLM", "SUMMARIES"} {
		w.env["REFLECTORY_"+of+"_MODEL"], w.env["REFLECTORY_"+of+"_URL"], w.env["REFLECTORY_"+of+"_KEY_ENV"] = "small", up.URL+"/v1", "THE_KEY"
	}
	w.env["THE_KEY"] = summariesKey
	w.endpoint = fmt.Sprintf("{provider: openai, base_url: %q, model: small, api_key_env: THE_KEY}", up.URL+"/v1")
	w.env["REFLECTORY_EMBEDDINGS_MODEL"], w.env["REFLECTORY_EMBEDDINGS_URL"] = "doors", topicServer(t).URL+"/v1"
	w.token = w.parsed(exitPassed, "token new agent --namespace team --scope model")["token"].(string)
	w.ok("dream", "calibrate", "--pairs", writeDoorPairs(t, w.dir))
	if c.prepare != nil {
		seeding(t, w.env["REFLECTORY_DATA_DIR"], func(memories *memory.Memories) {
			for n := range faults {
				if err := c.prepare(w, memories, n); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	w.serving = w.world.serve()
	return w
}

// TestEndpointFaults_AreNoAnswers: for every caller of a model, no fault of the suite is an answer or is kept as one. What may
// pass is asked for again, and nothing else is: no reply is paid for twice. What was wrong is reported with what came.
func TestEndpointFaults_AreNoAnswers(t *testing.T) {
	coretest.Long(t)
	suite, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "testdata", "endpoints", "faults.txt"))
	if err != nil {
		t.Fatal(err)
	}
	faults, err := llmtest.Faults(string(suite))
	if err != nil || len(faults) < 50 {
		t.Fatalf("%d faults: %v", len(faults), err)
	}
	for name, c := range modelCallers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := faultyEndpoint(t, c, len(faults))
			for n, f := range faults {
				if !f.Quotes() || c.quotes {
					w.wantNoAnswer(t, n, &f)
				}
			}
		})
	}
}

func (w *faultsOf) wantNoAnswer(t *testing.T, n int, f *llmtest.Fault) {
	t.Helper()
	c := w.caller
	right := llmtest.Text(c.with(rightMark))
	script, want, least, most := []llmtest.Reply{f.Reply(c.with(faultMark), c.quotation())}, "", 1, 1
	switch {
	case f.Then == "again" && !c.passes:
		script, want, least = append(script, right), rightMark, 1+max(c.asks, 1)
		most = least
	case f.Then == "none" || f.Then == "llm_reply_empty" && c.passes:
		most = 1 + c.again
	}
	used, said, asked := w.asking(n, script...)
	if used != want || asked < least || asked > most {
		t.Errorf("%s: used %q, want %q; asked %d times, want %d to %d: %s", f.Name, used, want, asked, least, most, said)
	}
	if !c.mute && !c.passes && !strings.Contains(said, f.Says) {
		t.Errorf("%s: %q isn't said: %s", f.Name, f.Says, said)
	}
	if c.codes && strings.HasPrefix(f.Then, "llm_") && !strings.Contains(said, f.Then) {
		t.Errorf("%s: the error isn't %s: %s", f.Name, f.Then, said)
	}
	if c.asks > 0 || c.mute { // what failed there isn't asked again at once
		return
	}
	if used, said, asked := w.asking(n, right); used != rightMark || want == "" && asked != 1 {
		t.Errorf("%s: then %q is used after %d questions: %s", f.Name, used, asked, said)
	}
}
