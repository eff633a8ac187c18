package gateway_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host/gateway"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/workflow"
	"github.com/reflectory/reflectory/core/workflow/action"
)

// word is an evaluator that accepts replies with a word.
func word(w string) *workflow.Single {
	return &workflow.Single{Step: action.Step{Plugin: "x", Config: action.Constant(fmt.Sprintf(`{"word":%q}`, w))}}
}

// turns are the turns of a session as its owner sees them.
func (w *world) turns(c core.Caller, session string) []memory.SessionTurn {
	w.Helper()
	name := session
	if marks := memory.SessionMarks(c); len(marks) > 0 {
		name = core.ScopedName(session, marks[0])
	}
	_, turns, _, err := w.host.Memories.Sessions.Get(core.WithCaller(w.Context(), c), &memory.TurnFilter{Session: name, Limit: 100})
	if err != nil {
		w.Fatal(err)
	}
	return turns
}

// TestServe_Outcomes: how a turn went comes from its last tool's result or the evaluator, and is
// written when the next turn begins, or after a quarter of an hour.
func TestServe_Outcomes(t *testing.T) {
	call := calls(gateway.Call{ID: "c1", Name: "run", Arguments: "{}"})
	result := func(failed bool, text string) []gateway.Message {
		return []gateway.Message{assistant(call), results(gateway.Result{CallID: "c1", Text: text, Failed: failed})}
	}
	for _, c := range []struct {
		name  string
		tools []gateway.Message // of the turn
		says  string            // with an evaluator that wants "ship"
		want  core.Outcome
	}{
		{"valid", nil, "make ship-billing", core.OutcomeSuccess},
		{"not valid", nil, "no idea", core.OutcomeFailure},
		{"no evaluator", nil, "", ""},
		{"a tool", result(false, "ok"), "", ""},
		{"a failed tool", result(true, "ok"), "", core.OutcomeFailure},
		{"a tool that says error", result(false, `{"error":"no such file"}`), "", core.OutcomeFailure},
		{"a tool that says no error", result(false, `{"error":null,"value":1}`), "", ""},
		{"a text with an error", result(false, "error: no such file"), "", ""},
		{"a program that failed", result(false, `{"exit_code":2}`), "", core.OutcomeFailure},
		{"a program that worked", result(false, `{"exit_code":0}`), "", ""},
		{"is_error", result(false, `{"is_error":true}`), "", core.OutcomeFailure},
		{"a failed tool before a valid answer", result(true, "x"), "make ship-billing", core.OutcomeFailure},
		{"a tool before a valid answer", result(false, "x"), "make ship-billing", core.OutcomeSuccess},
	} {
		for _, later := range []bool{false, true} {
			t.Run(fmt.Sprint(c.name, later), func(t *testing.T) {
				w := newWorld(t)
				w.observe("team/a", "The billing service is deployed with make ship-billing.")
				ann, m := caller("ann", "team/**"), modelWith("team/a")
				said := "the answer is make ship-billing"
				if c.says != "" {
					m.Check.Evaluator, m.Check.MaxIterations, said = word("ship"), 1, c.says
				}
				list := []gateway.Message{user("How is the billing service deployed?")}
				if c.tools != nil {
					w.serve(ann, m, &gateway.Request{Messages: list}, &upstream{reply: func(*gateway.Attempt) (*gateway.Reply, error) { return call, nil }})
					list = append(list, c.tools...)
				}
				out := w.serve(ann, m, &gateway.Request{Messages: list}, says(said))
				if later {
					w.clock.Advance(14 * time.Minute)
					w.settleOld()
					if f := w.turns(ann, out.Turn.Session)[0].Feedback; f != nil {
						t.Errorf("after 14 minutes: %+v", f)
					}
					w.clock.Advance(2 * time.Minute)
					w.settleOld()
				} else {
					w.serve(ann, m, &gateway.Request{Messages: append(list, assistant(text(said)), user("Thanks. And now?"))}, says("nothing"))
				}
				f := w.turns(ann, out.Turn.Session)[0].Feedback
				if (f == nil) != (c.want == "") || f != nil && (f.Outcome != c.want || f.Source != memory.SourceInferred) {
					t.Fatalf("%+v, want %q", f, c.want)
				}
				if f != nil && c.says != "no idea" && (len(f.Items) != 1 || !f.Items[0].Used || f.Items[0].Inferred == 0) {
					t.Errorf("%+v", f.Items)
				}
				w.sound()
			})
		}
	}
}

