package gateway_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host/gateway"
	"github.com/reflectory/reflectory/sdk"
)

// talk is a client with one conversation, and what a gateway should make of it.
type talk struct {
	w       *world
	as      core.Caller
	random  *rand.Rand
	history []gateway.Message
	// session is where the conversation is, turn the session's newest turn, and at the turn of its last
	// answer.
	session  string
	turn, at int64
	// sent are the contexts of its previous request by what the client wrote up to each message.
	sent map[string]string
	said int
	name string
}

var topics = []string{"billing", "staging", "invoices", "search", "payments", "mailer", "importer", "exporter", "scheduler", "gallery"}

func modelWith(namespace string) gateway.Model {
	return gateway.Model{
		Name: "coder", Namespace: namespace, Recall: gateway.Recall{MaxTokens: 300}, Learn: true,
		Check: gateway.Check{Tools: true},
	}
}

// ask makes a request of these messages. The upstream calls wait before it answers, unless that is nil.
func (c *talk) ask(list []gateway.Message, reply *gateway.Reply, wait func()) (*gateway.Outcome, gateway.Edits) {
	c.w.Helper()
	var edits gateway.Edits
	up := &upstream{reply: func(a *gateway.Attempt) (*gateway.Reply, error) {
		edits = a.Edits
		if wait != nil {
			wait()
		}
		return reply, nil
	}}
	out, err := c.w.gate.Serve(c.w.Context(), c.as, new(modelWith("team/a")), &gateway.Request{Model: "coder", Messages: slices.Clone(list), Session: c.name}, up)
	if err != nil {
		c.w.Errorf("serve: %v", err)
	}
	return out, edits
}

// answer is a new answer.
func (c *talk) answer() *gateway.Reply {
	c.said++
	return text(fmt.Sprintf("answer %d of %s about nothing, %d", c.said, c.as.Subject, c.random.Int64()))
}

// question is a new message of the user.
func (c *talk) question() gateway.Message {
	c.said++
	return user(fmt.Sprintf("Question %d: how does one deploy the %s service?", c.random.Int64(), topics[c.random.IntN(len(topics))]))
}

// check checks where a request came to, and that what goes up before the last question hasn't changed.
func (c *talk) check(what string, out *gateway.Outcome, edits gateway.Edits, list []gateway.Message, session string, turn int64) {
	c.w.Helper()
	if out.Turn.Session != session && session != "" || out.Turn.Number != turn {
		c.w.Errorf("%s: session %s turn %d, want %s turn %d", what, out.Turn.Session, out.Turn.Number, session, turn)
	}
	sent, up := map[string]string{}, ""
	for i, m := range list {
		up += string(m.Canonical) + "\n"
		sent[up] = edits.Context[i]
		if before, known := c.sent[up]; known && before != edits.Context[i] && i < len(list)-1 {
			c.w.Errorf("%s: message %d goes up with %q, before with %q", what, i, edits.Context[i], before)
		}
	}
	maps.Copy(c.sent, sent)
}

// step does one thing that clients do.
func (c *talk) step() {
	n := len(c.history)
	switch kind := c.random.IntN(10); {
	case kind < 4 || n < 2: // the next question, perhaps with a tool's result, or asked twice
		c.next(c.random.IntN(3) == 0, c.random.IntN(3) == 0)
	case kind < 6: // regenerate the last answer
		c.w.clock.Advance(time.Duration(c.random.IntN(60)) * time.Second)
		list, reply := c.history[:n-1], c.answer()
		out, edits := c.ask(list, reply, nil)
		c.check("regenerate", out, edits, list, c.session, c.at)
		c.history = append(slices.Clip(list), assistant(reply))
	case kind < 8: // change an earlier question: a branch
		at := c.random.IntN(n)
		for c.history[at].Role != gateway.User || len(c.history[at].Results) > 0 {
			at--
		}
		list := append(slices.Clone(c.history[:at]), c.question())
		reply := c.answer()
		out, edits := c.ask(list, reply, nil)
		if out.Turn.Session == c.session {
			c.w.Errorf("a changed question goes on in session %s", c.session)
		}
		c.check("edit", out, edits, list, "", 1)
		c.session, c.turn, c.at, c.history = out.Turn.Session, 1, 1, append(list, assistant(reply))
	default:
		c.parallel()
	}
}

