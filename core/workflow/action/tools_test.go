package action_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/workflow/action"
	"github.com/reflectory/reflectory/sdk"
)

// toolWorld has a model that asks for two tools, then for one, and then answers with what it was
// told. It can be killed: from then on everything fails.
type toolWorld struct {
	kept  map[string]*core.Reply
	given []string
	err   error // of keeping
	// made and asked count the calls by idempotency key.
	made, asked map[string]int
	// operations are counted down; at 0 the world is killed, before or after the operation's effect.
	left  int
	after bool
	dead  bool
	// fails is what the tools return; unusable is what the model asks for instead.
	fails error
	loops bool
	// idempotent is whether a tool may be called again.
	idempotent bool
	seen       []string // the messages of the last question
}

func newToolWorld() *toolWorld {
	return &toolWorld{kept: map[string]*core.Reply{}, idempotent: true, made: map[string]int{}, asked: map[string]int{}, left: -1}
}

var errKilled = sdk.Wrap("killed", context.Canceled)

// operation does something with an effect, unless the world is killed.
func (w *toolWorld) operation(effect func()) error {
	if w.dead {
		return errKilled
	}
	if w.left--; w.left == 0 {
		if w.dead = true; w.after {
			effect()
		}
		return errKilled
	}
	effect()
	return nil
}

func (w *toolWorld) KeepStep(_ context.Context, _, key string, reply *core.Reply, memories []string) error {
	if w.err != nil {
		return w.err
	}
	return w.operation(func() {
		if w.kept[key], w.given = reply, memories; reply == nil {
			delete(w.kept, key)
		}
	})
}

func (w *toolWorld) Step(_ context.Context, _, key string) (*core.Reply, error) {
	return w.kept[key], w.err
}

func (w *toolWorld) StepMemories(context.Context, string) ([]string, error) {
	return []string{"m0"}, w.err
}

func (w *toolWorld) plugins() *coretest.Plugins {
	return &coretest.Plugins{
		DescribeFn: func(context.Context, string) (*sdk.Manifest, error) { return &sdk.Manifest{}, nil },
		GenerateFn: func(_ context.Context, target core.Target, reqs []*sdk.GenerateRequest) ([]sdk.GenerateResult, error) {
			var res *sdk.GenerateResponse
			err := w.operation(func() {
				if target.Plugin == "model" {
					res = w.model(target.Config, reqs[0])
					return
				}
				if w.fails == nil {
					w.made[reqs[0].IdempotencyKey]++
				}
				res = &sdk.GenerateResponse{Output: jsontext.MustEncode(target.Plugin + " of " + string(reqs[0].State)), Usage: sdk.Usage{TokensIn: 1}}
			})
			if err == nil && target.Plugin != "model" {
				err = w.fails
			}
			return []sdk.GenerateResult{{Response: res, Err: err}}, nil
		},
	}
}

// model answers a question.
func (w *toolWorld) model(config json.RawMessage, req *sdk.GenerateRequest) *sdk.GenerateResponse {
	w.asked[req.IdempotencyKey]++
	var c struct {
		Messages []struct {
			Role, Content string
			ID            string `json:"tool_call_id"`
		}
		ToolChoice string `json:"tool_choice"`
	}
	if err := json.Unmarshal(config, &c); err != nil {
		panic(err)
	}
	w.seen = nil
	told := 0
	for _, m := range c.Messages {
		w.seen = append(w.seen, m.Role+" "+m.ID+" "+m.Content)
		if m.Role == "tool" {
			told++
		}
	}
	call := func(n int, tool string) string {
		return fmt.Sprintf(`{"id": "c%d", "name": %q, "arguments": {"n": %d}}`, n, tool, n)
	}
	res := &sdk.GenerateResponse{Usage: sdk.Usage{TokensIn: 10, TokensOut: 5}, Metadata: map[string]string{sdk.MetadataToolCalls: "1"}}
	switch {
	case told == 0:
		res.Output = json.RawMessage(`{"tool_calls": [` + call(1, "one") + `,` + call(2, "two") + `], "text": "Let me see. ` + c.ToolChoice + `"}`)
	case told == 2 || w.loops:
		res.Output = json.RawMessage(`{"tool_calls": [` + call(3, "one") + `]}`)
	default:
		res.Output, res.Metadata = jsontext.MustEncode(strings.Join(w.seen, "\n")), nil
	}
	return res
}