func (w *world) settleOld() {
	w.Helper()
	if err := w.gate.Commit(w.Context()); err != nil {
		w.Fatal(err)
	}
	if err := w.gate.SettleOld(w.Context()); err != nil {
		w.Fatal(err)
	}
}

// TestServe_ExplicitFeedbackWins, before and after what was inferred.
func TestServe_ExplicitFeedbackWins(t *testing.T) {
	for _, before := range []bool{true, false} {
		w := newWorld(t)
		w.observe("team/a", "The billing service is deployed with make ship-billing.")
		ann, m := caller("ann", "team/**"), modelWith("team/a")
		m.Check.Evaluator = word("ship")
		out := w.serve(ann, m, &gateway.Request{Messages: []gateway.Message{user("How is the billing service deployed?")}}, says("make ship-billing"))
		explicit := func() {
			session := core.ScopedName(out.Turn.Session, memory.SessionMarks(ann)[0])
			f, err := w.host.Memories.Feedback(core.WithCaller(t.Context(), ann), &core.FeedbackRequest{Session: session, Turn: 1, Outcome: core.OutcomeFailure})
			if err != nil || f.Outcome != core.OutcomeFailure {
				t.Errorf("%+v %v", f, err)
			}
		}
		w.clock.Advance(16 * time.Minute)
		if before {
			explicit()
		}
		w.settleOld()
		if !before {
			if f := w.turns(ann, out.Turn.Session)[0].Feedback; f == nil || f.Outcome != core.OutcomeSuccess {
				t.Errorf("inferred: %+v", f)
			}
			explicit()
		}
		if f := w.turns(ann, out.Turn.Session)[0].Feedback; f == nil || f.Outcome != core.OutcomeFailure {
			t.Errorf("before %v: %+v", before, f)
		}
	}
}

// agent does tasks through a gateway, and does what the first line of its context that is about the
// task says.
type agent struct {
	*world
	as     core.Caller
	model  gateway.Model
	random *rand.Rand
}

// does is what a model makes of its context: the action of the first line.
func does(contexts map[int]string) string {
	for _, line := range strings.Split(contexts[0], "\n") {
		if _, rest, found := strings.Cut(line, " run "); found {
			return "I run " + strings.TrimRight(strings.Fields(rest)[0], ".")
		}
	}
	return "I don't know"
}

// task does a task, and reports whether it succeeded.
func (a *agent) task(n int) bool {
	a.Helper()
	a.model.Check.Evaluator = word(fmt.Sprintf("good-%d-%s", n, codes[n%len(codes)]))
	a.model.Check.MaxIterations = 1
	up := &upstream{reply: func(at *gateway.Attempt) (*gateway.Reply, error) { return text(does(at.Edits.Context)), nil }}
	list := []gateway.Message{user(fmt.Sprintf("Please do the %s task of number %d now.", codes[n%len(codes)], n))}
	out := a.serve(a.as, a.model, &gateway.Request{Messages: list, Session: fmt.Sprintf("life-%d", a.random.IntN(4))}, up)
	return out.Verdict == "passed"
}

var codes = strings.Fields("amber birch cedar delta ember flint grove haven ivory jade karst lumen maple north ochre pearl quartz raven slate topaz")

