package memory_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/sdk"
)

// What a graph says of a memory in it: on the only path a → x; on one of two parallel
// ones, a → x and b → x; at the entry of a long chain; and without a graph.
var (
	onlyPath  = dagOf{known: true, reachable: true, dependency: 1, downstream: 1.0 / 2}
	parallel  = dagOf{known: true, reachable: true, dependency: 0, downstream: 1.0 / 3}
	longChain = dagOf{known: true, reachable: true, dependency: 1, downstream: 49.0 / 50}
	noGraph   = dagOf{}
)

// use is the outcome of a use in a turn from 1: "" is an offer without one.
type use func(turn int) string

// pattern is a use that repeats: S, F and P are uses, - is an offer without one.
func pattern(text string) use {
	return func(turn int) string {
		return map[byte]string{'S': "success", 'F': "failure", 'P': "partial"}[text[(turn-1)%len(text)]]
	}
}

// noisy is a use in each turn, which succeeds with probability p.
func noisy(r *rand.Rand, p float64) use {
	return func(int) string {
		if r.Float64() < p {
			return "success"
		}
		return "failure"
	}
}

// sessionOf has a session for each four turns, so that the second begins with turn 5.
func sessionOf(turn int) string { return fmt.Sprint("s", (turn-1)/4) }

// came is how a life of the model ended: the turn at which it ended, and how often
// it crossed between active and cooling.
type came struct {
	turn      int
	state     core.MemoryState
	crossings int
}

// lived lives a memory of the model alone through turns in which it comes first with a
// score of .5, with the outcome of a tool at each use.
func lived(dag dagOf, turns int, how use, session func(int) string) came {
	m := newLife("m", "ns", 0, 0)
	m.dag = dag
	last, crossings := m.state, 0
	for turn := 1; turn <= turns; turn++ {
		by, outcome := core.TurnRef{Session: session(turn), Turn: int64(turn)}, how(turn)
		if outcome != "" {
			m.tool(by, core.ToolOutcome{OK: outcome == "success"})
		}
		m.relevant(by, "", int64(turn), outcome, false, false, .2+.55+.25*1.5/2, false)
		if m.state == core.StateRevalidatePending {
			m.decide(omegaOf{}, int64(turn))
		}
		switch m.state {
		case core.StatePurged, core.StatePromoted:
			return came{turn, m.state, crossings}
		case core.StateActive, core.StateCooling:
			if last != core.StateOpen && m.state != last {
				crossings++
			}
		}
		last = m.state
	}
	return came{turns, m.state, crossings}
}

// promised is the table of what a life leads to, with the outcome of a tool at each use
// and a second session with turn 5.
var promised = []struct {
	name  string
	dag   dagOf
	how   string
	state core.MemoryState // "" is neither purged nor promoted
	by    int              // turn
}{
	{"always successful on the only path", onlyPath, "S", core.StatePromoted, 15},
	{"used with success in half of its offers", onlyPath, "S-", core.StatePromoted, 20},
	{"used with success in half of its offers, not the first", onlyPath, "-S", core.StatePromoted, 20},
	{"always successful on one of two parallel paths", parallel, "S", core.StatePromoted, 25},
	{"always failing", onlyPath, "F", core.StatePurged, 25},
	{"always failing on one of two parallel paths", parallel, "F", core.StatePurged, 15},
	{"always failing at the entry of a long chain", longChain, "F", core.StatePurged, 55},
	{"half failing", onlyPath, "SF", "", 100},
	{"half failing, the first", onlyPath, "FS", "", 100},
	{"half failing on one of two parallel paths", parallel, "SF", "", 100},
	{"success 4 of 5 on one of two parallel paths", parallel, "SSSSF", "", 100},
	{"always successful without a graph", noGraph, "S", "", 100},
	{"always failing without a graph", noGraph, "F", "", 100},
	{"never used", onlyPath, "-", "", 100},
}

// atItsEnd says what is wrong with the end of a life.
func atItsEnd(state core.MemoryState, turn int, want core.MemoryState, by int) string {
	done := state == core.StatePurged || state == core.StatePromoted
	if want == "" {
		return unless(!done, "it is %s after turn %d, want neither purged nor promoted", state, turn)
	}
	return unless(state == want && turn <= by, "it is %s after turn %d, want %s by %d", state, turn, want, by)
}

