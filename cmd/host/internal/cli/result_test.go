//go:build cgo && lua54

package cli

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/plugins/llm-eval/llmtest"
)

// changing are the values of a result that differ from run to run.
var changing = regexp.MustCompile(`("run_id": |"wall_ms": )("[^"]*"|\d+)`)

func TestAResultHasTheShapeOfTheContract(t *testing.T) {
	const workflow = `
nodes:
  - name: l
    action: reflection.loop
    with:
      generator: {run: "return '{\"n\": 1}'"}
      corrector: {run: "output.n = output.n + 1; return output"}
      evaluator: {type: schema, schema: {properties: {n: {minimum: 2}}}}
`
	const want = `{
  "run_id": …,
  "status": "passed",
  "valid": true,
  "score": 1,
  "iteration": 2,
  "output": {
    "n": 2
  },
  "stop_reason": "valid",
  "exhausted": false,
  "errors": [],
  "accepted": true,
  "best": {
    "iteration": 2,
    "score": 1
  },
  "history": [
    {
      "iteration": 1,
      "output": {
        "n": 1
      },
      "raw": "{\"n\": 1}",
      "score": 0.8,
      "valid": false,
      "errors": [
        {
          "message": "must be at least 2, got 1",
          "path": "/n",
          "schema_path": "/properties/n/minimum",
          "code": "minimum"
        }
      ],
      "feedback": "parsed from text"
    },
    {
      "iteration": 2,
      "output": {
        "n": 2
      },
      "score": 1,
      "valid": true,
      "errors": [],
      "feedback": ""
    }
  ],
  "usage": {
    "tokens_in": 0,
    "tokens_out": 0,
    "cost_usd": 0,
    "wall_ms": …
  }
}
`
	w := newWorld(t)
	code, out, errs := w.run(t.Context(), "run", "--json", w.file("w.yaml", workflow))
	if diff := cmp.Diff(want, changing.ReplaceAllString(out, "$1…")); diff != "" || code != exitPassed || errs != "" {
		t.Errorf("exit %d: %s (-want +got):\n%s", code, errs, diff)
	}
}

// modelSettings is a priced model: 100 tokens in and 50 out are $0.002.
func modelSettings(server *llmtest.Server) string {
	return "settings: {llm: {provider: openai, base_url: '" + server.URL + "/v1', model: m, price: {in: 10, out: 20}}}\n"
}

func TestEachStopHasItsReasonAndThePrecedenceOfTheContract(t *testing.T) {
	coretest.Long(t)
	const loop = `
nodes:
  - name: l
    action: reflection.loop
    with:
      generator: {run: "return {n = state.reflection_iteration}"}
      evaluator: {run: "return {valid = output.n == 7, score = output.n / 10, errors = {'same'}}"}
      max_iterations: 9
`
	cases := []struct {
		name, more string
		code       int
		reason     core.StopReason
		attempts   int
	}{
		{"valid before all others", "      stop_when: iteration == 7\n", exitPassed, core.StopValid, 7},
		{"stop_when before no_progress", "      stop_when: iteration == 3\n      no_progress: 3\n", exitNotValid, core.StopWhen, 3},
		{"no_progress before max_iterations", "      no_progress: 2\n      on_failure: return_last\n", exitNotValid, core.StopNoProgress, 2},
		{"stop_when sees it all", "      stop_when: best_score >= 0.2 && size(history) == 2 && errors[0].message == 'same' && usage.tokens == 0 && score == 0.2\n", exitNotValid, core.StopWhen, 2},
		{"accept sees it all", "      accept: iteration == 4 && output.n == 4 && !valid && score == 0.4 && size(errors) == 1\n", exitPassed, core.StopValid, 4},
		{"accept refuses what is valid", "      accept: \"false\"\n      max_iterations: 8\n", exitNotValid, core.StopMaxIterations, 8},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			text := loop
			if strings.Contains(c.more, "max_iterations") {
				text = strings.Replace(loop, "      max_iterations: 9\n", "", 1)
			}
			code, out, errs := w.run(t.Context(), "run", "--json", w.file("w.yaml", text+c.more))
			var r core.LoopResult
			if err := json.Unmarshal([]byte(out), &r); err != nil {
				t.Fatalf("%v: %s%s", err, out, errs)
			}
			if code != c.code || r.StopReason != c.reason || len(r.History) != c.attempts {
				t.Errorf("exit %d, %s after %d; want %d, %s after %d", code, r.StopReason, len(r.History), c.code, c.reason, c.attempts)
			}
		})
	}
}

func TestABudgetEndsALoopAfterTheCallThatCrossesIt(t *testing.T) {
	coretest.Long(t)
	for _, budget := range []string{"tokens: 300", "cost_usd: 0.003"} {
		t.Run(budget, func(t *testing.T) {
			server := llmtest.New(t, llmtest.Text("no").Usage(100, 50).Always())
			w := newWorld(t)
			w.allow(server)
			code, out, errs := w.run(t.Context(), "run", "--json", w.file("w.yaml", modelSettings(server)+`
nodes:
  - name: l
    action: reflection.loop
    with: {generator: {action: llm.call, prompt: hi}, evaluator: {run: return false}, max_iterations: 9, budget: {`+budget+`}}
`))
			var r core.LoopResult
			if err := json.Unmarshal([]byte(out), &r); err != nil || code != exitNotValid || r.StopReason != core.StopBudget {
				t.Fatalf("exit %d, %v: %s%s", code, err, out, errs)
			}
			if calls := len(server.Requests()); calls != 2 || r.Usage.Tokens() != 300 || r.Usage.CostUSD != 0.004 {
				t.Errorf("%d calls, %+v", calls, r.Usage)
			}
		})
	}
}

