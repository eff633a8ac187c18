package workflow_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core/loop"
	"github.com/reflectory/reflectory/core/workflow/action"
)

// The program's own time limit is a verdict, so the call may take longer.
func TestACommandsCallOutlastsTheProgram(t *testing.T) {
	for text, want := range map[string]time.Duration{"{type: command, sh: x}": 11 * time.Minute, "{type: command, run: [x], timeout: 2s}": 64 * time.Second} {
		p, err := load(node("reflection.evaluate", "evaluator: "+text))
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Nodes[0].Action.(*action.EvaluateSpec).Evaluator.Timeout; got != want {
			t.Errorf("%s has a timeout of %s, want %s", text, got, want)
		}
	}
}

func TestEachStepHasItsTimeout(t *testing.T) {
	for form, absent := range map[string]time.Duration{
		"{type: schema, schema: {}%s}": 30 * time.Second, "{type: checks, all: []%s}": 30 * time.Second, "{type: lua, code: x%s}": 30 * time.Second, "{run: x%s}": 30 * time.Second,
		"{type: llm%s}": 120 * time.Second, "{action: llm.call, prompt: p%s}": 120 * time.Second,
		"{type: mcp, server: s, tool: t%s}": 0, "{plugin: acme/mine%s}": 0, // its own, default 30 s
	} {
		for key, want := range map[string]time.Duration{"": absent, ", timeout: 2s": 2 * time.Second} {
			text := strings.ReplaceAll(form, "%s", key)
			p, err := load("settings: {llm: {model: m}}\n" + node("reflection.evaluate", "evaluator: "+text))
			if err != nil {
				t.Fatal(err)
			}
			if got := p.Nodes[0].Action.(*action.EvaluateSpec).Evaluator.Timeout; got != want {
				t.Errorf("%s has a timeout of %s, want %s", text, got, want)
			}
		}
	}
}

func TestLimitsAreAbsentByDefault(t *testing.T) {
	p, err := load(aLoop(""))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(loop.Limits{}, p.Nodes[0].Action.(*action.LoopSpec).Limits); diff != "" {
		t.Error(diff)
	}
	if p.StepLimit != 1000 {
		t.Errorf("a step limit of %d", p.StepLimit)
	}
}

func TestLimitsOutOfBoundsAreRefused(t *testing.T) {
	for keys, want := range map[string]string{
		"max_iterations: 0":                   "max_iterations must be from 1 to 1000, not 0",
		"max_iterations: -1":                  "max_iterations must be from 1 to 1000, not -1",
		"history_limit: 0":                    "history_limit must be from 1 to 1000, not 0",
		"no_progress: 0":                      "no_progress must be from 2 to 1000, not 0",
		"evaluator_retries: -1":               "evaluator_retries must be from 0 to 10, not -1",
		"timeout: 0s":                         "timeout must be a duration above zero",
		"timeout: -1s":                        "timeout must be a duration above zero",
		"budget: {tokens: 0}":                 "tokens must be from 1 to 9007199254740992, not 0",
		"budget: {cost_usd: -1}":              "cost_usd must be",
		"budget: {cost_usd: 0}":               "cost_usd must be above 0",
		"budget: {seconds: 1}":                `budget has no key "seconds"`,
		"on_evaluator_error: ignore":          "on_evaluator_error must be one of error, fail_attempt",
		"correct_mode: merge":                 "correct_mode must be one of replace, regenerate",
		"on_exhausted: fail":                  "on_exhausted must be one of continue",
		"on_exhausted: true":                  "on_exhausted must be one of continue, not a boolean",
		"on_exhausted: '{{ state.x }}'":       "on_exhausted must be one of continue",
		"on_failure: best":                    "on_failure must be one of return_best, return_last, raise",
		"on_failure: 3":                       "on_failure must be one of return_best, return_last, raise, not a number",
		"accept: 1":                           "accept must be an expression",
		"budget: 100":                         "budget must be a mapping",
		"stop_when: [a]":                      "stop_when must be an expression",
		"evaluator_retries: 11":               "evaluator_retries must be from 0 to 10, not 11",
		"history_limit: 1001":                 "history_limit must be from 1 to 1000, not 1001",
		"corrector: {type: schema}":           "type must be one of llm, lua",
		"corrector: {type: all}":              "type must be one of llm, lua",
		"corrector: {run: x, timeout: never}": "timeout must be a duration above zero",
	} {
		if _, err := load("settings: {llm: {price: {in: 1, out: 2}}}\n" + aLoop(keys)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", keys, err, want)
		}
	}
}

func TestLargeNumbersAreTaken(t *testing.T) {
	p, err := load("settings: {llm: {model: m}}\n" + aLoop("budget: {tokens: 5000000000}\ncorrector: {action: llm.call, prompt: p, seed: -3000000000}"))
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Nodes[0].Action.(*action.LoopSpec).Limits.BudgetTokens; got != 5_000_000_000 {
		t.Errorf("got a budget of %d tokens", got)
	}
}

func TestACostBudgetNeedsThePriceOfEveryModel(t *testing.T) {
	const priced = "llm: {model: a, price: {in: 1, out: 2}}"
	for name, c := range map[string]struct {
		settings, generator, evaluator string
		fine                           bool
	}{
		"settings":            {priced, "action: llm.call, prompt: p", "type: llm", true},
		"no model, no price":  {"{}", "run: x", "run: x", false},
		"no model, a price":   {priced, "run: x", "run: x", true},
		"each its own":        {"{}", "action: llm.call, prompt: p, " + priced, "type: llm, " + priced, true},
		"one without":         {"{}", "action: llm.call, prompt: p, " + priced, "type: llm, llm: {model: b}", false},
		"the first without":   {"{}", "action: llm.call, prompt: p, llm: {model: b}", "type: llm, " + priced, false},
		"in a composite's":    {"{}", "run: x", "type: all, evaluators: [{name: a, type: llm, llm: {model: b}}, {name: b, type: llm, " + priced + "}]", false},
		"of a composite, all": {"{}", "run: x", "type: all, evaluators: [{name: a, type: llm, " + priced + "}]", true},
	} {
		settings := c.settings
		if settings != "{}" {
			settings = "{" + settings + "}"
		}
		_, err := load("settings: " + settings + "\n" + node("reflection.loop",
			"generator: {"+c.generator+"}\nevaluator: {"+c.evaluator+"}\nbudget: {cost_usd: 1}"))
		if refused := err != nil && strings.Contains(err.Error(), "a cost budget needs a price"); refused == c.fine || c.fine && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
