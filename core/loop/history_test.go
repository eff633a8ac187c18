package loop_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/loop"
	"github.com/reflectory/reflectory/sdk"
)

func TestMain(m *testing.M) { os.Exit(coretest.WithPlain(m).Run()) }

func TestTheHistoryThatPluginsSeeGrowsLinearly(t *testing.T) {
	sizes := map[int]int{}
	o := (&world{}).options(loop.Limits{MaxIterations: 40, HistoryLimit: 40})
	o.Evaluator = sdk.EvaluatorFunc(func(_ context.Context, req *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
		sizes[req.Iteration] = len(req.State)
		return &sdk.EvaluateResponse{}, nil
	})
	if _, err := loop.Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	first, second := sizes[20]-sizes[10], sizes[40]-sizes[30]
	if second > first+20 { // iteration numbers get a digit
		t.Errorf("10 iterations added %d bytes at first and %d later", first, second)
	}
}

func TestAnOutputThatHoldsTheStateDoesNotNestTheHistory(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	for name, form := range map[string]string{"as it is": "%s", "in an object": `{"seen":%s}`, "in a list": `{"a":[[%s]]}`} {
		t.Run(name, func(t *testing.T) { holdsTheState(t, form) })
	}
}

func holdsTheState(t *testing.T, form string) {
	sizes := map[int]int{}
	score := 0.0
	o := (&world{}).options(loop.Limits{MaxIterations: 40})
	o.Corrector = nil
	o.Generator = sdk.GeneratorFunc(func(_ context.Context, req *sdk.GenerateRequest) (*sdk.GenerateResponse, error) {
		return &sdk.GenerateResponse{Output: fmt.Appendf(nil, form, req.State)}, nil
	})
	o.Evaluator = sdk.EvaluatorFunc(func(_ context.Context, req *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
		sizes[req.Iteration] = len(req.Output)
		if len(req.Output) > 1<<20 {
			return nil, sdk.Errorf(sdk.Exhausted, "nested", "iteration %d has %d bytes", req.Iteration, len(req.Output))
		}
		score += 0.01 // each is the best so far
		return &sdk.EvaluateResponse{Verdict: sdk.Verdict{Score: score}}, nil
	})
	r, err := loop.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if first, second := sizes[30]-sizes[25], sizes[40]-sizes[35]; second > first+first/5 { // the history is full by then
		t.Errorf("5 iterations added %d bytes at first and %d later", first, second)
	}
	if last := r.History[39].Output; !strings.Contains(string(last), `"reflection_history"`) {
		t.Errorf("the result's output isn't as it was made: %s", last)
	}
}

func TestPluginsAreSentTheNewestTwentyAttemptsByDefault(t *testing.T) {
	var last []sdk.HistoryEntry
	o := &loop.Options{Generator: always(`1`), Limits: loop.Limits{MaxIterations: 23}}
	o.Evaluator = sdk.EvaluatorFunc(func(_ context.Context, req *sdk.EvaluateRequest) (_ *sdk.EvaluateResponse, err error) {
		last, err = sdk.History(req.State)
		return &sdk.EvaluateResponse{}, err
	})
	r, err := loop.Run(t.Context(), o)
	if err != nil || len(r.History) != 23 {
		t.Fatalf("the result has %d attempts, %v", len(r.History), err)
	}
	if len(last) != 20 || last[0].Iteration != 3 || last[19].Iteration != 22 {
		t.Errorf("%d entries, the first of iteration %d", len(last), last[0].Iteration)
	}
}

func TestLargeAttemptsAreSentAsFarAsTheyFit(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	for size, want := range map[int][]int{
		100 << 10: {1, 2, 3, 4}, 600 << 10: {2, 3, 4}, 1<<21 - 1<<8: {4}, 1 << 21: nil,
	} {
		var seen []int
		var best int
		o := &loop.Options{Generator: always(`"` + strings.Repeat("x", size) + `"`), Limits: loop.Limits{MaxIterations: 5}}
		o.Evaluator = sdk.EvaluatorFunc(func(_ context.Context, req *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
			if req.Iteration < 5 {
				return &sdk.EvaluateResponse{}, nil
			}
			history, err := sdk.History(req.State)
			for _, h := range history {
				seen = append(seen, h.Iteration)
			}
			best = strings.Count(string(req.State), `"reflection_best":"xx`)
			return &sdk.EvaluateResponse{}, err
		})
		r, err := loop.Run(t.Context(), o)
		if err != nil || !slices.Equal(seen, want) || best != 1 || len(r.History) != 5 {
			t.Errorf("%d bytes: the last call was sent %v, want %v; %d in the result, %v", size, seen, want, len(r.History), err)
		}
	}
}

func TestAPatchThatHoldsTheStateDoesNotNestTheHistory(t *testing.T) {
	var sizes []int
	o := &loop.Options{
		Limits: loop.Limits{MaxIterations: 40, CorrectMode: loop.CorrectRegenerate, HistoryLimit: 1},
		Generator: sdk.GeneratorFunc(func(_ context.Context, req *sdk.GenerateRequest) (*sdk.GenerateResponse, error) {
			sizes = append(sizes, len(req.State))
			return &sdk.GenerateResponse{Output: []byte(`"an output of some length"`)}, nil
		}),
		Corrector: sdk.CorrectorFunc(func(_ context.Context, req *sdk.CorrectRequest) (*sdk.CorrectResponse, error) {
			return &sdk.CorrectResponse{Output: fmt.Appendf(nil, `{"seen":%s}`, req.State)}, nil
		}),
		Evaluator: says("any", false, 0).Evaluator,
	}
	if _, err := loop.Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if added := (sizes[39] - sizes[19]) / 20; added > 20 { // {"seen":} each time
		t.Errorf("each iteration adds %d bytes", added)
	}
}
