package loop_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core/loop"
	"github.com/reflectory/reflectory/sdk"
)

// says is a child that gives one verdict.
func says(name string, valid bool, score float64, more ...func(*sdk.Verdict)) loop.Child {
	v := sdk.Verdict{Valid: valid, Score: score}
	if !valid {
		v.Errors = []sdk.Finding{{Message: "no " + name}}
	}
	for _, m := range more {
		m(&v)
	}
	return loop.Child{Name: name, Weight: 1, Evaluator: sdk.EvaluatorFunc(
		func(context.Context, *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
			return &sdk.EvaluateResponse{Verdict: v, Usage: sdk.Usage{TokensIn: 1}}, nil
		})}
}

func failing(name string, err error) loop.Child {
	return loop.Child{Name: name, Evaluator: sdk.EvaluatorFunc(
		func(context.Context, *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) { return nil, err })}
}

func weighing(c loop.Child, weight float64) loop.Child {
	c.Weight = weight
	return c
}

func judge(t *testing.T, c loop.Composite) *sdk.EvaluateResponse {
	t.Helper()
	resp, err := c.Evaluate(t.Context(), &sdk.EvaluateRequest{Output: json.RawMessage("1")})
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func TestCompositesCombineTheirChildren(t *testing.T) {
	good, poor, bad := says("good", true, 0.9), says("poor", true, 0.6), says("bad", false, 0.2)
	fair := says("fair", true, 0.7)
	cases := []struct {
		name  string
		c     loop.Composite
		valid bool
		score float64
	}{
		{"all are valid", loop.Composite{Kind: loop.CompositeAll, Children: []loop.Child{good, poor}}, true, 0.6},
		{"not all are valid", loop.Composite{Kind: loop.CompositeAll, Children: []loop.Child{good, bad}}, false, 0.2},
		{"any is valid", loop.Composite{Kind: loop.CompositeAny, Children: []loop.Child{bad, poor}}, true, 0.6},
		{"none is valid", loop.Composite{Kind: loop.CompositeAny, Children: []loop.Child{bad, bad}}, false, 0.2},
		{"weighted reaches the default threshold", loop.Composite{Kind: loop.CompositeWeighted,
			Children: []loop.Child{weighing(good, 3), weighing(bad, 1)}}, true, (3*0.9 + 0.2) / 4},
		{"weighted misses it", loop.Composite{Kind: loop.CompositeWeighted,
			Children: []loop.Child{weighing(good, 1), weighing(bad, 1)}}, false, 0.55},
		{"weighted misses it by little", loop.Composite{Kind: loop.CompositeWeighted,
			Children: []loop.Child{weighing(fair, 99), weighing(poor, 1)}}, false, 0.699},
		{"weighted counts scores, not validity", loop.Composite{Kind: loop.CompositeWeighted,
			Children: []loop.Child{weighing(says("high", false, 0.9), 1), weighing(fair, 1)}}, true, 0.8},
		{"weighted with an own threshold", loop.Composite{Kind: loop.CompositeWeighted, Threshold: 0.5,
			Children: []loop.Child{weighing(good, 1), weighing(bad, 1)}}, true, 0.55},
		{"weights of binary fractions take nothing away", loop.Composite{Kind: loop.CompositeWeighted,
			Children: []loop.Child{weighing(fair, 0.1), weighing(fair, 0.2), weighing(fair, 0.3)}}, true, 0.7},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			v := judge(t, c.c).Verdict
			if v.Valid != c.valid || math.Abs(v.Score-c.score) > 1e-9 {
				t.Errorf("got valid=%t score=%g, want %t %g", v.Valid, v.Score, c.valid, c.score)
			}
		})
	}
}

