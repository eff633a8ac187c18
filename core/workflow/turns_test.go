package workflow_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/workflow"
	"github.com/reflectory/reflectory/core/workflow/action"
)

// class is a teacher that notes what it is given.
type class struct {
	feedbacks []*core.FeedbackRequest
	dags      []*core.WorkflowDAG
	tools     []core.ToolOutcome
	err       error
}

func (c *class) AddTools(_ context.Context, outcomes []core.ToolOutcome) error {
	c.tools = append(c.tools, outcomes...)
	return c.err
}

func (c *class) Feedback(_ context.Context, r *core.FeedbackRequest) (*core.FeedbackResult, error) {
	c.feedbacks = append(c.feedbacks, r)
	return &core.FeedbackResult{}, c.err
}

func (c *class) AddDAG(_ context.Context, dag *core.WorkflowDAG) error {
	c.dags = append(c.dags, dag)
	return c.err
}

// pupils answer the nodes of recalling workflows: each recall finds two memories
// under its node's name, in the session's next turn.
type pupils struct {
	loop   *core.LoopResult // the result of every loop
	later  *core.LoopResult // what all but the first do; nil for the same
	fail   error            // of the node named last
	used   []string         // named by plugins
	closes bool             // what feedback does
	score  float64          // of evaluations, which are never valid
	turn   int64            // of all recalls; 0 for one each
	asked  []*action.Request
}

func (p *pupils) Act(_ context.Context, req *action.Request) (any, error) {
	p.asked = append(p.asked, req)
	note := func(s action.Step) {
		if req.Note != nil {
			req.Note(s.Refers, p.used)
		}
	}
	switch s := req.Action.(type) {
	case *action.MemorySpec:
		if s.Verb == action.VerbFeedback && p.closes {
			return &core.FeedbackResult{Session: req.Turn.Session, Turn: req.Turn.Turn, Outcome: core.OutcomeFailure, Items: []core.FeedbackItem{{ID: "tips-1", Used: true}, {ID: "tips-2", Used: true}, {ID: "tips-3"}}}, nil
		}
		if s.Verb == action.VerbFeedback {
			return &action.UsesNamed{Session: req.Turn.Session, Turn: req.Turn.Turn, Used: []string{"tips-2", "stranger"}}, nil
		}
		result := &core.RecallResult{Session: req.Session, Turn: p.turn}
		if p.turn == 0 {
			result.Turn = int64(req.Visit)
		}
		for n := range 2 {
			result.Memories = append(result.Memories, core.Recalled{Memory: &core.Memory{ID: fmt.Sprintf("%s-%d", req.Node, n+1)}})
		}
		return result, nil
	case *action.LoopSpec:
		note(s.Generator)
		result := p.loop
		if p.later != nil {
			p.loop = p.later
		}
		return result, nil
	case *action.EvaluateSpec:
		return &action.EvaluateResult{Score: p.score}, nil
	case *action.CallSpec:
		note(s.Step)
	}
	if req.Node == "last" && p.fail != nil {
		return nil, p.fail
	}
	return &action.CallResult{Output: json.RawMessage(`1`)}, nil
}

const (
	recallNode   = "- {name: %s, action: memory.recall, with: {query: q}}\n"
	judgeNode    = "- {name: judge, action: reflection.evaluate, with: {evaluator: {run: x}, data: 1}}\n"
	feedbackNode = "- {name: f, action: memory.feedback, with: {outcome: failure}}\n"
	loopNode     = "- {name: work, action: reflection.loop, with: {generator: {run: 'return state.tips'}, evaluator: {run: x}}}\n"
	callNode     = "- {name: last, action: lua.run, with: {code: '%s'}}\n"
)

func loopOf(status core.Status, iteration int, best float64) *core.LoopResult {
	return &core.LoopResult{Status: status, Iteration: iteration, Best: core.Best{Score: best}}
}