func TestNumbers_OfLivesInTheModel(t *testing.T) {
	for _, c := range promised {
		turns := c.by
		if c.state == "" {
			turns = 2000 // however long
		}
		got := lived(c.dag, turns, pattern(c.how), sessionOf)
		if wrong := atItsEnd(got.state, got.turn, c.state, c.by); wrong != "" {
			t.Errorf("%s: %s", c.name, wrong)
		}
	}
	// 4 of 5 on the only path isn't purged; whether it is promoted isn't promised.
	if got := lived(onlyPath, 2000, pattern("SSSSF"), sessionOf); got.state == core.StatePurged {
		t.Errorf("success 4 of 5 on the only path: %+v", got)
	}
}

// TestNumbers_UnderNoise has 70 lives, or 400 in a stress run, of 500 turns, used in each,
// with sessions of 3 to 12 turns.
func TestNumbers_UnderNoise(t *testing.T) {
	coretest.Long(t)
	if coretest.Plain(t) {
		return
	}
	lives := times(70, 400)
	count := func(p float64) map[core.MemoryState]int {
		n := map[core.MemoryState]int{}
		for seed := range uint64(lives) {
			length := 3 + int(seed%10)
			r := rand.New(rand.NewPCG(seed, uint64(1000*p)))
			n[lived(onlyPath, 500, noisy(r, p), func(turn int) string { return fmt.Sprint((turn - 1) / length) }).state]++
		}
		return n
	}
	if n := count(.9); n[core.StatePromoted] != lives {
		t.Errorf("success .9: %v, want all promoted", n)
	}
	for _, p := range []float64{.7, .8} {
		if n := count(p); n[core.StatePurged] != 0 {
			t.Errorf("success %v: %v, want none purged", p, n)
		}
	}
	for _, p := range []float64{.1, .3, .5} {
		if n := count(p); float64(n[core.StatePromoted]) > .015*float64(lives) {
			t.Errorf("success %v: %v, want at most 1.5 %% promoted", p, n)
		}
	}
}

func TestNumbers_OfCrossingsInTheModel(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	graphs := []dagOf{noGraph, onlyPath}
	for _, how := range []string{"S-", "-S", "S--", "--S", "S-S--", "--SS-", "SF", "FS", "SFF", "FFS", "SFSFF", "SSFFF", "FFFSS"} {
		for _, dag := range graphs {
			if got := lived(dag, 500, pattern(how), sessionOf); got.crossings > 2 {
				t.Errorf("%s crosses %d times, want at most 2", how, got.crossings)
			}
		}
	}
	longest, seeds := times(3, 5), uint64(times(10, 100))
	worst := 0
	for length := 1; length <= longest; length++ {
		for _, how := range patterns("SFP-", length) {
			got := lived(noGraph, 500, pattern(how), sessionOf)
			if worst = max(worst, got.crossings); got.crossings > 11 {
				t.Errorf("%s crosses %d times, want at most 11", how, got.crossings)
			}
		}
	}
	t.Logf("a pattern of up to %d turns crosses at most %d times", longest, worst)
	worst = 0
	for i := 1; i < 10; i++ {
		for seed := range seeds {
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			p := float64(i) / 10
			uses, successes := lived(noGraph, 500, randomly(r, p, 1), sessionOf), lived(noGraph, 500, randomly(r, 1, p), sessionOf)
			both := lived(noGraph, 500, randomly(r, p, r.Float64()), sessionOf)
			for _, got := range []came{uses, successes, both} {
				if worst = max(worst, got.crossings); got.crossings > 24 {
					t.Errorf("use or success with p %v, seed %d: %d crossings, want at most 24", p, seed, got.crossings)
				}
			}
		}
	}
	t.Logf("random use and success cross at most %d times", worst)
}

// randomly is a use with one probability, which succeeds with another.
func randomly(r *rand.Rand, used, success float64) use {
	return func(int) string {
		switch {
		case r.Float64() >= used:
			return ""
		case r.Float64() < success:
			return "success"
		}
		return "failure"
	}
}

// patterns lists the words of n letters.
func patterns(letters string, n int) []string {
	words := []string{""}
	for range n {
		var longer []string
		for _, w := range words {
			for _, l := range letters {
				longer = append(longer, w+string(l))
			}
		}
		words = longer
	}
	return words
}

