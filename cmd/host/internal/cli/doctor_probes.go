package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/reflectory/reflectory/sdk"
)

// What doctor llm asks: as few and as small questions as show what a model does. Most of the
// tokens are the long prompt's.
const (
	probeCount  = 18
	probeTokens = 12_000
	// longPrompt is the length of the long prompt, in characters: more than the context that
	// servers of local models have by default (4,096 tokens).
	longPrompt = 30_000
	// parallelProbes is how many questions are asked at a time.
	parallelProbes = 4
)

// askModel asks a model once with a config of llm-eval.
type askModel func(ctx context.Context, config map[string]any, emit func(string)) (*sdk.GenerateResponse, error)

// modelExaminer asks a model small questions, and finds the dialect in which it answers them.
// A fault becomes a part of the dialect only if the model does better with it.
type modelExaminer struct {
	ask      askModel
	llm      map[string]any
	mu       sync.Mutex
	used     sdk.Usage
	refuses  []string
	parts    []examined
	answered []string // the parts that were answered
}

// newModelExaminer leaves out of the connection what a question of its own is about.
func newModelExaminer(llm map[string]any, ask askModel) *modelExaminer {
	llm = maps.Clone(llm)
	delete(llm, "reasoning_effort")
	return &modelExaminer{ask: ask, llm: llm}
}

// modelAnswer is what came of a question.
type modelAnswer struct {
	*sdk.GenerateResponse
	text   string
	pieces int
	took   time.Duration
	err    *sdk.Error
}

// noted reports whether the reply's note has words.
func (a *modelAnswer) noted(words string) bool { return strings.Contains(a.Metadata["note"], words) }

// modelProbe is a question, and what its answer shows.
type modelProbe struct {
	part   string
	config map[string]any // in addition to llm
	stream bool
	// judge says how the part is with an answer that came, and with one that didn't if it
	// is given; without it, any answer is ok.
	judge func(a *modelAnswer) (state, found string)
	// found is what an answer shows if judge is nil.
	found string
	// drops are what may be left out, each tried alone in this order.
	drops [][]string
	// fix is what else can be done.
	fix string
}

// modelProbes are asked in this order.
func modelProbes() []modelProbe {
	const count = "Count from 1 to 200, in digits, separated by commas. Write nothing else."
	ready := "Reply with the word READY and nothing else."
	sampled := func(field string, value any) modelProbe {
		return modelProbe{part: field, config: map[string]any{"prompt": ready, field: value}, found: "is taken", drops: [][]string{{field}}}
	}
	return []modelProbe{
		{part: "answers", config: map[string]any{"prompt": ready}, judge: obeys("READY"), drops: [][]string{{"whole_replies"}}},
		{part: "stream", config: map[string]any{"prompt": "Count from 1 to 30, in digits, separated by commas. Write nothing else."}, stream: true, judge: arrives, drops: [][]string{{"stream"}}},
		{part: "system", config: map[string]any{"system": "Whatever the user says, reply with the word WREN and nothing else.", "prompt": "Hello!"}, judge: obeys("WREN"), drops: [][]string{{"system"}}},
		{
			part: "schema", drops: [][]string{{"json_schema"}, {"response_format"}}, found: "JSON by a schema comes",
			config: map[string]any{"prompt": "Which colour has a clear sky at noon?", "response_schema": json.RawMessage(skySchema)},
			fix:    "ask for JSON in the prompt, with parse: json",
		},
		sampled("temperature", 0.5), sampled("top_p", 0.9), sampled("seed", 7),
		{part: "stop", config: map[string]any{"prompt": "Write exactly these words: one two HALT three", "stop": "HALT"}, judge: stops, drops: [][]string{{"stop"}}},
		{
			part: "sampling", config: map[string]any{"prompt": ready, "temperature": 0.5, "top_p": 0.9, "seed": 7, "stop": "HALT"},
			found: "all are taken together", drops: [][]string{{"top_p"}, {"temperature"}, {"temperature", "top_p", "seed", "stop"}},
		},
		{part: "max_tokens", config: map[string]any{"prompt": count, "max_tokens": 16}, judge: cutsOff, drops: [][]string{{"max_tokens"}, {"max_tokens", "max_completion_tokens"}}},
		{part: "reasoning", config: map[string]any{"prompt": ready, "llm": map[string]any{"reasoning_effort": "low"}}, judge: thinks, drops: [][]string{{"reasoning_effort"}}},
		{part: "context", config: map[string]any{"prompt": longQuestion()}, judge: remembers, fix: "give the model a longer context: for Ollama, provider: ollama with a base_url that doesn't end in /v1, and max_context; else at its server"},
	}
}

// skySchema is the form of an answer that nobody gives without being asked for it.
const skySchema = `{"type":"object","properties":{"colour":{"type":"string"}},"required":["colour"],"additionalProperties":false}`