// TestServe_AnAgentLearns: an agent of 20 tasks, which names nothing that it used, does late what
// works, although each task has a memory that is wrong and worded nearer to the question.
func TestServe_AnAgentLearns(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	w := newWorld(t)
	for n := range 20 {
		code := codes[n]
		w.observe("team/a", fmt.Sprintf("Please do the %s task of number %d with care: run bad-%d-%s.", code, n, n, code))
		w.observe("team/a", fmt.Sprintf("For the %s task, number %d, run good-%d-%s.", code, n, n, code))
	}
	a := &agent{world: w, as: caller("ann", "team/**"), model: modelWith("team/a"), random: rand.New(rand.NewPCG(1, 2))}
	late, of := 0, 0
	turns := 400
	for turn := range turns {
		w.clock.Advance(time.Minute)
		ok := a.task(a.random.IntN(20))
		if turn >= turns*3/4 {
			of++
			if ok {
				late++
			}
		}
	}
	rate := float64(late) / float64(of)
	t.Logf("success in the last quarter: %.3f of %d", rate, of)
	if rate < .95 {
		t.Errorf("success is %.3f", rate)
	}
	w.sound()
}

// TestServe_Poison: a memory that makes turns fail gets failures, though nobody names it.
func TestServe_Poison(t *testing.T) {
	w := newWorld(t)
	poison := w.observe("team/a", "The billing service is deployed with rm-everything-now.")
	ann, m := caller("ann", "team/**"), modelWith("team/a")
	m.Check.Evaluator, m.Check.MaxIterations = word("ship"), 1
	for n := range 3 {
		w.serve(ann, m, &gateway.Request{Messages: []gateway.Message{user(fmt.Sprint("How is the billing service deployed? ", n))}, Session: "s"}, says("with rm-everything-now"))
	}
	w.clock.Advance(16 * time.Minute)
	w.settleOld()
	p, err := w.host.Memories.Get(core.WithCaller(t.Context(), core.Operator("ada")), poison)
	if err != nil || p.Signals.Failures != 3 {
		t.Errorf("%+v %v", p, err)
	}
}

// TestServe_TenantsAreApart: nothing of a tenant's namespace goes up for another.
func TestServe_TenantsAreApart(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	w := newWorld(t)
	const tenants = 5
	for n := range tenants {
		for _, topic := range topics {
			w.observe(fmt.Sprintf("t%d/a", n), fmt.Sprintf("The secret word of %s is word%d%s.", topic, n, topic))
		}
	}
	random := rand.New(rand.NewPCG(3, 4))
	given := 0
	histories := map[int][]gateway.Message{}
	for range coretest.Cases(200, 1500) {
		n := random.IntN(tenants)
		w.clock.Advance(time.Second)
		list := append(histories[n], user(fmt.Sprintf("What is the secret word of %s?", topics[random.IntN(len(topics))])))
		as := caller("ann", fmt.Sprintf("t%d/**", n)) // the same subject in each
		up := says("word of the day")
		m := modelWith(fmt.Sprintf("t%d/a", n))
		out := w.serve(as, m, &gateway.Request{Messages: list, Session: []string{"", "same"}[random.IntN(2)]}, up)
		for _, c := range up.asked[0].Edits.Context {
			for other := range tenants {
				if has := strings.Contains(c, fmt.Sprintf("word%d", other)); has && other != n {
					t.Fatalf("tenant %d gets %s", n, c)
				} else if has {
					given++
				}
			}
		}
		histories[n] = append(list, assistant(text("word of the day")))
		if len(histories[n]) > 12 {
			histories[n] = nil
		}
		_ = out
	}
	if given < 100 {
		t.Errorf("only %d contexts had a word", given)
	}
	m := modelWith("t1/a")
	if _, err := w.gate.Serve(context.Background(), caller("ann", "t0/**"), &m, &gateway.Request{Messages: []gateway.Message{user("q")}}, says("x")); err == nil {
		t.Error("a model in another tenant's namespace serves")
	}
	w.sound()
}
