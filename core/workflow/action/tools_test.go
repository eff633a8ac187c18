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
	*replies
	// made and asked count the calls by idempotency key.
	made, asked map[string]int
	// operations are counted down; at 0 the world is killed, before or after the operation's effect.
	left  int
	after bool
	dead  bool
	// fails is what the tools return; unusable is what the model asks for instead.
	fails error
	loops bool
	seen  []string // the messages of the last question
}

func newToolWorld() *toolWorld {
	return &toolWorld{replies: &replies{kept: map[string]*core.Reply{}}, made: map[string]int{}, asked: map[string]int{}, left: -1}
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

func (w *toolWorld) KeepReply(ctx context.Context, digest string, reply *core.Reply, memories []string) error {
	return w.operation(func() { _ = w.replies.KeepReply(ctx, digest, reply, memories) })
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
		{Name: "one", Step: action.Step{Plugin: "first"}}, {Name: "two", Step: action.Step{Plugin: "second"}},
	}}}
	a := &action.Actions{Plugins: w.plugins(), Replies: w}
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