// longQuestion is a prompt whose beginning gets lost where the context is short.
func longQuestion() string {
	var b strings.Builder
	b.WriteString("The code is KESTREL.\n")
	for n := 1; b.Len() < longPrompt; n++ {
		fmt.Fprintf(&b, "Line %d of this list says nothing that matters.\n", n)
	}
	return b.String() + "Which code did the first line of this message give? Reply with the code and nothing else."
}

// obeys expects a word.
func obeys(word string) func(a *modelAnswer) (state, found string) {
	return func(a *modelAnswer) (state, found string) {
		if !strings.Contains(a.text, word) {
			return partWarn, fmt.Sprintf("it doesn't do what it is asked: for %s came %s", word, shortened(a.text))
		}
		return partOK, "does what it is asked, in " + a.took.Round(time.Millisecond).String()
	}
}

func shortened(text string) string {
	return strconv.Quote(string([]rune(text)[:min(60, len([]rune(text)))]))
}

func arrives(a *modelAnswer) (state, found string) {
	switch {
	case !strings.Contains(a.text, "29"):
		return partFail, "a stream loses text: it brought " + shortened(a.text)
	case a.pieces < 2:
		return partWarn, "the reply comes in one piece"
	}
	return partOK, fmt.Sprintf("%d pieces came", a.pieces)
}

func stops(a *modelAnswer) (state, found string) {
	if strings.Contains(a.text, "three") {
		return partWarn, "stop has no effect"
	}
	return partOK, "is taken"
}

// cutsOff expects a reply that says that it was cut.
func cutsOff(a *modelAnswer) (state, found string) {
	switch {
	case a.err != nil && a.err.Reason == "llm_reply_cut":
		return partOK, "a reply ends there, and says so"
	case a.err != nil:
		return partFail, a.err.Message
	case strings.Contains(a.text, "150"):
		return partWarn, "the limit has no effect"
	}
	return partFail, "a reply that is cut there says that it is whole: " + shortened(a.text)
}

func thinks(a *modelAnswer) (state, found string) {
	if thought := a.Metadata["thought"]; thought != "" {
		return partOK, "it thinks before it answers (" + thought + " characters), which is put aside"
	}
	return partOK, "reasoning_effort is taken; no thoughts are sent"
}

func remembers(a *modelAnswer) (state, found string) {
	switch {
	case a.noted("prompt_cut"):
		return partFail, fmt.Sprintf("the endpoint cut a prompt of %d characters: it counted %d tokens", longPrompt, a.Usage.TokensIn)
	case !strings.Contains(a.text, "KESTREL"):
		return partFail, fmt.Sprintf("the first line of a prompt of %d characters doesn't come back, but %s", longPrompt, shortened(a.text))
	}
	return partOK, fmt.Sprintf("the first line of a prompt of %d characters comes back", longPrompt)
}

// examine asks all questions. It ends with the first if that isn't answered.
func (e *modelExaminer) examine(ctx context.Context) {
	var first *modelAnswer
	for _, p := range modelProbes() {
		a := e.probe(ctx, &p)
		if first == nil {
			first = a
		}
		if first.err != nil || ctx.Err() != nil {
			return
		}
	}
	e.counts(first)
	e.parallel(ctx)
	e.names(ctx)
}

// probe asks a question, and if its part doesn't work, without what may be the reason.
func (e *modelExaminer) probe(ctx context.Context, p *modelProbe) *modelAnswer {
	before := slices.Clone(e.refuses)
	a := e.question(ctx, p, e.refuses)
	state, found := p.state(a)
	part := examined{Part: p.part, State: state, Found: found}
	e.learn(a)
	for _, drop := range p.drops {
		if state == partOK || hopeless(a.err) || slices.Contains(e.refuses, "whole_replies") && p.stream {
			break
		}
		without := slices.Clone(e.refuses)
		for _, field := range drop {
			if !slices.Contains(without, field) {
				without = append(without, field)
			}
		}
		again := e.question(ctx, p, without)
		if better, now := p.state(again); severity(better) < severity(state) {
			e.refuses, a, state = without, again, better
			part.State, part.Found = cmp.Or(map[string]string{partFail: partFail}[better], partWarn), found+"; without it: "+now
			e.learn(again)
		}
	}
	if a.err == nil {
		e.answered = append(e.answered, p.part)
	}
	if learned := slices.DeleteFunc(slices.Clone(e.refuses), func(f string) bool { return slices.Contains(before, f) }); len(learned) > 0 {
		part.Fix = "dialect: " + dialectOf(learned)
		if part.State == partOK {
			part.State, part.Found = partWarn, strings.Join(learned, ", ")+" is refused; without it: "+part.Found
		}
	} else if part.State != partOK {
		part.Fix = cmp.Or(hintOf(a.err), p.fix)
	}
	e.parts = append(e.parts, part)
	return a
}

func hintOf(err *sdk.Error) string {
	if err == nil {
		return ""
	}
	return err.Hint
}

// severity orders states, the best first.
func severity(state string) int { return slices.Index([]string{partOK, partWarn, partFail}, state) }