// next asks the next question.
func (c *talk) next(tool, twice bool) {
	list, reply := append(slices.Clip(c.history), c.question()), c.answer()
	if tool {
		c.said++
		reply = calls(gateway.Call{ID: fmt.Sprintf("call-%d", c.random.Int64()), Name: "look", Arguments: "{}"})
	}
	out, edits := c.ask(list, reply, nil)
	c.check("next", out, edits, list, c.session, c.turn+1)
	c.session, c.turn, c.at = out.Turn.Session, c.turn+1, c.turn+1
	if twice { // the answer was lost
		again, edits := c.ask(list, reply, nil)
		c.check("again", again, edits, list, c.session, c.turn)
		if again.Turn.Snapshot != out.Turn.Snapshot {
			c.w.Error("another attempt at a turn has another snapshot")
		}
	}
	c.history = append(list, assistant(reply))
	if tool {
		list, reply := append(slices.Clip(c.history), results(gateway.Result{CallID: reply.Calls[0].ID, Text: "done"})), c.answer()
		out, edits := c.ask(list, reply, nil)
		c.check("result", out, edits, list, c.session, c.turn)
		c.history = append(list, assistant(reply))
	}
}

// parallel asks two questions at once, and goes on with one of them.
func (c *talk) parallel() {
	lists := [2][]gateway.Message{append(slices.Clone(c.history), c.question()), append(slices.Clone(c.history), c.question())}
	replies := [2]*gateway.Reply{c.answer(), c.answer()}
	var outs [2]*gateway.Outcome
	var edits [2]gateway.Edits
	asked, first := make(chan struct{}), make(chan struct{})
	var both sync.WaitGroup
	both.Go(func() { outs[0], edits[0] = c.ask(lists[0], replies[0], func() { close(asked); <-first }) })
	<-asked
	outs[1], edits[1] = c.ask(lists[1], replies[1], nil)
	close(first)
	both.Wait()
	for i, out := range outs {
		if out.Turn.Session != c.session {
			c.w.Errorf("a parallel request is in session %s, not %s", out.Turn.Session, c.session)
		}
		c.check("parallel", out, edits[i], lists[i], c.session, out.Turn.Number)
	}
	numbers := []int64{outs[0].Turn.Number, outs[1].Turn.Number}
	if slices.Sort(numbers); !slices.Equal(numbers, []int64{c.turn + 1, c.turn + 2}) {
		c.w.Errorf("parallel requests have the turns %v after %d", numbers, c.turn)
	}
	on := c.random.IntN(2)
	c.turn, c.at = c.turn+2, outs[on].Turn.Number
	if c.history = append(lists[on], assistant(replies[on])); on == 1 { // its answer isn't the last one
		list, reply := append(slices.Clip(c.history), c.question()), c.answer()
		out, edits := c.ask(list, reply, nil)
		c.check("after the earlier answer", out, edits, list, "", 1)
		if out.Turn.Session == c.session {
			c.w.Error("a branch is in its session")
		}
		c.session, c.turn, c.at, c.history = out.Turn.Session, 1, 1, append(list, assistant(reply))
	}
}

// TestServe_EachRequestIsInItsSession: 500 conversations with retries, changed questions, parallel
// requests and tools, of two subjects, many of which begin alike.
func TestServe_EachRequestIsInItsSession(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	w := newWorld(t)
	for _, topic := range topics {
		w.observe("team/a", fmt.Sprintf("The %s service is deployed with make ship-%s after the tests of %s passed.", topic, topic, topic))
	}
	subjects := []core.Caller{caller("ann", "team/**"), caller("bob", "team/**")}
	seen := map[string]string{} // whose a session is
	for n := range coretest.Cases(60, 500) {
		c := &talk{w: w, as: subjects[n%2], random: rand.New(rand.NewPCG(uint64(n), 1)), sent: map[string]string{}}
		w.clock.Advance(11 * time.Minute) // else it is another attempt at one that began alike
		hello, reply := user("Hello, please help me with the billing service."), c.answer()
		out, edits := c.ask([]gateway.Message{hello}, reply, nil)
		c.check("begin", out, edits, []gateway.Message{hello}, "", 1)
		if seen[out.Turn.Session] != "" {
			t.Fatalf("conversation %d begins in session %s of %s", n, out.Turn.Session, seen[out.Turn.Session])
		}
		seen[out.Turn.Session] = c.as.Subject
		c.session, c.turn, c.at, c.history = out.Turn.Session, 1, 1, []gateway.Message{hello, assistant(reply)}
		for range 6 {
			c.step()
		}
		if t.Failed() {
			t.Fatalf("in conversation %d", n)
		}
	}
	w.contiguous(subjects)
}

// contiguous checks that the turns of each session are numbered from 1 without a gap.
func (w *world) contiguous(subjects []core.Caller) {
	w.Helper()
	if err := w.gate.Commit(w.Context()); err != nil {
		w.Fatal(err)
	}
	turns := map[string][]int64{}
	err := w.host.Store.View(w.Context(), func(r core.Reader) error {
		return core.ScanPrefix(r, []byte("turn/"), func(key, _ []byte) (bool, error) {
			rest := string(key[len("turn/"):])
			session, number := rest[:len(rest)-9], int64(0)
			for _, b := range []byte(rest[len(rest)-8:]) {
				number = number<<8 | int64(b)
			}
			turns[session] = append(turns[session], number)
			return true, nil
		})
	})
	if err != nil || len(turns) == 0 {
		w.Fatal(err, "no turns")
	}
	for session, list := range turns {
		for i, n := range list {
			if n != int64(i)+1 {
				w.Errorf("session %s has the turns %v", session, list)
			}
		}
	}
}