func TestABudgetCountsFailedCallsAlsoOverResumes(t *testing.T) {
	coretest.Long(t)
	server := llmtest.New(t, llmtest.Text(`{"pass": true}`).Usage(100, 50).Always())
	w := newWorld(t)
	w.allow(server)
	code, out, errs := w.run(t.Context(), "run", "--json", w.file("w.yaml", modelSettings(server)+`
nodes:
  - name: l
    action: reflection.loop
    with:
      generator: {run: return 1}
      evaluator:
        type: all
        fail_fast: true
        evaluators: [{name: judge, type: llm}, {name: broken, run: error('broken')}]
      budget: {tokens: 300}
`))
	for n := 1; n <= 2; n++ { // the second evaluation crosses the budget
		var r core.LoopResult
		if err := json.Unmarshal([]byte(out), &r); err != nil || code != exitFailure || r.Usage.Tokens() != int64(150*n) {
			t.Fatalf("evaluation %d: exit %d, %v: %s%s", n, code, err, out, errs)
		}
		code, out, errs = w.run(t.Context(), "resume", "--json", r.RunID)
	}
	var r core.LoopResult
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != exitNotValid || r.StopReason != core.StopBudget || r.Usage.Tokens() != 300 {
		t.Errorf("exit %d, %v: %s%s", code, err, out, errs)
	}
	if calls := len(server.Requests()); calls != 2 {
		t.Errorf("%d calls of the model", calls)
	}
}

func TestAttemptsOfAMegabyteReachEveryIteration(t *testing.T) {
	coretest.Long(t)
	w := newWorld(t)
	code, _, errs := w.run(t.Context(), "run", w.file("w.yaml", `
nodes:
  - name: l
    action: reflection.loop
    with:
      generator: {run: "return string.rep('x', 2^20)"}
      corrector: {run: "return output"}
      evaluator: {run: "return {valid = false, score = #state.reflection_history / 100}"}
      max_iterations: `+fmt.Sprint(coretest.Cases(3, 10))))
	if code != exitNotValid || !strings.Contains(errs, "exhausted (max_iterations)") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

func TestARunCountsTheUsageOfEveryNode(t *testing.T) {
	server := llmtest.New(t, llmtest.Text(`{"pass": true, "score": 0.9, "feedback": "fine"}`).Usage(100, 50).Always())
	w := newWorld(t)
	w.allow(server)
	workflow := w.file("w.yaml", modelSettings(server)+`
state: {output: a text}
nodes:
  - {name: judge, action: reflection.evaluate, with: {evaluator: {type: llm}}}
  - {name: repair, action: reflection.correct, with: {corrector: {action: llm.call, prompt: repair}}}
  - {name: call, action: llm.call, with: {prompt: hi}}
  - {name: stranger, action: plugin.call, with: {plugin: reflectory/llm-eval, config: {prompt: hi, llm: {provider: openai, base_url: '`+server.URL+`/v1', model: m}}}}
  - {name: l, action: reflection.loop, with: {generator: {action: llm.call, prompt: hi}, evaluator: {type: llm}}}
`)
	if code, out, errs := w.run(t.Context(), "run", "--json", workflow); code != exitPassed {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
	_, out, _ := w.run(t.Context(), "runs", "list", "--json")
	var list operation.Page[operation.RunSummary]
	if err := json.Unmarshal([]byte(out), &list); err != nil || len(list.Items) != 1 {
		t.Fatalf("%v: %s", err, out)
	}
	if got, calls := list.Items[0].Usage.TokensIn, len(server.Requests()); got != 600 || calls != 6 {
		t.Errorf("%d tokens in were counted of %d calls: %+v", got, calls, list.Items[0].Usage)
	}
}

func TestAModelJudgesOneOutput(t *testing.T) {
	coretest.Long(t)
	server := llmtest.New(t, llmtest.Text(`Well: {"pass": true}`), llmtest.Text("this is not valid"), llmtest.Text(`{"pass": false, "score": 0.3, "feedback": "too short"}`))
	w := newWorld(t)
	w.allow(server)
	judge := w.file("judge.yaml", `
type: llm
prompt: "Judge {{ output | json }} in {{ context.where }} for {{ state.who }}"
context: {where: "{{ state.place }}"}
llm: {provider: openai, base_url: "`+server.URL+`/v1", model: m}
`)
	state, output := w.file("state.json", `{"who": "Ada", "place": "Rome"}`), w.file("output.json", `{"a": 1}`)
	for _, want := range []struct {
		code  int
		parts []string
	}{
		{exitPassed, []string{`"valid": true`, `"score": 1,`}},
		{exitNotValid, []string{`"valid": false`, `"feedback": "this is not valid"`}},
		{exitNotValid, []string{`"score": 0.3`, `"feedback": "too short"`}},
	} {
		code, out, errs := w.run(t.Context(), "evaluate", "--json", "--evaluator", judge, "--state-file", state, output)
		if code != want.code {
			t.Errorf("exit %d, want %d: %s%s", code, want.code, out, errs)
		}
		for _, part := range want.parts {
			if !strings.Contains(out, part) {
				t.Errorf("%s isn't in %s", part, out)
			}
		}
	}
	if got := server.Requests()[0].Prompt(); !strings.Contains(got, `Judge {"a":1} in Rome for Ada`) {
		t.Errorf("the judge was asked %q", got)
	}
}
