package gate_test

import (
	"math"
	"slices"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/policypoint"
)

// p and the lane were computed by hand. Each turn but the ninth used the memory.
func TestTheReactLane(t *testing.T) {
	ok, recovered, failed := func(turn int64) core.ToolOutcome { return tool(turn, true, false, "") },
		func(turn int64) core.ToolOutcome { return tool(turn, false, true, "") },
		func(turn int64) core.ToolOutcome { return tool(turn, false, false, "") }
	used := core.Signals{Successes: 1}
	relevant := func(n int64, recent []core.TurnRef) core.Signals {
		s := used
		s.RelevantTurns, s.Successes, s.RecentUses = 2*n, n, recent
		return s
	}
	cases := []struct {
		name                 string
		signals              core.Signals
		outcomes             []core.ToolOutcome
		failures, recoveries int64
		recurrence, lane     float64
	}{
		{"nothing is known", used, nil, 0, 0, 0, .2},
		{"no turn has an outcome", relevant(4, turns("s", 1, 4)), nil, 0, 0, 0, .2},
		{"a call that went well", relevant(4, turns("s", 1, 4)), []core.ToolOutcome{ok(1)}, 0, 0, .25, 2.0 / 3 * .55},
		{"every turn recovered", relevant(2, turns("s", 1, 2)), []core.ToolOutcome{recovered(1), recovered(2)}, 0, 2, 1, .75},
		{"a call that went well after a failure", relevant(1, turns("s", 1, 1)), []core.ToolOutcome{tool(1, true, true, "")}, 0, 1, 1, 2.0 / 3},
		{"every turn failed", relevant(2, turns("s", 1, 2)), []core.ToolOutcome{failed(1), failed(2)}, 2, 0, 1, .25},
		{"three recovered and one not", relevant(8, turns("s", 1, 8)), []core.ToolOutcome{recovered(1), recovered(2), recovered(3), failed(4)}, 1, 3, .5, 4.0 / 6 * .7},
		{"what went well without the memory doesn't speak for it", relevant(2, turns("s", 1, 2)), []core.ToolOutcome{recovered(9)}, 0, 1, 0, .2},
		{"outcomes of other sessions don't recur", relevant(2, turns("s2", 1, 2)), []core.ToolOutcome{failed(1)}, 1, 0, 0, 1.0 / 3 * .4},
		{"two outcomes of a turn recur once", relevant(2, turns("s", 1, 2)), []core.ToolOutcome{tool(1, false, false, "x"), tool(1, true, true, "y")}, 1, 1, .5, .5 * .7},
		{"of many turns the last 20 count", relevant(50, turns("s", 31, 50)), []core.ToolOutcome{recovered(30), recovered(31), recovered(50)}, 0, 3, .1, .8 * .46},
		{"a longer memory of turns is cut", relevant(50, turns("s", 29, 50)), []core.ToolOutcome{recovered(30), recovered(31)}, 0, 2, .05, .75 * .43},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := newMem(t)
			d.tools(c.outcomes...)
			n := d.decide(retains, &verdict.GateCase{Memory: memory(c.signals)}).Numbers
			if n.ToolFailures != c.failures || n.RecoverySuccess != c.recoveries ||
				math.Abs(n.Recurrence-c.recurrence) > 1e-12 || math.Abs(n.React-c.lane) > 1e-12 {
				t.Errorf("failures %d, recoveries %d, recurrence %v, lane %v", n.ToolFailures, n.RecoverySuccess, n.Recurrence, n.React)
			}
		})
	}
}