func (w *toolWorld) act(t *testing.T) (*action.CallResult, error) {
	t.Helper()
	step := action.Step{Plugin: "model", Config: action.Constant(`{"prompt": "How many?", "system": "Count.", "tool_choice": "required"}`), Tools: &action.Toolset{MaxSteps: 4, Tools: []action.Tool{
		{Name: "one", Step: action.Step{Plugin: "first"}, Idempotent: w.idempotent}, {Name: "two", Step: action.Step{Plugin: "second"}, Idempotent: w.idempotent},
	}}}
	a := &action.Actions{Plugins: w.plugins(), Steps: w}
	result, err := a.Act(t.Context(), &action.Request{RunID: "r", Visit: 1, Node: "n", State: json.RawMessage(`{}`), Action: &action.CallSpec{Step: step, WithUsage: true}})
	if err != nil {
		return nil, err
	}
	return result.(*action.CallResult), nil
}

const toolTranscript = `system  Count.
user  How many?
assistant  Let me see. required
tool c1 first of {"n":1}
tool c2 second of {"n":2}
assistant  
tool c3 first of {"n":3}`

// A model is asked until it answers, and its tools are called in between.
func TestTools_AreCalledUntilTheModelAnswers(t *testing.T) {
	w := newToolWorld()
	got, err := w.act(t)
	if err != nil || *got.Usage != (sdk.Usage{TokensIn: 33, TokensOut: 15}) {
		t.Fatalf("%v, %+v", err, got)
	}
	if diff := cmp.Diff(toolTranscript, textOf(got.Output)); diff != "" {
		t.Error(diff)
	}
	if keys := slices.Sorted(maps.Keys(w.made)); !slices.Equal(keys, []string{"r/1/generate/step/1/tool/1", "r/1/generate/step/1/tool/2", "r/1/generate/step/2/tool/1"}) {
		t.Errorf("%q", keys)
	}
}

func textOf(raw json.RawMessage) (text string) {
	_ = json.Unmarshal(raw, &text)
	return strings.NewReplacer(`": `, `":`).Replace(text)
}

// A run that is killed at any moment and resumed has the same result, and repeats only what was
// under way, with the same key. However often it is killed, nothing else is made twice.
func TestTools_KilledAtAnyMoment(t *testing.T) {
	whole := newToolWorld()
	want, err := whole.act(t)
	if err != nil {
		t.Fatal(err)
	}
	moments := 0
	for _, after := range []bool{false, true} {
		for first := 1; ; first++ {
			w := newToolWorld()
			w.after, w.left = after, first
			if _, err := w.act(t); err == nil {
				break // it was over before
			} else if !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			moments++
			w.dead, w.left = false, -1
			got, err := w.act(t)
			if err != nil || !cmp.Equal(got, want) {
				t.Errorf("killed at %d: %v, %+v", first, err, got)
			}
			twice := 0
			for key, n := range w.made {
				if n > 2 || whole.made[key] == 0 {
					t.Errorf("killed at %d: %s was made %d times", first, key, n)
				}
				twice += n - 1
			}
			for key, n := range w.asked {
				if n > 2 || whole.asked[key] == 0 {
					t.Errorf("killed at %d: %s was asked %d times", first, key, n)
				}
				twice += n - 1
			}
			if twice > 1 {
				t.Errorf("killed at %d: %d calls were repeated", first, twice)
			}
		}
	}
	if moments != 2*12 { // three questions and three tools, each with its record
		t.Errorf("%d moments", moments)
	}
	always := newToolWorld()
	for n := 1; n < 40; n++ { // killed again and again, a little later each time
		always.after, always.dead, always.left = n%2 == 0, false, 1+n%3
		if _, err := always.act(t); err == nil {
			break
		}
	}
	always.dead, always.left = false, -1
	if got, err := always.act(t); err != nil || !cmp.Equal(got, want) {
		t.Errorf("%v, %+v", err, got)
	}
}

