package action_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/workflow/action"
	"github.com/reflectory/reflectory/sdk"
)

// memories notes the requests that it is asked with.
type memories struct {
	observed  []*core.ObserveRequest
	reflected []*core.ReflectRequest
	recalled  []*core.RecallRequest
	fed       []*core.FeedbackRequest
}

func (m *memories) Feedback(_ context.Context, r *core.FeedbackRequest) (*core.FeedbackResult, error) {
	m.fed = append(m.fed, r)
	return &core.FeedbackResult{Session: r.Session, Turn: r.Turn, Outcome: r.Outcome}, nil
}

func (m *memories) Observe(_ context.Context, r *core.ObserveRequest) (*core.Memory, error) {
	m.observed = append(m.observed, r)
	return &core.Memory{ID: "m1", Content: r.Content}, nil
}

func (m *memories) Reflect(_ context.Context, r *core.ReflectRequest) (*core.ReflectResult, error) {
	m.reflected = append(m.reflected, r)
	return &core.ReflectResult{ID: "r1"}, nil
}

func (m *memories) Recall(_ context.Context, r *core.RecallRequest) (*core.RecallResult, error) {
	m.recalled = append(m.recalled, r)
	return &core.RecallResult{Memories: []core.Recalled{{Memory: &core.Memory{ID: "m7", Content: "c"}, SameAs: []string{"m8"}}}}, nil
}

func remember(m core.Memories, verb action.MemoryVerb, request string) (any, error) {
	a := &action.Actions{Memories: m, Namespace: "the/run"}
	return a.Act(context.Background(), &action.Request{
		RunID: "run", Visit: 7, Node: "n", State: []byte("{}"), Session: "run", Turn: core.TurnRef{Session: "run", Turn: 3},
		Action: &action.MemorySpec{Verb: verb, Request: action.Constant(request)},
	})
}

func TestMemoryActionsAskTheMemory(t *testing.T) {
	m := &memories{}
	if got, err := remember(m, action.VerbObserve, `{"namespace":"n","content":"c"}`); err != nil || got.(*core.Memory).ID != "m1" {
		t.Errorf("observe: %v, error %v", got, err)
	}
	if got, err := remember(m, action.VerbReflect, `{"source_ids":["m1"],"content":"c"}`); err != nil || got.(*core.ReflectResult).ID != "r1" {
		t.Errorf("reflect: %v, error %v", got, err)
	}
	if _, err := remember(m, action.VerbRecall, `{"query":"q","session":"s"}`); err != nil {
		t.Errorf("recall: %v", err)
	}
	// A killed run does the visit again: the key makes that the same memory.
	if key := m.observed[0].IdempotencyKey; key != "run:run:7" {
		t.Errorf("the key of an observation is %q", key)
	}
	if key := m.reflected[0].IdempotencyKey; key != "run:run:7" {
		t.Errorf("the key of a reflection is %q", key)
	}
	if m.observed[0].Namespace != "n" || m.recalled[0].Namespace != "the/run" || m.reflected[0].Namespace != "" {
		t.Errorf("namespaces %q, %q, %q: a request's own, else the run's, and a reflection's is its source's",
			m.observed[0].Namespace, m.recalled[0].Namespace, m.reflected[0].Namespace)
	}
	if _, err := remember(m, action.VerbRecall, `{"query":"q"}`); err != nil {
		t.Errorf("recall: %v", err)
	}
	if m.recalled[0].Session != "s" || m.recalled[0].Turn != 0 || m.recalled[1].Session != "run" {
		t.Errorf("recalls of %+v and %+v: the session is a request's own, else the run's, and the turn its next", m.recalled[0], m.recalled[1])
	}
}

