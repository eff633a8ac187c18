package memory_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/gate"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/sdk"
)

// TestModelOfLives runs the same random turns, evidence, sweeps and decisions of
// the gate on mem, on pebble and on a model that has the formulas of the
// specification once more, and compares the answers and then the contents.
func TestModelOfLives(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	for _, seed := range []uint64{21, 10, 3}[:times(1, 3)] {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { modelLives(t, seed) })
	}
}

func modelLives(t *testing.T, seed uint64) {
	p := newModelPlan(100 * modelOps)
	real := func(o *memory.Options) {
		o.Retention, o.Reflection, o.Gate, o.DeferGate = defaults(), defaults(), gate.New(defaults()), true
	}
	engines := []*governed{newGoverned(t, empty(t), real), newGoverned(t, openPebble(t), real)}
	for _, g := range engines {
		_, err := g.settings.Set(t.Context(), experiments, "experiment=on", "regret_budget=6")
		must(t, err)
	}
	l := &lives{
		r: rand.New(rand.NewPCG(seed, 35)), all: map[string]*life{}, turns: map[core.TurnRef]*offer{},
		counters: map[string]int64{}, current: map[string]int64{}, bias: map[string]float64{}, came: map[string]int{},
	}
	for i := range p.ops {
		op := l.draw(i)
		first := op.run(t, engines[0])
		if diff := cmp.Diff(first, op.run(t, engines[1])); diff != "" {
			t.Fatalf("operation %d, %s: the engines answer differently (-mem +pebble):\n%s", i, op.name, diff)
		}
		came, wrong := op.judge(&first)
		if l.came[op.name+" "+came]++; wrong != "" {
			t.Fatalf("operation %d, %s: %s", i, op.name, wrong)
		}
		p.check(i, func(engine int) { engines[engine].sound(t) })
		if p.compares(i) {
			l.compare(t, engines)
		}
		if t.Failed() {
			t.Fatalf("operation %d, %s", i, op.name)
		}
	}
	t.Logf("%v", l.came)
	for came, n := range map[string]int{
		"gate retain": 5, "gate purge": 1, "gate promote": 1, "gate demote": 1, "recall withheld": 1, "feedback inferred": 5, "gate state_conflict": 5, "feedback duplicate": 50,
		"dream archived": 2, "dream consolidated": 2, "restore active": 5, "sweep ": 8, "reflect source_purged": 1,
	} {
		if l.came[came] < n*min(p.ops, 3*modelOps)/modelOps {
			t.Errorf("%s came %d times, want %d", came, l.came[came], n*min(p.ops, 3*modelOps)/modelOps)
		}
	}
}

// lives is what the memories should be.
type lives struct {
	r        *rand.Rand
	all      map[string]*life
	turns    map[core.TurnRef]*offer
	order    []core.TurnRef // of the turns
	counters map[string]int64
	current  map[string]int64 // turn of each session
	bias     map[string]float64
	came     map[string]int
	// subject is a word of all that is stored and asked for now. With modelOps operations
	// comes another, or what was promoted would be recalled ever after, and little else.
	subject string
	// late is whether the world has changed since: what was good isn't any more.
	late bool
}

// offer is what a turn's recalls returned.
type offer struct {
	items []core.Recalled
	of    []int
	done  *core.FeedbackResult
	// under are the memories that were under test in it, and without the one that was left out.
	under   []string
	without string
}

// lifeOp is an operation: run returns what an engine answers, and judge applies
// that to the model, and says what the result was and what is wrong with it.
type lifeOp struct {
	name  string
	run   func(*testing.T, *governed) lifeAnswer
	judge func(*lifeAnswer) (came, wrong string)
}

type lifeAnswer struct {
	Reason   string
	Memories []core.Recalled
	Feedback *core.FeedbackResult
	Decision *verdict.GateDecision
	Memory   *core.Memory
	Sweep    *memory.SweepResult
	ID       string
	Depth    int
	Turn     int64
	Withheld []string
	Nothing  bool
}

func (l *lives) draw(i int) lifeOp {
	l.subject, l.late = fmt.Sprint("subject", i/modelOps), i%modelOps > modelOps*3/4
	switch n := l.r.IntN(100); {
	case n < 3:
		return l.observe(i)
	case n < 5:
		return l.reflect(i)
	case n < 43:
		return l.recall()
	case n < 81:
		return l.feedback()
	case n < 89:
		return l.graph()
	case n < 91:
		return l.sweep()
	case n < 92:
		return l.dream()
	case n < 95:
		return l.restore()
	default:
		return l.gate()
	}
}

func (l *lives) namespace() string { return oneOf(l.r, "a", "a/b") }

// some is the memory of the model that n leads to, in the order of the ids, of
// those that fit; nil for none.
func (l *lives) some(fits func(*life) bool) *life {
	var list []*life
	for _, id := range slices.Sorted(maps.Keys(l.all)) {
		if fits(l.all[id]) {
			list = append(list, l.all[id])
		}
	}
	if len(list) == 0 {
		return nil
	}
	return list[l.r.IntN(len(list))]
}

func (l *lives) any() *life { return l.some(func(*life) bool { return true }) }

func (l *lives) born(id, namespace, author string, depth int) {
	m := newLife(id, namespace, depth, l.counters[namespace])
	m.author, m.experiment = author, namespace == experiments
	m.s.Window = m.window()
	l.all[id] = m
}

// approximately compares numbers that were computed in another order. Scores are rounded
// to 1e-9, so one that lies between two of these may come out as either.
var approximately = cmpopts.EquateApprox(0, 1.5e-9)

// compare holds what the engines have against the model and each other.
func (l *lives) compare(t *testing.T, engines []*governed) {
	t.Helper()
	for _, g := range engines {
		for id, want := range l.all {
			m, err := g.Get(t.Context(), id)
			if want.state == core.StatePurged {
				wantReason(t, err, sdk.NotFound, "memory_purged")
				continue
			}
			must(t, err)
			got := fmt.Sprint(m.Namespace, m.State, m.ReflectionDepth, m.AccessCount, m.CreatedTurn)
			if model := fmt.Sprint(want.namespace, want.state, want.depth, want.accesses, want.created); got != model {
				t.Errorf("%s is %s, want %s", id, got, model)
			}
			m.Signals.GateEvidence = "" // a digest, which the model doesn't make
			if diff := cmp.Diff(want.s, m.Signals, approximately); diff != "" {
				t.Errorf("signals of %s (-model +got):\n%s", id, diff)
			}
			explained, err := g.Explain(t.Context(), id)
			must(t, err)
			if diff := cmp.Diff(want.tested(), explained.Effect, cmpopts.EquateApprox(0, 1e-6)); diff != "" {
				t.Errorf("effect of %s (-model +got):\n%s", id, diff)
			}
		}
		for session, want := range l.bias {
			if got, err := g.Sessions.Bias(asSubject(t, subjectOf(session)), session); err != nil || math.Abs(got-want) > 1e-9 {
				t.Errorf("the bias of %s is %v, want %v, %v", session, got, want, err)
			}
		}
	}
	var kept [2]map[string]string
	for i, g := range engines {
		kept[i] = dump(t, g.store)
		// What is kept of the index follows from the memories, and is written when there is time.
		maps.DeleteFunc(kept[i], func(key, _ string) bool { return strings.HasPrefix(key, "memory-index") })
	}
	if diff := cmp.Diff(kept[0], kept[1]); diff != "" {
		t.Errorf("the engines differ (-mem +pebble):\n%s", diff)
	}
}