// hopeless reports whether an error has a reason that no other question changes.
func hopeless(err *sdk.Error) bool {
	if err == nil {
		return false
	}
	return err.Code == sdk.Denied || slices.Contains([]string{"llm_key_missing", "llm_quota", "llm_model_not_found", "llm_redirected"}, err.Reason) ||
		err.Reason == "llm_unavailable" && err.Details["status"] == nil && strings.Contains(err.Message, "1 try")
}

// state is how the part is by an answer.
func (p *modelProbe) state(a *modelAnswer) (state, found string) {
	switch {
	case a.err != nil && (p.part != "max_tokens" || a.err.Reason != "llm_reply_cut"):
		return partFail, a.err.Message
	case p.judge == nil:
		return partOK, p.found
	}
	return p.judge(a)
}

// learn takes over what the plugin has learned from refusals that name their field.
func (e *modelExaminer) learn(a *modelAnswer) {
	if a.err != nil {
		return
	}
	for _, field := range strings.FieldsFunc(a.Metadata["refuses"], func(r rune) bool { return r == ',' }) {
		if !slices.Contains(e.refuses, field) {
			e.refuses = append(e.refuses, field)
		}
	}
}

// question asks in a dialect.
func (e *modelExaminer) question(ctx context.Context, p *modelProbe, refuses []string) *modelAnswer {
	llm := maps.Clone(e.llm)
	config := maps.Clone(p.config)
	if more, ok := config["llm"].(map[string]any); ok {
		maps.Copy(llm, more)
	}
	if len(refuses) > 0 {
		llm["dialect"] = map[string]any{"refuses": refuses}
	}
	config["llm"] = llm
	a := &modelAnswer{GenerateResponse: &sdk.GenerateResponse{}}
	var emit func(string)
	if p.stream {
		emit = func(string) { a.pieces++ }
	}
	began := time.Now()
	response, err := e.ask(ctx, config, emit)
	a.took = time.Since(began)
	e.mu.Lock()
	defer e.mu.Unlock()
	if err != nil {
		a.err = sdk.AsError(err)
		e.used = e.used.Add(sdk.UsageOf(err))
		return a
	}
	a.GenerateResponse = response
	e.used = e.used.Add(response.Usage)
	if json.Unmarshal(response.Output, &a.text) != nil {
		a.text = string(response.Output)
	}
	return a
}

// counts says what the first answer shows in addition.
func (e *modelExaminer) counts(a *modelAnswer) {
	usage := examined{Part: "usage", State: partOK, Found: fmt.Sprintf("tokens are counted (%d and %d)", a.Usage.TokensIn, a.Usage.TokensOut)}
	if a.noted("usage estimated") {
		usage = examined{Part: "usage", State: partWarn, Found: "no tokens are counted", Fix: "they are estimated, so leave room in budgets"}
	}
	e.parts = append(e.parts, usage)
	if a.noted("finish reason") {
		e.parts = append(e.parts, examined{Part: "finish", State: partWarn, Found: a.Metadata["note"], Fix: "a reply that is cut can't be told from a whole one; check outputs with a schema"})
	}
}

// parallel asks several questions at a time.
func (e *modelExaminer) parallel(ctx context.Context) {
	probe := modelProbes()[0]
	answers := make([]*modelAnswer, parallelProbes)
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() { answers[i] = e.question(ctx, &probe, e.refuses) })
	}
	wg.Wait()
	part := examined{Part: "parallel", State: partOK, Found: fmt.Sprintf("%d questions at a time are answered", parallelProbes)}
	refused, failed := 0, 0
	for _, a := range answers {
		if a.err != nil {
			failed++
			part.Fix = a.err.Message
		} else if a.Metadata["tries"] != "" {
			refused++
		}
	}
	if refused+failed > 0 {
		part.State, part.Found = partWarn, fmt.Sprintf("of %d questions at a time %d were refused at first, and %d in the end", parallelProbes, refused+failed, failed)
		part.Fix = cmp.Or(part.Fix, "expect waits: they are asked again as Retry-After says")
	}
	e.parts = append(e.parts, part)
}

// names asks a model that there can't be.
func (e *modelExaminer) names(ctx context.Context) {
	probe := modelProbes()[0]
	probe.config["llm"] = map[string]any{"model": "no-such-model-" + strconv.Itoa(longPrompt)}
	a := e.question(ctx, &probe, e.refuses)
	part := examined{Part: "model", State: partOK, Found: "an unknown model is refused"}
	switch {
	case a.err == nil:
		part.State, part.Found, part.Fix = partWarn, "an unknown model is answered for as well", "check the model's name yourself: a misspelled one isn't noticed"
	case a.err.Reason != "llm_model_not_found":
		part.State, part.Found, part.Fix = partWarn, "an unknown model isn't refused as such: "+a.err.Message, "if a run fails like this, check the model's name"
	}
	e.parts = append(e.parts, part)
}