// TestServe_NamedSessions: a client's own name decides, within its subject.
func TestServe_NamedSessions(t *testing.T) {
	w := newWorld(t)
	ann, bob := caller("ann", "team/**"), caller("bob", "team/**")
	ask := func(c core.Caller, namespace, name, question string) gateway.Turn {
		m := modelWith(namespace)
		return w.serve(c, m, &gateway.Request{Messages: []gateway.Message{user(question)}, Session: name}, says("ok")).Turn
	}
	odd := strings.Repeat("x/", 400)
	for _, c := range []struct {
		what, session string
		turn          gateway.Turn
		number        int64
	}{
		{"first", "s1", ask(ann, "team/a", "s1", "q1"), 1},
		{"second", "s1", ask(ann, "team/a", "s1", "q2"), 2},
		{"the same in another", "s2", ask(ann, "team/a", "s2", "q2"), 1},
		{"the same again", "s1", ask(ann, "team/a", "s1", "q2"), 2},
		{"of another subject", "s1", ask(bob, "team/a", "s1", "q3"), 1},
		{"in another namespace", "", ask(ann, "team/b", "s1", "q4"), 1},
		{"in another namespace, second", "", ask(ann, "team/b", "s1", "q5"), 2},
		{"no name of a session", "", ask(ann, "team/a", odd, "q6"), 1},
		{"no name of a session, second", "", ask(ann, "team/a", odd, "q7"), 2},
		{"first session again", "s1", ask(ann, "team/a", "s1", "q8"), 3},
	} {
		if c.turn.Number != c.number || c.session != "" && c.turn.Session != c.session {
			t.Errorf("%s: %+v", c.what, c.turn)
		}
	}
}

// TestServe_Placed: what begins a turn, and what goes on with one.
func TestServe_Placed(t *testing.T) {
	w := newWorld(t)
	ann := caller("ann", "team/**")
	ask := func(r *gateway.Request, reply *gateway.Reply) gateway.Turn {
		return w.serve(ann, modelWith("team/a"), r, &upstream{reply: func(*gateway.Attempt) (*gateway.Reply, error) { return reply, nil }}).Turn
	}
	list := func(more ...gateway.Message) *gateway.Request { return &gateway.Request{Messages: more} }
	developer := message(gateway.Message{Role: gateway.Developer, Text: "Be brief."})
	cut := &gateway.Reply{Text: "The beginning", Finish: gateway.Cut}
	q1, q2, q3 := user("q1"), user("q2"), user("q3")
	call := calls(gateway.Call{ID: "c1", Name: "look", Arguments: "{}"})
	r1 := results(gateway.Result{CallID: "c1", Text: "seen"})
	var first gateway.Turn
	for _, c := range []struct {
		what string
		turn func() gateway.Turn
		want int64
		same bool
	}{
		{"a question", func() gateway.Turn { first = ask(list(q1), cut); return first }, 1, true},
		{"a text to go on with", func() gateway.Turn { return ask(list(q1, assistant(text("The beginning"))), text(" and the end")) }, 1, true},
		{"the next question", func() gateway.Turn {
			return ask(list(q1, assistant(text("The beginning and the end")), q2), call)
		}, 2, true},
		{"a result", func() gateway.Turn {
			return ask(list(q1, assistant(text("The beginning and the end")), q2, assistant(call), r1), text("a2"))
		}, 2, true},
		{"a developer's message", func() gateway.Turn {
			return ask(list(q1, assistant(text("The beginning and the end")), q2, assistant(call), r1, assistant(text("a2")), developer), text("a3"))
		}, 2, true},
		{"a question with a prefill", func() gateway.Turn {
			return ask(list(q1, assistant(text("The beginning and the end")), q2, assistant(call), r1, assistant(text("a2")), developer, assistant(text("a3")), q3, assistant(text("{"))), text("}"))
		}, 3, true},
		{"a response", func() gateway.Turn {
			return ask(list(user("q9")), &gateway.Reply{IDs: []string{"resp-1", "msg-1"}, Text: "a", Finish: gateway.Complete})
		}, 1, false},
		{"what follows a response", func() gateway.Turn {
			return ask(&gateway.Request{Messages: []gateway.Message{user("q10")}, Previous: "resp-1"}, &gateway.Reply{IDs: []string{"resp-2"}, Text: "a", Finish: gateway.Complete})
		}, 2, false},
		{"what follows an earlier response", func() gateway.Turn {
			return ask(&gateway.Request{Messages: []gateway.Message{user("q11")}, Previous: "resp-1"}, text("b"))
		}, 1, false},
	} {
		if turn := c.turn(); turn.Number != c.want || (turn.Session == first.Session) != c.same {
			t.Errorf("%s: %+v, first %+v", c.what, turn, first)
		}
	}
	for id, want := range map[string]string{"resp-1": "coder", "resp-2": "coder", "resp-0": ""} {
		if model, err := w.gate.Answered(t.Context(), ann, "team/a", id); err != nil || model != want {
			t.Errorf("%s is of model %q: %v", id, model, err)
		}
	}
	if model, err := w.gate.Answered(t.Context(), caller("bob", "team/**"), "team/a", "resp-1"); err != nil || model != "" {
		t.Errorf("another subject's response is of model %q: %v", model, err)
	}
	w.clock.Advance(11 * time.Minute)
	if again := ask(list(q1), text("later")); again.Session == first.Session || again.Number != 1 {
		t.Errorf("the same after 11 minutes: %+v", again)
	}
}