func TestACompositeKeepsEachChildsVerdictAndNamesItsErrors(t *testing.T) {
	inner := loop.Composite{Kind: loop.CompositeAny, Children: []loop.Child{says("deep", false, 0.1)}}
	c := loop.Composite{Kind: loop.CompositeAll, Children: []loop.Child{
		says("first", false, 0.3, func(v *sdk.Verdict) { v.Feedback = "try harder" }),
		{Name: "second", Evaluator: &inner},
		says("third", true, 1, func(v *sdk.Verdict) { v.Output = json.RawMessage(`3`) }),
		says("fourth", true, 1, func(v *sdk.Verdict) { v.Output = json.RawMessage(`4`) }),
	}}
	resp := judge(t, c)
	want := []sdk.Finding{{Message: "no first", Source: "first"}, {Message: "no deep", Source: "second/deep"}}
	if diff := cmp.Diff(want, resp.Verdict.Errors); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	if got := string(resp.Verdict.Output); got != "3" {
		t.Errorf("output %s: the first child that sets one wins", got)
	}
	if got := resp.Verdict.Feedback; got != "first: try harder" {
		t.Errorf("feedback %q", got)
	}
	if got := resp.Verdict.Children["second"].Children["deep"].Score; got != 0.1 || len(resp.Verdict.Children) != 4 {
		t.Errorf("children %v", resp.Verdict.Children)
	}
	if resp.Usage.TokensIn != 4 {
		t.Errorf("usage %v: every child's counts", resp.Usage)
	}
}

func TestErrorsStandInListOrderWhoeverEndsFirst(t *testing.T) {
	ended := make(chan struct{})
	after := func(child loop.Child, done func()) loop.Child {
		inner := child.Evaluator
		child.Evaluator = sdk.EvaluatorFunc(func(ctx context.Context, req *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
			done()
			return inner.Evaluate(ctx, req)
		})
		return child
	}
	c := loop.Composite{Kind: loop.CompositeAny, Children: []loop.Child{
		after(says("z", false, 0.3), func() { <-ended }), after(says("a", false, 0.2), func() { close(ended) }),
	}}
	want := []sdk.Finding{{Message: "no z", Source: "z"}, {Message: "no a", Source: "a"}}
	if diff := cmp.Diff(want, judge(t, c).Verdict.Errors); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
}

func TestAChildsFailureIsTheComposites(t *testing.T) {
	broken := sdk.Errorf(sdk.Unavailable, "plugin_exited", "gone")
	for _, kind := range []loop.CompositeKind{loop.CompositeAll, loop.CompositeAny, loop.CompositeWeighted} {
		for _, failFast := range []bool{false, true} {
			c := loop.Composite{Kind: kind, FailFast: failFast, Children: []loop.Child{
				says("good", true, 1), failing("broken", broken), says("other", true, 1),
			}}
			_, err := c.Evaluate(t.Context(), &sdk.EvaluateRequest{})
			if !errors.Is(err, broken) || !sdk.Transient(err) || err.Error() != "evaluator broken: gone" {
				t.Errorf("%s, fail_fast %t: %v", kind, failFast, err)
			}
			if want := map[bool]int64{false: 2, true: 1}[failFast]; sdk.UsageOf(err).TokensIn != want {
				t.Errorf("%s, fail_fast %t: the children that answered used %v", kind, failFast, sdk.UsageOf(err))
			}
		}
	}
}

func TestAVerdictOfNaNIsTheChildsFailure(t *testing.T) {
	c := loop.Composite{Kind: loop.CompositeAny, Children: []loop.Child{says("good", true, 1), says("odd", true, math.NaN())}}
	_, err := c.Evaluate(t.Context(), &sdk.EvaluateRequest{})
	if sdk.ReasonOf(err) != "score_not_finite" || sdk.UsageOf(err).TokensIn != 2 {
		t.Errorf("%v, usage %v", err, sdk.UsageOf(err))
	}
}

func TestChildrenThatAllAnsweredHaveJudgedWhateverEndedMeanwhile(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	good := says("good", true, 1)
	last := loop.Child{Name: "last", Evaluator: sdk.EvaluatorFunc(
		func(ctx context.Context, req *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
			cancel()
			return good.Evaluator.Evaluate(ctx, req)
		})}
	c := loop.Composite{Kind: loop.CompositeAll, Children: []loop.Child{good, last}}
	if resp, err := c.Evaluate(ctx, &sdk.EvaluateRequest{}); err != nil || !resp.Verdict.Valid {
		t.Errorf("%+v, %v", resp, err)
	}
}