func teach(t *testing.T, p *pupils, nodes string) (*class, *core.Run, []core.Visit) {
	t.Helper()
	plan, err := load("name: lesson\nnodes:\n" + nodes)
	if err != nil {
		t.Fatal(err)
	}
	c, r := &class{}, &recorder{}
	run := &core.Run{ID: "run", State: json.RawMessage(`{}`)}
	runner := workflow.Runner{Actions: p, Recorder: r, Reporter: c, Clock: fixedClock{}}
	if err := runner.Run(t.Context(), plan, run, core.Progress{}); err != nil && p.fail == nil {
		t.Fatal(err)
	}
	return c, run, r.visits
}

func TestARunsEndIsTheFeedbackOfItsRecalls(t *testing.T) {
	tips := fmt.Sprintf(recallNode, "tips")
	tool := func(ok, recovered bool) []core.ToolOutcome {
		return []core.ToolOutcome{{Tool: "reflectory/lua-eval", OK: ok, Recovered: recovered, Ref: "run"}}
	}
	passed := loopOf(core.StatusPassed, 1, 1)
	for name, c := range map[string]struct {
		pupils *pupils
		nodes  string
		want   []core.FeedbackRequest
	}{
		"passed at once": {&pupils{loop: passed}, tips + loopNode,
			[]core.FeedbackRequest{{Turn: 1, Outcome: "success", Assumed: []string{"tips-1"}, ToolOutcomes: tool(true, false)}}},
		"its output shows what was used": {&pupils{loop: &core.LoopResult{Status: core.StatusPassed, Iteration: 1, Best: passed.Best, Output: json.RawMessage(`{"a": ["text", 7, null, true]}`)}}, tips + loopNode,
			[]core.FeedbackRequest{{Turn: 1, Outcome: "success", Assumed: []string{"tips-1"}, Reply: "a\ntext\n", ToolOutcomes: tool(true, false)}}},
		"passed later": {&pupils{loop: loopOf(core.StatusPassed, 3, 1)}, tips + loopNode,
			[]core.FeedbackRequest{{Turn: 1, Outcome: "success", Assumed: []string{"tips-1"}, ToolOutcomes: tool(false, true)}}},
		"passed at the second attempt": {&pupils{loop: loopOf(core.StatusPassed, 2, 1)}, tips + loopNode,
			[]core.FeedbackRequest{{Turn: 1, Outcome: "success", Assumed: []string{"tips-1"}, ToolOutcomes: tool(false, true)}}},
		"two loops, of which the last counts": {
			&pupils{loop: passed, later: loopOf(core.StatusExhausted, 3, 0.4)}, tips + loopNode + strings.Replace(loopNode, "work", "again", 1),
			[]core.FeedbackRequest{{Turn: 1, Outcome: "failure", Assumed: []string{"tips-1"}, ToolOutcomes: []core.ToolOutcome{tool(true, false)[0], {Tool: "reflectory/lua-eval", Ref: "run.2"}}}}},
		"exhausted": {&pupils{loop: loopOf(core.StatusExhausted, 3, 0.4)}, tips + loopNode,
			[]core.FeedbackRequest{{Turn: 1, Outcome: "failure", Assumed: []string{"tips-1"}, ToolOutcomes: tool(false, false)}}},
		"exhausted, nearly right": {&pupils{loop: loopOf(core.StatusExhausted, 3, 0.5)}, tips + loopNode,
			[]core.FeedbackRequest{{Turn: 1, Outcome: "partial", Assumed: []string{"tips-1"}, ToolOutcomes: tool(false, false)}}},
		"raised, nearly right": {&pupils{loop: loopOf(core.StatusRaised, 3, 0.9)}, tips + loopNode,
			[]core.FeedbackRequest{{Turn: 1, Outcome: "partial", Assumed: []string{"tips-1"}, ToolOutcomes: tool(false, false)}}},
		"exhausted, then a loop that passed": {
			&pupils{loop: loopOf(core.StatusExhausted, 3, 0.4), later: passed}, tips + loopNode + strings.Replace(loopNode, "work", "again", 1),
			[]core.FeedbackRequest{{Turn: 1, Outcome: "failure", Assumed: []string{"tips-1"}, ToolOutcomes: []core.ToolOutcome{tool(false, false)[0], {Tool: "reflectory/lua-eval", OK: true, Ref: "run.2"}}}}},
		"nearly right, then a loop that passed": {
			&pupils{loop: loopOf(core.StatusExhausted, 3, 0.5), later: passed}, tips + loopNode + strings.Replace(loopNode, "work", "again", 1),
			[]core.FeedbackRequest{{Turn: 1, Outcome: "partial", Assumed: []string{"tips-1"}, ToolOutcomes: []core.ToolOutcome{tool(false, false)[0], {Tool: "reflectory/lua-eval", OK: true, Ref: "run.2"}}}}},
		"exhausted, then another node": {&pupils{loop: loopOf(core.StatusExhausted, 3, 0.4)}, tips + loopNode + fmt.Sprintf(callNode, "return 1"),
			[]core.FeedbackRequest{{Turn: 1, Outcome: "failure", Assumed: []string{"tips-1"}, ToolOutcomes: tool(false, false)}}},
		"exhausted, then visited again and passed": {
			&pupils{loop: loopOf(core.StatusExhausted, 3, 0.4), later: passed},
			tips + strings.Replace(loopNode, "}}}\n", "}}, goto: [{when: has last, to: end}]}\n", 1) + "- {name: last, action: lua.run, with: {code: x}, goto: [{to: work}]}\n",
			[]core.FeedbackRequest{{Turn: 1, Outcome: "success", Assumed: []string{"tips-1"}, ToolOutcomes: []core.ToolOutcome{tool(false, false)[0], {Tool: "reflectory/lua-eval", OK: true, Ref: "run.2"}}}}},
		"it may be exhausted": {&pupils{loop: loopOf(core.StatusExhausted, 3, 0.4)}, tips + strings.Replace(loopNode, "}}}", "}, on_exhausted: continue}}", 1),
			[]core.FeedbackRequest{{Turn: 1, Outcome: "partial", Assumed: []string{"tips-1"}, ToolOutcomes: tool(false, false)}}},
		"it may be exhausted, and passed": {&pupils{loop: passed}, tips + strings.Replace(loopNode, "}}}", "}, on_exhausted: continue}}", 1),
			[]core.FeedbackRequest{{Turn: 1, Outcome: "success", Assumed: []string{"tips-1"}, ToolOutcomes: tool(true, false)}}},
		"an evaluation that isn't valid": {&pupils{}, tips + judgeNode,
			[]core.FeedbackRequest{{Turn: 1, Outcome: "failure"}}},
		"an evaluation that isn't valid, nearly right": {&pupils{score: 0.5}, tips + judgeNode,
			[]core.FeedbackRequest{{Turn: 1, Outcome: "partial"}}},
		"without a loop": {&pupils{}, tips + fmt.Sprintf(callNode, `return state["tips"].memories`),
			[]core.FeedbackRequest{{Turn: 1, Outcome: "success", Assumed: []string{"tips-1"}}}},
		"a script that reads it by another name": {&pupils{}, tips + fmt.Sprintf(callNode, "local s = state return s.tips"),
			[]core.FeedbackRequest{{Turn: 1, Outcome: "success", Assumed: []string{"tips-1"}}}},
		"nothing read it": {&pupils{}, tips + fmt.Sprintf(callNode, "return state.tipsy"),
			[]core.FeedbackRequest{{Turn: 1, Outcome: "success"}}},
		"a plugin that is given the state": {&pupils{}, tips + "- {name: last, action: plugin.call, with: {plugin: acme/p}}\n",
			[]core.FeedbackRequest{{Turn: 1, Outcome: "success", Assumed: []string{"tips-1"}}}},
		"a plugin named it": {&pupils{loop: passed, used: []string{"tips-2", "other"}}, tips + loopNode,
			[]core.FeedbackRequest{{Turn: 1, Outcome: "success", Used: []string{"tips-2"}, ToolOutcomes: tool(true, false)}}},
		"memory.feedback named it": {&pupils{loop: passed}, tips + loopNode + "- {name: f, action: memory.feedback, with: {used: [tips-2]}}\n",
			[]core.FeedbackRequest{{Turn: 1, Outcome: "success", Used: []string{"tips-2"}, ToolOutcomes: tool(true, false)}}},
		"memory.feedback closed it": {&pupils{loop: passed, closes: true}, tips + feedbackNode + loopNode, nil},
		"memory.feedback closed the second": {&pupils{loop: passed, closes: true}, tips + fmt.Sprintf(recallNode, "more") + feedbackNode + loopNode,
			[]core.FeedbackRequest{{Turn: 1, Outcome: "success", Assumed: []string{"tips-1"}, ToolOutcomes: tool(true, false)}}},
		"two recalls, of which one was read": {&pupils{loop: passed}, fmt.Sprintf(recallNode, "more") + tips + loopNode, []core.FeedbackRequest{
			{Turn: 1, Outcome: "success"},
			{Turn: 2, Outcome: "success", Assumed: []string{"tips-1"}, ToolOutcomes: tool(true, false)},
		}},
		"two recalls of one turn, both read": {
			&pupils{loop: passed, turn: 4}, fmt.Sprintf(recallNode, "more") + tips + strings.Replace(loopNode, "state.tips", "{state.tips, state.more}", 1),
			[]core.FeedbackRequest{{Turn: 4, Outcome: "success", Assumed: []string{"more-1", "tips-1"}, ToolOutcomes: tool(true, false)}}},
		"an error":         {&pupils{fail: errors.New("down")}, tips + fmt.Sprintf(callNode, "x"), nil},
		"a cancelled loop": {&pupils{loop: loopOf(core.StatusCancelled, 0, 0)}, tips + loopNode, nil},
		"no recall":        {&pupils{loop: passed}, loopNode, nil},
	} {
		t.Run(name, func(t *testing.T) {
			class, run, _ := teach(t, c.pupils, c.nodes)
			var got []core.FeedbackRequest
			for _, r := range class.feedbacks {
				if r.Session != "run" || r.Source != "tool" {
					t.Errorf("session %q, source %q", r.Session, r.Source)
				}
				r.Session, r.Source = "", ""
				got = append(got, *r)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			closed := strings.HasPrefix(name, "memory.feedback closed")
			if taught := closed || len(c.want) > 0; len(class.dags) > 1 || taught != (len(class.dags) == 1) {
				t.Errorf("%d graphs", len(class.dags))
			}
			var tools []core.ToolOutcome // of the turn that memory.feedback closed
			if closed {
				for _, id := range []string{"tips-1", "tips-2"} {
					tools = append(tools, core.ToolOutcome{MemoryID: id, Session: "run", Turn: int64(len(c.want) + 1), Tool: "reflectory/lua-eval", OK: true, Ref: "run"})
				}
			}
			if diff := cmp.Diff(tools, class.tools); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			recalled, used := int64(2*len(c.want)), int64(0)
			for _, r := range c.want {
				used += int64(len(r.Used) + len(r.Assumed))
			}
			if c.pupils.turn > 0 { // of two recalls
				recalled += 2
			}
			if closed { // which used both
				recalled, used = recalled+2, used+2
			}
			if run.Recalled != recalled || run.Used != used {
				t.Errorf("%d recalled, %d used; want %d and %d", run.Recalled, run.Used, recalled, used)
			}
		})
	}
}

func TestAResumedRunGivesTheFeedbackOfItsRecordedVisits(t *testing.T) {
	nodes := fmt.Sprintf(recallNode, "tips") + loopNode + fmt.Sprintf(callNode, "x")
	whole, _, visits := teach(t, &pupils{loop: loopOf(core.StatusPassed, 2, 1)}, nodes)
	plan, err := load("name: lesson\nnodes:\n" + nodes)
	if err != nil {
		t.Fatal(err)
	}
	again, p := &class{}, &pupils{}
	run := &core.Run{ID: "run", State: json.RawMessage(`{}`)}
	runner := workflow.Runner{Actions: p, Recorder: &recorder{}, Reporter: again, Clock: fixedClock{}}
	if err := runner.Run(t.Context(), plan, run, core.Progress{Visits: visits[:2]}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(whole.feedbacks, again.feedbacks); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(p.asked) != 1 || p.asked[0].Turn != (core.TurnRef{Session: "run", Turn: 1}) {
		t.Errorf("%d nodes ran again", len(p.asked))
	}
}

func TestARunRecordsItsGraphWithTheNodesThatRecalled(t *testing.T) {
	class, _, _ := teach(t, &pupils{loop: loopOf(core.StatusPassed, 1, 1)},
		"- {name: ask, action: memory.recall, with: {query: q}, goto: [{when: 'yes', to: work}, {when: 'no', to: end}]}\n"+
			fmt.Sprintf(recallNode, "tips")+
			"- {name: work, action: reflection.loop, goto: [{when: 'no', to: ask}], with: {generator: {run: x}, evaluator: {run: x}}}\n")
	want := []*core.WorkflowDAG{{
		Workflow: "lesson", Entry: []string{"ask"}, Exits: []string{"ask", "work"},
		Edges:    [][2]string{{"ask", "tips"}, {"ask", "work"}, {"tips", "work"}},
		Memories: map[string][]string{"ask-1": {"ask"}, "ask-2": {"ask"}},
	}}
	if diff := cmp.Diff(want, class.dags); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestARunThatNothingIsLearnedFromRecallsWithoutASession(t *testing.T) {
	plan, err := load("nodes:\n" + fmt.Sprintf(recallNode, "tips"))
	if err != nil {
		t.Fatal(err)
	}
	p := &pupils{}
	runner := workflow.Runner{Actions: p, Clock: fixedClock{}}
	if err := runner.Run(t.Context(), plan, &core.Run{ID: "run", Session: "s", State: json.RawMessage(`{}`)}, core.Progress{}); err != nil {
		t.Fatal(err)
	}
	if p.asked[0].Session != "" {
		t.Errorf("the session is %q", p.asked[0].Session)
	}
}

func TestAFeedbackThatFailsDoesNotChangeHowTheRunEnded(t *testing.T) {
	plan, err := load("nodes:\n" + fmt.Sprintf(recallNode, "tips"))
	if err != nil {
		t.Fatal(err)
	}
	var events []core.Event
	run := &core.Run{ID: "run", Session: "s", State: json.RawMessage(`{}`)}
	c := &class{err: errors.New("full")}
	runner := workflow.Runner{Actions: &pupils{}, Reporter: c, Clock: fixedClock{}, Events: func(e core.Event) { events = append(events, e) }}
	if err := runner.Run(t.Context(), plan, run, core.Progress{}); err != nil || run.Status != core.StatusPassed {
		t.Errorf("%s, %v", run.Status, err)
	}
	failed := func(e core.Event) bool { _, is := e.(core.FeedbackFailed); return is }
	if !slices.ContainsFunc(events, failed) || c.feedbacks[0].Session != "s" {
		t.Errorf("events %v, feedback %+v", events, c.feedbacks[0])
	}
}

func TestOnlyTheNewestRecallOfANodeIsReadAndOnlyLoopsAfterItTellOfIt(t *testing.T) {
	nodes := loopNode + fmt.Sprintf(recallNode, "tips") + fmt.Sprintf(callNode, "return state.tips")
	plan, err := load("nodes:\n" + nodes)
	if err != nil {
		t.Fatal(err)
	}
	recalled := func(visit int, next string) core.Visit {
		result := fmt.Sprintf(`{"session":"run","turn":%d,"memories":[{"id":"m-%d"}]}`, visit, visit)
		return core.Visit{Number: visit, Node: "tips", Result: json.RawMessage(result), Next: next}
	}
	visits := []core.Visit{ // as a goto led
		recalled(1, "work"), {Number: 2, Node: "work", Result: jsontext.MustEncode(loopOf(core.StatusPassed, 1, 1)), Next: "tips"}, recalled(3, "last"),
	}
	c := &class{}
	runner := workflow.Runner{Actions: &pupils{}, Recorder: &recorder{}, Reporter: c, Clock: fixedClock{}}
	if err := runner.Run(t.Context(), plan, &core.Run{ID: "run", State: json.RawMessage(`{}`)}, core.Progress{Visits: visits}); err != nil {
		t.Fatal(err)
	}
	want := []*core.FeedbackRequest{
		{Session: "run", Turn: 1, Outcome: "success", Source: "tool"},
		{Session: "run", Turn: 3, Outcome: "success", Source: "tool", Assumed: []string{"m-3"}},
	}
	if diff := cmp.Diff(want, c.feedbacks); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