// TestNumbers_OfRealLives lives the table through recall, feedback, evidence and the
// gate, and compares each turn with the model.
func TestNumbers_OfRealLives(t *testing.T) {
	coretest.Long(t)
	if coretest.Plain(t) {
		return
	}
	for _, c := range promised {
		t.Run(c.name, func(t *testing.T) {
			got := newRealLife(t, c.dag).live(t, c.by, pattern(c.how), sessionOf)
			if wrong := atItsEnd(got.state, got.turn, c.state, c.by); wrong != "" {
				t.Error(wrong)
			}
		})
	}
	for seed, p := range []float64{.9, .8, .6, .5, .2}[:coretest.Cases(1, 5)] {
		t.Run(fmt.Sprint("success ", p), func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(seed), 77))
			newRealLife(t, onlyPath).live(t, 120, randomly(r, .8, p), sessionOf)
		})
	}
}

// realLife is a memory of the real parts with its twin in the model.
type realLife struct {
	*governed
	twin *life
}

func newRealLife(t *testing.T, dag dagOf) *realLife {
	t.Helper()
	g := newGoverned(t, empty(t), nil)
	g.observe(t, core.ObserveRequest{ID: "m", Namespace: "ns", Content: "the build needs Go"})
	recorded := &core.WorkflowDAG{Workflow: "w", Entry: []string{"a"}, Exits: []string{"x"}, Edges: [][2]string{{"a", "x"}}, Memories: map[string][]string{"m": {"a"}}}
	switch dag {
	case parallel:
		recorded.Entry, recorded.Edges = []string{"a", "b"}, append(recorded.Edges, [2]string{"b", "x"})
	case longChain: // 50 nodes
		recorded.Exits, recorded.Edges = []string{"n49"}, nil
		for i, from := 1, "a"; i < 50; i++ {
			to := fmt.Sprint("n", i)
			recorded.Edges, from = append(recorded.Edges, [2]string{from, to}), to
		}
	}
	l := &realLife{g, newLife("m", "ns", 0, 0)}
	if l.twin.dag = dag; dag != noGraph {
		_, err := g.evidence.RecordDAG(t.Context(), recorded)
		must(t, err)
	}
	return l
}

// live goes through turns, until the memory ended.
func (l *realLife) live(t *testing.T, turns int, how use, session func(int) string) came {
	t.Helper()
	for turn := 1; turn <= turns; turn++ {
		r := core.RecallRequest{Session: session(turn), Query: "the build needs Go"}
		r.Namespace = "ns"
		found, err := l.Recall(t.Context(), &r)
		if err != nil || len(found.Memories) != 1 { // what fails scores less than .5
			t.Fatalf("turn %d: %+v, %v", turn, found, err)
		}
		by, outcome := core.TurnRef{Session: r.Session, Turn: found.Turn}, how(turn)
		f := core.FeedbackRequest{Session: by.Session, Turn: by.Turn, Outcome: core.Outcome(outcome), Source: "user"}
		if outcome == "" {
			f.Outcome = core.OutcomeSuccess
		} else {
			o := core.ToolOutcome{Tool: "test", OK: outcome == "success"}
			f.Used, f.ToolOutcomes = []string{"m"}, []core.ToolOutcome{o}
			l.twin.tool(by, o)
		}
		_, err = l.Feedback(t.Context(), &f)
		must(t, err)
		l.twin.relevant(by, "", int64(turn), outcome, false, false, min(1, .2+.55+.25*(found.Memories[0].Score+1)/2), false)
		if l.twin.state == core.StateRevalidatePending {
			l.twin.decide(omegaOf{}, int64(turn))
		}
		m, err := l.Get(t.Context(), "m")
		if sdk.ReasonOf(err) == "memory_purged" {
			return came{turn: turn, state: core.StatePurged}
		}
		must(t, err)
		m.Signals.GateEvidence = ""
		if diff := cmp.Diff(l.twin.s, m.Signals, approximately); diff != "" || m.State != l.twin.state {
			t.Fatalf("turn %d: it is %s, the model says %s (-model +got):\n%s", turn, m.State, l.twin.state, diff)
		}
		if m.State == core.StatePromoted {
			return came{turn: turn, state: m.State}
		}
	}
	l.sound(t)
	return came{turn: turns, state: l.twin.state}
}