func TestFeedbackEndsTheRunsTurnOrNamesWhatWasUsed(t *testing.T) {
	m := &memories{}
	got, err := remember(m, action.VerbFeedback, `{"outcome":"success","used":["a"],"source":"user","agent_id":"mine"}`)
	if err != nil || len(m.fed) != 1 || m.fed[0].Session != "run" || m.fed[0].Turn != 3 || m.fed[0].AgentID != "mine" || got.(*core.FeedbackResult).Turn != 3 {
		t.Errorf("%+v, %v after %+v", got, err, m.fed)
	}
	if _, err := remember(m, action.VerbFeedback, `{"outcome":"success","session":"s","turn":9}`); err != nil || m.fed[1].Session != "s" || m.fed[1].Turn != 9 {
		t.Errorf("%v after %+v", err, m.fed)
	}
	for _, half := range []string{`"turn":3`, `"session":"run"`} {
		if _, err := remember(m, action.VerbFeedback, `{"outcome":"success",`+half+`}`); err != nil || m.fed[len(m.fed)-1].Session != "run" || m.fed[len(m.fed)-1].Turn != 3 {
			t.Errorf("with only %s: %v after %+v", half, err, m.fed)
		}
	}
	if _, err := remember(m, action.VerbFeedback, `{"outcome":"success","session":"other"}`); sdk.ReasonOf(err) != "turn_missing" {
		t.Errorf("of another session, without a turn: %v", err)
	}
	got, err = remember(m, action.VerbFeedback, `{"used":["a"]}`)
	if want := (action.UsesNamed{Session: "run", Turn: 3, Used: []string{"a"}}); err != nil || len(m.fed) != 4 || !cmp.Equal(*got.(*action.UsesNamed), want) {
		t.Errorf("%+v, %v", got, err)
	}
	a := &action.Actions{Memories: m}
	_, err = a.Act(t.Context(), &action.Request{Action: &action.MemorySpec{Verb: action.VerbFeedback, Request: action.Constant(`{"outcome":"success"}`)}})
	if sdk.ReasonOf(err) != "turn_missing" {
		t.Errorf("without a turn: %v", err)
	}
}

func TestMemoryActionsRefuse(t *testing.T) {
	cases := []struct {
		name     string
		memories core.Memories
		request  string
		reason   string
	}{
		{"without a memory", nil, `{"namespace":"n","content":"c"}`, "memory_not_available"},
		{"a value of a wrong type", &memories{}, `{"namespace":"n","content":["c"]}`, "memory_request_invalid"},
		{"an unknown key", &memories{}, `{"namespace":"n","contents":"c"}`, "memory_request_invalid"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := remember(c.memories, action.VerbObserve, c.request)
			if sdk.ReasonOf(err) != c.reason || strings.TrimSpace(sdk.AsError(err).Hint) == "" {
				t.Errorf("error %v with hint %q, want reason %s", err, sdk.AsError(err).Hint, c.reason)
			}
		})
	}
}

// TestMemoryActions_TakeWholeNumbersAsIntegers, however they are written.
func TestMemoryActions_TakeWholeNumbersAsIntegers(t *testing.T) {
	for _, five := range []string{"5", "5.0", "5e0", "5E+0", "50e-1", "0.5e1", "5.000", "500.0e-2"} {
		m := &memories{}
		_, err := remember(m, action.VerbObserve, `{"content":"c","priority":`+five+`,"importance":1.0,"metadata":{"n":`+five+`}}`)
		if err != nil || *m.observed[0].Priority != 5 || string(m.observed[0].Metadata) != `{"n":`+five+`}` {
			t.Errorf("observe with %s: %v", five, err)
		}
		if _, err := remember(m, action.VerbRecall, `{"query":"q","limit":`+five+`,"turn":`+five+`,"session":"s"}`); err != nil || m.recalled[0].Limit != 5 || m.recalled[0].Turn != 5 {
			t.Errorf("recall with %s: %v", five, err)
		}
		if _, err := remember(m, action.VerbReflect, `{"source_ids":["m1"],"title":"t","content":"c","depth":`+five+`}`); err != nil || *m.reflected[0].Depth != 5 {
			t.Errorf("reflect with %s: %v", five, err)
		}
	}
	for _, no := range []string{"5.5", "5e-1", `"5"`, "true"} {
		if _, err := remember(&memories{}, action.VerbObserve, `{"content":"c","priority":`+no+`}`); sdk.ReasonOf(err) != "memory_request_invalid" {
			t.Errorf("priority %s: %v", no, err)
		}
	}
}