func TestTheReferencesOfTools(t *testing.T) {
	recent := turns("s", 1, 3)
	cases := []struct {
		name    string
		signals core.Signals
		with    []core.ToolOutcome
		want    []string
	}{
		{"none", core.Signals{Successes: 1, Recent: recent}, nil, []string{}},
		{"the newest first, each once", core.Signals{Failures: 1}, []core.ToolOutcome{tool(1, true, false, "one"), tool(2, true, false, "two"), tool(3, true, false, "one")}, []string{"one", "two"}},
		{"a turn for want of one", core.Signals{Partials: 1}, []core.ToolOutcome{tool(4, true, false, "")}, []string{"turn:s/4"}},
		{"the turns that offered what was never used", core.Signals{Recent: recent}, nil, []string{"turn:s/3", "turn:s/2", "turn:s/1"}},
		{"those after what tools say", core.Signals{Recent: recent}, []core.ToolOutcome{tool(2, false, false, ""), tool(9, false, false, "x")}, []string{"x", "turn:s/2", "turn:s/3", "turn:s/1"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := newMem(t)
			d.tools(c.with...)
			if got := d.decide(retains, &verdict.GateCase{Memory: memory(c.signals)}).ReactRefs; got == nil || !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestTheBestGraphCounts(t *testing.T) {
	d := newMem(t)
	middle := d.dag(line("middle", map[string][]string{"m": {"b"}})) // lane .833
	first := d.dag(line("start", map[string][]string{"m": {"a"}}))   // lane .917
	lost := d.dag(line("lost", map[string][]string{"m": {"gone"}}))  // lane 0
	d.dag(line("others", map[string][]string{"n": {"a"}}))           // doesn't name it
	same := d.dag(line("twin", map[string][]string{"m": {"a"}}))     // as good as start
	made := d.decide(retains, &verdict.GateCase{Memory: memory(core.Signals{RelevantTurns: 9})})
	if n := made.Numbers; n.Workflow != "start" || math.Abs(n.Graph-(.75+.5/3)) > 1e-12 || !n.PathReachable {
		t.Errorf("%+v", n)
	}
	want := []string{"dag:lost@" + lost.Digest, "dag:middle@" + middle.Digest, "dag:start@" + first.Digest, "dag:twin@" + same.Digest}
	if !slices.Equal(made.GraphRefs, want) {
		t.Errorf("references %q", made.GraphRefs)
	}
}

func TestAMemoryIsUnreachableOnlyInAllWorkflows(t *testing.T) {
	d := newMem(t)
	d.dag(line("v", map[string][]string{"m": {"gone"}}))
	d.dag(line("w", map[string][]string{"m": {"away"}}))
	n := d.decide(retains, &verdict.GateCase{Memory: memory(core.Signals{})}).Numbers
	if !n.GraphKnown || n.PathReachable || n.Graph != 0 || n.Workflow != "v" {
		t.Errorf("in both: %+v", n)
	}
	d.dag(dagOf("a", "b", "a>b a>c", "c")) // workflow w, where it leads nowhere
	n = d.decide(retains, &verdict.GateCase{Memory: memory(core.Signals{})}).Numbers
	if !n.PathReachable || n.Graph != .4 || n.Workflow != "w" {
		t.Errorf("in one: %+v", n)
	}
}

func TestTheOmegaLane(t *testing.T) {
	d := newMem(t)
	of := func(x float64) *float64 { return &x }
	for _, c := range []struct {
		omega policypoint.OmegaFactors
		want  float64
	}{
		{policypoint.OmegaFactors{}, .5},
		{policypoint.OmegaFactors{UpstreamStatus: of(1)}, 2.0 / 3},
		{policypoint.OmegaFactors{CodebaseVerification: of(0), RuntimeUtilityTrend: of(.1)}, .2},
		{policypoint.OmegaFactors{UpstreamStatus: of(.9), CodebaseVerification: of(.6), RuntimeUtilityTrend: of(.3)}, .6},
	} {
		made := d.decide(retains, &verdict.GateCase{Memory: memory(core.Signals{}), Omega: c.omega, Notes: []string{"a note"}})
		if math.Abs(made.Numbers.Omega-c.want) > 1e-12 || made.Omega.UpstreamStatus != c.omega.UpstreamStatus || !slices.Equal(made.Omega.Notes, []string{"a note"}) {
			t.Errorf("%+v, want %v", made.Numbers.Omega, c.want)
		}
	}
}

func TestTheFailureRate(t *testing.T) {
	d := newMem(t)
	for _, c := range []struct {
		signals core.Signals
		want    float64
	}{
		{core.Signals{}, 0},
		{core.Signals{LastOutcomeError: true}, 1},
		{core.Signals{Successes: 3, LastOutcomeError: true}, 0},
		{core.Signals{Successes: 1, Partials: 1, Failures: 2}, .5},
	} {
		if got := d.decide(retains, &verdict.GateCase{Memory: memory(c.signals)}).Numbers.FailureRate; got != c.want {
			t.Errorf("%+v: %v, want %v", c.signals, got, c.want)
		}
	}
}

// TestMemoriesArentMixedUp has ids that begin alike.
func TestMemoriesArentMixedUp(t *testing.T) {
	d := newMem(t)
	d.Memories = homes{"m": "a", "m2": "a", "m.": "a"}
	for _, id := range []string{"m2", "m."} {
		o := tool(1, false, false, "")
		o.MemoryID = id
		d.tools(o)
	}
	d.dag(line("w", map[string][]string{"m2": {"a"}, "m.": {"b"}}))
	made := d.decide(retains, &verdict.GateCase{Memory: memory(core.Signals{Successes: 1, Recent: turns("s", 1, 1), RelevantTurns: 1})})
	if n := made.Numbers; n.GraphKnown || n.ToolFailures != 0 || n.Recurrence != 0 || len(made.GraphRefs)+len(made.ReactRefs) != 0 {
		t.Errorf("%+v", made)
	}
}

var _ gate.Memories = homes{}
