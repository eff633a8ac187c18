package workflow

import (
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core/document"
	"github.com/reflectory/reflectory/core/loop"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/core/workflow/action"
	"github.com/reflectory/reflectory/sdk"
)

// The actions of nodes.
const (
	actionLoop     = "reflection.loop"
	actionEvaluate = "reflection.evaluate"
	actionCorrect  = "reflection.correct"
	actionLLM      = "llm.call"
	actionLua      = "lua.run"
	actionCommand  = "command.run"
	actionPlugin   = "plugin.call"
	actionMCP      = "mcp.call"
	actionObserve  = "memory.observe"
	actionReflect  = "memory.reflect"
	actionRecall   = "memory.recall"
	actionFeedback = "memory.feedback"
	actionSnapshot = "inject.snapshot"
)

// actionNames are all actions that a node can have.
func actionNames() []string {
	return []string{
		actionLoop, actionEvaluate, actionCorrect, actionLLM, actionLua, actionCommand, actionPlugin, actionMCP,
		actionObserve, actionReflect, actionRecall, actionFeedback, actionSnapshot,
	}
}

// action reads the with: block of a node.
func (l *loader) action(name string, with *document.Node) action.Spec {
	b := l.block(with, name)
	if !slices.Contains(callActions, name) { // these are steps too: l.call adds their keys
		b.has(name)
	}
	defer b.Done()
	switch name {
	case actionLoop:
		return l.loop(b)
	case actionEvaluate:
		s := &action.EvaluateSpec{Evaluator: l.step(b.Need("evaluator"), sdk.KindEvaluator)}
		s.Data = l.optional(b, "data")
		return s
	case actionCorrect:
		s := &action.CorrectSpec{Corrector: l.step(b.Need("corrector"), sdk.KindCorrector)}
		s.Data, s.Errors = l.optional(b, "data"), l.optional(b, "errors")
		return s
	case actionObserve:
		return l.memory(b, action.VerbObserve)
	case actionReflect:
		return l.memory(b, action.VerbReflect)
	case actionRecall:
		return l.memory(b, action.VerbRecall)
	case actionFeedback:
		return l.memory(b, action.VerbFeedback)
	case actionSnapshot:
		return &action.SnapshotSpec{Request: l.request(b)}
	}
	s := &action.CallSpec{Step: l.call(b, name, sdk.KindGenerator), WithUsage: name == actionLLM}
	s.Step.Refers = refers(b.Node, &s.Step)
	return s
}

// optional reads a value whose templates may read the state; nil if there is no such key.
func (l *loader) optional(b *block, key string) action.Value {
	n := b.Get(key)
	if n == nil {
		return nil
	}
	return newValue(l.part(n, stateOnly()), nil)
}

func (l *loader) loop(b *block) action.Spec {
	l.llmSteps = nil
	s := &action.LoopSpec{
		Generator: l.step(b.Need("generator"), sdk.KindGenerator),
		Evaluator: l.step(b.Need("evaluator"), sdk.KindEvaluator),
	}
	if n := b.Get("corrector"); n != nil {
		corrector := l.step(n, sdk.KindCorrector)
		s.Corrector = &corrector
	}
	s.Parse = b.parse()
	s.Limits = l.limits(b)
	s.Continues = b.oneOf("on_exhausted") == onExhaustedContinue
	if s.Continues && s.Limits.OnFailure == loop.Raise {
		b.Add(b.Get("on_exhausted").At, "leave out one of them", "on_exhausted: continue has no effect with on_failure: raise, which ends the run")
	}
	return s
}

func (l *loader) limits(b *block) loop.Limits {
	limits := loop.Limits{
		Timeout:          b.duration("timeout"),
		StopWhen:         l.expression(b, "stop_when", policypoint.Stop),
		Accept:           l.expression(b, "accept", policypoint.Accept),
		CorrectMode:      loop.CorrectMode(b.oneOf("correct_mode")),
		OnFailure:        loop.OnFailure(b.oneOf("on_failure")),
		OnEvaluatorError: loop.OnEvaluatorError(b.oneOf("on_evaluator_error")),
		OnGeneratorError: loop.OnGeneratorError(b.oneOf("on_generator_error")),
		EvaluatorRetries: b.retries("evaluator_retries"),
		GeneratorRetries: b.retries("generator_retries"),
	}
	if b.Get("max_iterations") != nil {
		limits.MaxIterations = b.integer("max_iterations")
	}
	if b.Get("no_progress") != nil {
		limits.NoProgress = b.integer("no_progress")
	}
	if b.Get("history_limit") != nil {
		limits.HistoryLimit = b.integer("history_limit")
	}
	if n := b.Get("budget"); n != nil {
		l.budget(n, &limits)
	}
	return limits
}

// retries is how often a failed call is tried again, in the form of limits, where 0 means
// the default.
func (b *block) retries(key string) int {
	if b.Get(key) == nil {
		return 0
	}
	if n := b.integer(key); n > 0 {
		return n
	}
	return -1 // never
}

func (l *loader) budget(n *document.Node, limits *loop.Limits) {
	b := l.block(n, "budget", blockBudget)
	if b.Get("tokens") != nil {
		limits.BudgetTokens = int64(b.integer("tokens"))
	}
	if cost := b.Get("cost_usd"); cost != nil {
		if limits.BudgetUSD = b.number("cost_usd"); limits.BudgetUSD == 0 && cost.Kind == document.Number {
			b.Add(cost.At, "", "cost_usd must be above 0")
		}
		priced := l.llmSettings["price"] != nil || len(l.llmSteps) > 0
		for _, step := range l.llmSteps {
			priced = priced && step["price"] != nil
		}
		if !priced {
			b.Add(cost.At, "set settings.llm.price: {in: …, out: …}, in dollars per million tokens", "a cost budget needs a price")
		}
	}
	b.Done()
}

// expression compiles the condition under a key. Its problems have their positions in the
// file.
func (l *loader) expression(b *block, key string, point policypoint.Point) policypoint.Expression {
	n := b.Get(key)
	if n == nil {
		return nil
	}
	if n.Kind == document.Bool { // when: true is a condition too
		n = n.AsText()
	}
	if n.Kind != document.Text {
		l.Add(n.At, "", "%s must be an expression, not %s", key, n.Kind)
		return nil
	}
	e, err := l.opts.Expressions.Compile(point, n.Text)
	if err == nil {
		return e
	}
	details := sdk.AsError(err).Details
	found, _ := details["problems"].([]map[string]any)
	if len(found) == 0 {
		found = []map[string]any{{"line": details["line"], "column": details["column"], "message": err.Error()}}
	}
	for _, p := range found {
		line, _ := p["line"].(int)
		column, _ := p["column"].(int)
		hint, _ := p["hint"].(string)
		l.Add(n.Place(offsetOf(n.Text, line, column)), hint, "CEL: %v", p["message"])
	}
	return nil
}

// offsetOf finds a line and column, both from 1, in characters.
func offsetOf(text string, line, column int) int {
	lines := strings.SplitAfter(text, "\n")
	offset := 0
	for i := 0; i < line-1 && i < len(lines); i++ {
		offset += len(lines[i])
	}
	for range column - 1 {
		if offset >= len(text) {
			break
		}
		offset++
		for offset < len(text) && text[offset]&0xc0 == 0x80 { // inside a character
			offset++
		}
	}
	return min(offset, len(text))
}
