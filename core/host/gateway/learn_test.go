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

// agent does tasks through a gateway, and does what the first line of its context that has an action says.
type agent struct {
	*world
	as     core.Caller
	model  gateway.Model
	random *rand.Rand
	// named is whether it says which memory it used, instead of letting that be inferred.
	named bool
	// first is how often each action was the first.
	first map[string]int
	asked int
}

// task does a task, and reports whether it succeeded.
func (a *agent) task(n int) bool {
	a.Helper()
	a.model.Check.Evaluator = word(fmt.Sprintf("good-%d-%s", n, codes[n]))
	handle, did := "", "I don't know"
	up := &upstream{reply: func(at *gateway.Attempt) (*gateway.Reply, error) {
		for _, line := range strings.Split(at.Edits.Context[0], "\n") {
			if before, rest, found := strings.Cut(line, " run "); found {
				name, _, _ := strings.Cut(before, " · ")
				handle, did = strings.TrimSpace(name), strings.TrimRight(strings.Fields(rest)[0], ".")
				break
			}
		}
		return text("I run " + did), nil
	}}
	a.asked++ // the same words again, soon after, would be another attempt at the turn
	list := []gateway.Message{user(fmt.Sprintf("Please do the %s task of number %d now, request %d.", codes[n], n, 1000+a.asked))}
	out := a.serve(a.as, a.model, &gateway.Request{Messages: list, Session: "life"}, up)
	a.first[did]++
	ok := out.Verdict == "passed"
	if a.named && handle != "" {
		r := &core.FeedbackRequest{Session: core.ScopedName(out.Turn.Session, memory.SessionMarks(a.as)[0]), Turn: out.Turn.Number, Outcome: core.OutcomeFailure, Used: []string{handle}}
		if ok {
			r.Outcome = core.OutcomeSuccess
		}
		if _, err := a.host.Memories.Feedback(core.WithCaller(a.Context(), a.as), r); err != nil {
			a.Error(err)
		}
	}
	return ok
}

var codes = strings.Fields("amber birch cedar delta ember flint grove haven ivory jade karst lumen maple north ochre pearl quartz raven slate topaz")

// life is how an agent fares: its success in turns 301 to 400, and how often a wrong action was the first at most.
type life struct {
	late  float64
	wrong int
}

// live has an agent of 20 tasks live 400 turns. Each task has a memory that works, and one that doesn't and is worded
// nearer to the question. Every fifth turn somebody writes another one of the latter if poison is set.
func live(t *testing.T, seed uint64, named, poison bool) life {
	t.Helper()
	w := newWorld(t)
	for n, code := range codes {
		w.observe("team/a", fmt.Sprintf("Please do the %s task of number %d with care: run bad-%d-%s.", code, n, n, code))
		w.observe("team/a", fmt.Sprintf("For the %s task, number %d, run good-%d-%s.", code, n, n, code))
	}
	a := &agent{world: w, as: caller("ann", "team/**"), model: modelWith("team/a"), random: rand.New(rand.NewPCG(seed, 2)), named: named, first: map[string]int{}}
	a.model.Check.MaxIterations, a.model.Learn = 1, !named
	late := 0
	for turn := range 400 {
		w.clock.Advance(time.Minute)
		if n := a.random.IntN(len(codes)); poison && turn%5 == 4 {
			w.observe("team/a", fmt.Sprintf("Please do the %s task of number %d as in turn %d: run bad-%d-%d.", codes[n], n, turn, n, turn))
		}
		if ok := a.task(a.random.IntN(len(codes))); ok && turn >= 300 {
			late++
		}
	}
	w.sound()
	of := life{late: float64(late) / 100}
	for did, times := range a.first {
		if strings.HasPrefix(did, "bad-") {
			of.wrong = max(of.wrong, times)
		}
	}
	return of
}

// TestServe_AnAgentLearns: an agent that names nothing that it used succeeds late as often as one that does, and does
// nothing wrong more than twice. TestLives has more lives.
func TestServe_AnAgentLearns(t *testing.T) {
	coretest.Long(t)
	if coretest.Plain(t) {
		return
	}
	checkLives(t, 1, false)
}

// checkLives compares lives in which the agent names what it used with others in which it doesn't.
func checkLives(t *testing.T, seeds uint64, poison bool) {
	t.Helper()
	late, wrong := map[bool]float64{}, 0
	for seed := range seeds {
		for _, named := range []bool{true, false} {
			of := live(t, seed+1, named, poison)
			late[named] += of.late / float64(seeds)
			if !named {
				wrong = max(wrong, of.wrong)
			}
		}
	}
	t.Logf("figure | gateway, 20 tasks, poison %v, success in turns 301-400, not named / named | %.3f / %.3f | a wrong memory was first %d times at most", poison, late[false], late[true], wrong)
	if late[false] < .95*late[true] || late[true] < .9 || wrong > 2 {
		t.Errorf("success is %.3f, with named uses %.3f; a wrong memory was first %d times", late[false], late[true], wrong)
	}
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
	checkTenants(t, coretest.Cases(200, 1500))
}

func checkTenants(t *testing.T, turns int) {
	t.Helper()
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
	for range turns {
		n := random.IntN(tenants)
		w.clock.Advance(time.Second)
		list := append(histories[n], user(fmt.Sprintf("What is the secret word of %s?", topics[random.IntN(len(topics))])))
		as := caller("ann", fmt.Sprintf("t%d/**", n)) // the same subject in each
		up := says("word of the day")
		m := modelWith(fmt.Sprintf("t%d/a", n))
		w.serve(as, m, &gateway.Request{Messages: list, Session: []string{"", "same"}[random.IntN(2)]}, up)
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