func TestFailFastLeavesOutAFailureBehindTheFirstThatIsNotValid(t *testing.T) {
	for kind, want := range map[loop.CompositeKind]float64{loop.CompositeAll: 0.3, loop.CompositeAny: 0.3, loop.CompositeWeighted: 0.15} {
		c := loop.Composite{Kind: kind, FailFast: true, Children: []loop.Child{
			says("bad", false, 0.3), weighing(failing("broken", errors.New("gone")), 1),
		}}
		if v := judge(t, c).Verdict; v.Valid || v.Score != want || len(v.Children) != 1 {
			t.Errorf("%s: %+v, want a score of %g", kind, v, want)
		}
	}
}

func TestFailFastStopsAtTheFirstThatIsNotValid(t *testing.T) {
	var order []string
	child := func(name string, valid bool) loop.Child {
		return loop.Child{Name: name, Evaluator: sdk.EvaluatorFunc(
			func(context.Context, *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
				order = append(order, name)
				return &sdk.EvaluateResponse{Verdict: sdk.Verdict{Valid: valid, Score: 0.5}}, nil
			})}
	}
	c := loop.Composite{Kind: loop.CompositeAll, FailFast: true,
		Children: []loop.Child{child("a", true), child("b", false), child("c", true)}}
	if v := judge(t, c).Verdict; v.Valid || len(v.Children) != 2 {
		t.Errorf("got %+v", v)
	}
	if diff := cmp.Diff([]string{"a", "b"}, order); diff != "" {
		t.Error(diff)
	}
}

func TestChildrenRunInParallel(t *testing.T) {
	meet := make(chan struct{})
	waits := func(name string, here, there chan struct{}) loop.Child {
		return loop.Child{Name: name, Evaluator: sdk.EvaluatorFunc(
			func(ctx context.Context, _ *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
				select {
				case here <- struct{}{}:
				case <-there:
				case <-ctx.Done():
				}
				return &sdk.EvaluateResponse{Verdict: sdk.Verdict{Valid: true, Score: 1}}, ctx.Err()
			})}
	}
	c := loop.Composite{Kind: loop.CompositeAll, Children: []loop.Child{waits("a", meet, nil), waits("b", nil, meet)}}
	if !judge(t, c).Verdict.Valid {
		t.Error("the children did not meet")
	}
}

// seer is a child that notes what it is shown, and passes it.
func seer(name string, seen *[]string, more ...func(*sdk.Verdict)) loop.Child {
	return loop.Child{Name: name, Weight: 1, Evaluator: sdk.EvaluatorFunc(
		func(_ context.Context, req *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
			var state struct {
				Output json.RawMessage `json:"reflection_output"`
				Other  int             `json:"other"`
			}
			if err := json.Unmarshal(req.State, &state); err != nil || state.Other != 7 {
				return nil, errors.New("the state is another")
			}
			*seen = append(*seen, name+" "+string(req.Output)+" "+string(state.Output))
			resp := &sdk.EvaluateResponse{Verdict: sdk.Verdict{Valid: true, Score: 1}}
			for _, m := range more {
				m(&resp.Verdict)
			}
			return resp, nil
		})}
}

func giving(output string) func(*sdk.Verdict) {
	return func(v *sdk.Verdict) { v.Output = json.RawMessage(output) }
}

func TestFailFastShowsEachChildWhatAnEarlierOneParsed(t *testing.T) {
	var seen []string
	c := loop.Composite{Kind: loop.CompositeAll, FailFast: true, Children: []loop.Child{
		seer("a", &seen), seer("b", &seen, giving(`{"n":1}`)), seer("c", &seen, giving(`{"n":2}`)), seer("d", &seen),
	}}
	resp, err := c.Evaluate(t.Context(), &sdk.EvaluateRequest{
		State: json.RawMessage(`{"other":7,"reflection_output":"text"}`), Output: json.RawMessage(`"text"`),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`a "text" "text"`, `b "text" "text"`, `c {"n":1} {"n":1}`, `d {"n":1} {"n":1}`}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if string(resp.Verdict.Output) != `{"n":1}` {
		t.Errorf("the output became %s", resp.Verdict.Output)
	}
}