// What a model can do better, it reads; what nobody could is the step's failure.
func TestTools_Failures(t *testing.T) {
	for name, test := range map[string]struct {
		err    error
		reason string
	}{
		"wrong arguments":  {sdk.Errorf(sdk.Invalid, "bad", "n must be even"), ""},
		"nothing found":    {sdk.Errorf(sdk.NotFound, "none", "no such thing"), ""},
		"too much":         {sdk.Errorf(sdk.Exhausted, "large", "the answer is too long"), ""},
		"down":             {sdk.Errorf(sdk.Unavailable, "down", "it is down"), "down"},
		"slow":             {sdk.Errorf(sdk.Timeout, "slow", "no answer in time"), "slow"},
		"denied":           {sdk.Errorf(sdk.Denied, "denied", "it may not"), "denied"},
		"a wrong setting":  {sdk.AsPermanent(sdk.Errorf(sdk.Invalid, "setting", "wrong")), "setting"},
		"a defect":         {sdk.Errorf(sdk.Internal, "bug", "a bug"), "bug"},
		"a plugin's crash": {sdk.Errorf(sdk.Unavailable, "plugin_crashed", "it crashed"), "plugin_crashed"},
	} {
		w := newToolWorld()
		w.fails = test.err
		got, err := w.act(t)
		if sdk.ReasonOf(err) != test.reason || err == nil && !strings.Contains(textOf(got.Output), "tool c1 error: "+test.err.Error()) {
			t.Errorf("%s: %v, %+v", name, err, got)
		}
		if w.fails = nil; test.reason == "" {
			continue
		}
		if got, err = w.act(t); err != nil || textOf(got.Output) != toolTranscript || w.asked["r/1/generate"] != 1 {
			t.Errorf("%s: afterwards %v, %v", name, err, w.asked)
		}
	}
}

func TestTools_EndAfterTheirSteps(t *testing.T) {
	w := newToolWorld()
	w.loops = true
	_, err := w.act(t)
	if e := sdk.AsError(err); e.Reason != "tool_steps" || e.Code != sdk.Invalid || sdk.UsageOf(err).TokensIn != 45 || len(w.asked) != 4 {
		t.Errorf("%v, %v, %v", err, sdk.UsageOf(err), w.asked)
	}
	w = newToolWorld()
	w.err = errors.New("disk")
	if _, err := w.act(t); err == nil || len(w.made) > 0 {
		t.Errorf("a call whose record fails: %v, %v", err, w.made)
	}
}

// A call of another tool that was under way at a kill isn't made again, and the model reads that.
func TestTools_ThatAreNotIdempotentAreNeverCalledAgain(t *testing.T) {
	for _, after := range []bool{false, true} {
		lost, known := 0, 0
		for first := 1; ; first++ {
			w := newToolWorld()
			w.idempotent, w.after, w.left = false, after, first
			if _, err := w.act(t); err == nil {
				break
			}
			w.dead, w.left = false, -1
			got, err := w.act(t)
			if err != nil {
				t.Fatal(err)
			}
			unknown := strings.Count(textOf(got.Output), "Whether it had an effect isn't known")
			made := 0
			for key, n := range w.made {
				if made += n; n > 1 {
					t.Errorf("killed at %d: %s was made %d times", first, key, n)
				}
			}
			if unknown > 1 || unknown == 0 && textOf(got.Output) != toolTranscript || made < 3-unknown {
				t.Errorf("killed at %d: %d calls, %s", first, made, got.Output)
			}
			lost, known = lost+unknown, known+1-unknown
		}
		// Three calls: where they begin, in them, and before their result is stored.
		if lost != map[bool]int{false: 6, true: 6}[after] || known == 0 {
			t.Errorf("after %t: %d are lost, %d known", after, lost, known)
		}
	}
	w := newToolWorld()
	w.idempotent, w.fails = false, sdk.Errorf(sdk.Timeout, "slow", "no answer in time")
	_, err := w.act(t)
	w.fails = nil
	if got, again := w.act(t); err == nil || again != nil || !strings.Contains(textOf(got.Output), "tool c1 error: this call was begun") {
		t.Errorf("%v, %v, %v", err, again, got)
	}
	w.idempotent, w.fails = false, sdk.Errorf(sdk.Denied, "denied", "it may not")
	w.kept = map[string]*core.Reply{}
	_, err = w.act(t)
	w.fails = nil
	if got, again := w.act(t); err == nil || again != nil || textOf(got.Output) != toolTranscript {
		t.Errorf("what was refused: %v, %v, %v", err, again, got)
	}
}