// TestServe_ForeignHistory: a request that continues what the upstream keeps is refused unless the caller got it, from a
// model in the same namespace. Where the client's own credentials go up, the upstream decides that.
func TestServe_ForeignHistory(t *testing.T) {
	w := newWorld(t)
	ann, bob := caller("ann", "team/**"), caller("bob", "team/**")
	mine := &upstream{reply: func(*gateway.Attempt) (*gateway.Reply, error) {
		return &gateway.Reply{IDs: []string{"resp-1", "msg-1"}, Text: "a", Finish: gateway.Complete}, nil
	}}
	w.serve(ann, modelWith("team/a"), &gateway.Request{Messages: []gateway.Message{user("q")}}, mine)
	for _, c := range []struct {
		what   string
		by     core.Caller
		in     string
		refers []string
		own    bool
		want   string
	}{
		{"a response", ann, "team/a", []string{"resp-1"}, false, ""},
		{"an item", ann, "team/a", []string{"resp-1", "msg-1"}, false, ""},
		{"another's", bob, "team/a", []string{"resp-1"}, false, "previous_response_not_found"},
		{"another's item", bob, "team/a", []string{"msg-1"}, false, "previous_response_not_found"},
		{"in another namespace", ann, "team/b", []string{"resp-1"}, false, "previous_response_not_found"},
		{"nobody's", ann, "team/a", []string{"resp-2"}, false, "previous_response_not_found"},
		{"one that isn't, of two", ann, "team/a", []string{"resp-1", "conv-1"}, false, "previous_response_not_found"},
		{"nobody's, with own credentials", bob, "team/a", []string{"resp-2"}, true, ""},
	} {
		m, up := modelWith(c.in), says("b")
		m.OwnHistory = c.own
		r := &gateway.Request{Messages: []gateway.Message{user("go on, " + c.what)}, Previous: c.refers[0], Refers: c.refers}
		if _, err := w.gate.Serve(t.Context(), c.by, &m, r, up); sdk.ReasonOf(err) != c.want || len(up.asked) != map[bool]int{true: 1}[c.want == ""] {
			t.Errorf("%s: %v, asked %d times", c.what, err, len(up.asked))
		}
	}
}

// TestServe_NextRequestBeforeTheEnd: a client has its stream's end before the gateway has, and its next request is in the
// same session all the same.
func TestServe_NextRequestBeforeTheEnd(t *testing.T) {
	w := newWorld(t)
	ann, list := caller("ann", "team/**"), []gateway.Message{user("q1")}
	reply := text("a1")
	reply.IDs = []string{"resp-1"}
	var next, stated gateway.Turn
	up := &upstream{reply: func(a *gateway.Attempt) (*gateway.Reply, error) {
		a.Whole(&gateway.Reply{Text: "a1", IDs: reply.IDs})
		next = w.serve(ann, modelWith("team/a"), &gateway.Request{Messages: append(slices.Clip(list), assistant(reply), user("q2"))}, says("a2")).Turn
		stated = w.serve(ann, modelWith("team/a"), &gateway.Request{Messages: []gateway.Message{user("q3")}, Previous: "resp-1", Refers: reply.IDs}, says("a3")).Turn
		return reply, nil
	}}
	first := w.serve(ann, modelWith("team/a"), &gateway.Request{Messages: list, Stream: true}, up).Turn
	if next.Session != first.Session || next.Number != 2 || stated.Number != 1 {
		t.Errorf("%+v, then %+v and %+v", first, next, stated)
	}
	w.contiguous(nil)
	w.sound()
}
