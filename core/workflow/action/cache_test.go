package action_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/workflow/action"
	"github.com/reflectory/reflectory/sdk"
)

// replies is a cache of replies that can be made to fail.
type replies struct {
	kept  map[string]*core.Reply
	given []string // the memories of the last call
	err   error
}

func (r *replies) Reply(_ context.Context, digest string, memories []string) (*core.Reply, error) {
	r.given = memories
	return r.kept[digest], r.err
}

func (r *replies) KeepReply(_ context.Context, digest string, reply *core.Reply, memories []string) error {
	if r.err == nil {
		r.kept[digest] = reply
	}
	return r.err
}

func TestCachedCalls_AreMadeOnce(t *testing.T) {
	corrector := echo(`{"tries":2}`)
	plain := echo(`1`)
	cached := echo(`1`)
	corrector.Cache, cached.Cache = true, true
	for name, c := range map[string]struct {
		action action.Spec
		err    error
		want   []int // calls of the first and the second run
	}{
		"a call":                              {&action.CallSpec{Step: cached}, nil, []int{1, 0}},
		"without cache":                       {&action.CallSpec{Step: plain}, nil, []int{1, 1}},
		"where the cache fails":               {&action.CallSpec{Step: cached}, errors.New("disk"), []int{1, 1}},
		"a correction":                        {&action.CorrectSpec{Corrector: corrector, Data: action.Constant(`1`)}, nil, []int{1, 0}},
		"each try of a loop, not its verdict": {&action.LoopSpec{Generator: cached, Evaluator: echo(`2`)}, nil, []int{6, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			cache := &replies{kept: map[string]*core.Reply{}, err: c.err}
			var results []string
			for run, want := range c.want {
				var calls []string
				a := &action.Actions{Plugins: plugins(&calls), Replies: cache}
				result, err := a.Act(t.Context(), &action.Request{
					RunID: fmt.Sprint("run", run), Visit: 1, Node: "n", State: json.RawMessage(`{}`), Action: c.action, Memories: []string{"m1"},
				})
				if err != nil {
					t.Fatal(err)
				}
				if len(calls) != want {
					t.Errorf("run %d makes %d calls, want %d: %q", run+1, len(calls), want, calls)
				}
				var output struct{ Output json.RawMessage }
				if err := json.Unmarshal(jsontext.MustEncode(result), &output); err != nil {
					t.Fatal(err)
				}
				results = append(results, string(output.Output))
			}
			if results[0] == "" || results[0] != results[1] {
				t.Errorf("the outputs differ: %q", results)
			}
			if name != "without cache" && !cmp.Equal(cache.given, []string{"m1"}) {
				t.Errorf("the cache gets %q", cache.given)
			}
		})
	}
}

// TestCachedCalls_StayInTheirNamespace: another namespace that asks the same asks the model.
func TestCachedCalls_StayInTheirNamespace(t *testing.T) {
	cached := echo(`1`)
	cached.Cache = true
	cache := &replies{kept: map[string]*core.Reply{}}
	for _, c := range []struct {
		namespace string
		want      int
	}{{"a", 1}, {"b", 1}, {"a", 0}} {
		var calls []string
		a := &action.Actions{Plugins: plugins(&calls), Replies: cache, Namespace: c.namespace}
		_, err := a.Act(t.Context(), &action.Request{
			RunID: "run", Visit: 1, Node: "n", State: json.RawMessage(`{}`), Action: &action.CallSpec{Step: cached},
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(calls) != c.want {
			t.Errorf("in %s it makes %d calls, want %d", c.namespace, len(calls), c.want)
		}
	}
}

// TestCachedCalls_NotOfMarkedReplies: a reply that its plugin marks is only good once.
func TestCachedCalls_NotOfMarkedReplies(t *testing.T) {
	cached := echo(`1`)
	cached.Cache = true
	cache, calls := &replies{kept: map[string]*core.Reply{}}, 0
	a := &action.Actions{Replies: cache, Plugins: &coretest.Plugins{
		GenerateFn: func(context.Context, core.Target, []*sdk.GenerateRequest) ([]sdk.GenerateResult, error) {
			calls++
			return []sdk.GenerateResult{{Response: &sdk.GenerateResponse{Output: json.RawMessage(`1`), Metadata: map[string]string{sdk.MetadataNotCached: "prompt_cut"}}}}, nil
		},
	}}
	for range 2 {
		if _, err := a.Act(t.Context(), &action.Request{RunID: "r", Visit: 1, Node: "n", State: json.RawMessage(`{}`), Action: &action.CallSpec{Step: cached}}); err != nil {
			t.Fatal(err)
		}
	}
	if calls != 2 || len(cache.kept) != 0 {
		t.Errorf("%d calls, %d replies are kept", calls, len(cache.kept))
	}
}