// toolOf makes one call of a tool, and returns what the model read.
func toolOf(t *testing.T, a *action.Actions, w *toolWorld, tool action.Tool, heard *[]string) (string, error) {
	t.Helper()
	tool.Name = "one"
	model := w.plugins()
	if a.Plugins = model; tool.Define != nil {
		answer := model.GenerateFn
		model.GenerateFn = func(ctx context.Context, target core.Target, reqs []*sdk.GenerateRequest) ([]sdk.GenerateResult, error) {
			if string(target.Config) == string(tool.Define) {
				return []sdk.GenerateResult{{Response: &sdk.GenerateResponse{Output: json.RawMessage(`{"description": "d", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}}`)}}}, nil
			}
			if target.Plugin == "model" && !strings.Contains(string(target.Config), `"tools":[{"description":"d","name":"one","parameters":{"type":"object"}}`) {
				t.Errorf("the model is offered %s", target.Config)
			}
			return answer(ctx, target, reqs)
		}
	}
	a.Steps = w
	step := action.Step{Plugin: "model", Config: action.Constant(`{"prompt": "How many?", "tools": [{"name": "one"}]}`), Tools: &action.Toolset{MaxSteps: 4, Tools: []action.Tool{tool}}}
	result, err := a.Act(t.Context(), &action.Request{RunID: "r", Visit: 1, Node: "n", State: json.RawMessage(`{}`), Action: &action.CallSpec{Step: step}, Given: func(ids []string) { *heard = append(*heard, ids...) }})
	if err != nil {
		return "", err
	}
	for line := range strings.SplitSeq(textOf(result.(*action.CallResult).Output), "\n") {
		if text, is := strings.CutPrefix(line, "tool c1 "); is {
			return text, nil
		}
	}
	return "", nil
}

func TestTools_RecallForTheModel(t *testing.T) {
	var heard []string
	w := newToolWorld()
	a := &action.Actions{Namespace: "ns", Memories: &memories{}}
	recall := &action.MemorySpec{Verb: action.VerbRecall, Request: action.Constant(`{"query": "q"}`)}
	got, err := toolOf(t, a, w, action.Tool{Recall: recall, Idempotent: true}, &heard)
	if err != nil || got != `{"memories":[{"id":"m7","content":"c"}]}` || !slices.Equal(w.given, []string{"m0", "m7", "m8"}) || !slices.Equal(heard, []string{"m0", "m7", "m8", "m7", "m8"}) {
		t.Errorf("%s, %v, given %v, heard %v", got, err, w.given, heard)
	}
	if asked := a.Memories.(*memories).recalled[0]; asked.Namespace != "ns" || asked.Session != "" || asked.Query != "q" {
		t.Errorf("%+v", asked)
	}
}

func TestTools_WorkflowsAreRunsOfTheirOwn(t *testing.T) {
	source := &core.Source{File: "inner.yaml"}
	for want, run := range map[string]*core.Run{
		"done":           {Status: core.StatusPassed, Result: json.RawMessage(`{"output": "done"}`)},
		`{"valid":true}`: {Status: core.StatusPassed, Result: json.RawMessage(`{"valid": true}`)},
		`error: the workflow is exhausted; its last output is "half"`: {Status: core.StatusExhausted, Result: json.RawMessage(`{"output": "half"}`)},
		"tool_interrupted": {Status: core.StatusError, Error: &core.ErrorInfo{Message: "it broke"}},
	} {
		ids := map[string]bool{}
		var heard []string
		a := &action.Actions{RunWorkflow: func(_ context.Context, id string, s core.Source, arguments json.RawMessage) (*core.Run, error) {
			ids[id] = true
			if s.File != source.File || !strings.Contains(string(arguments), `"n"`) || len(id) != 36 {
				t.Errorf("%s, %s, %s", id, s.File, arguments)
			}
			run.ID = id
			return run, nil
		}}
		got, err := toolOf(t, a, newToolWorld(), action.Tool{Workflow: source, Idempotent: true}, &heard)
		if got != want && sdk.ReasonOf(err) != want || len(ids) != 1 && err != nil || len(ids) != 2 && err == nil {
			t.Errorf("%s: %s, %v, runs %v", want, got, err, ids)
		}
	}
}

func TestTools_AreDefinedByTheirPlugin(t *testing.T) {
	var heard []string
	w := newToolWorld()
	tool := action.Tool{Step: action.Step{Plugin: "first"}, Define: json.RawMessage(`{"define":true}`)}
	if got, err := toolOf(t, &action.Actions{}, w, tool, &heard); err != nil || got != `first of {"n":1}` {
		t.Errorf("%s, %v", got, err)
	}
	for key, kept := range w.kept {
		if len(kept.Output) == 0 {
			t.Errorf("%s is noted before it is made, though it only reads", key)
		}
	}
}
