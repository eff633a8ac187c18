package memory_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/gate"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/memory/internal/record"
)

const (
	tipTypes, tipTurns = 20, 400
	// rightLikeness and wrongLikeness are a tip's similarities to the tasks of its type.
	rightLikeness, wrongLikeness = .45, .60
)

// tipVectors is an embedder under which tasks and tips have given similarities. All
// have one direction in common, which gives what all tips have; each type has one of
// its own, and each tip what is left to length 1.
type tipVectors map[string][]float32

func (v tipVectors) Model() string { return "tips" }

func (v tipVectors) Embed(_ context.Context, texts []string) ([][]float32, error) {
	list := make([][]float32, len(texts))
	for i, text := range texts {
		if list[i] = v[text]; list[i] == nil {
			return nil, fmt.Errorf("no vector of %q", text)
		}
	}
	return list, nil
}

// newTipVectors draws the similarities to tips of other types from a range.
func newTipVectors(r *rand.Rand, low, high float64) tipVectors {
	const common, own = .6, .8
	base := (low + high) / 2
	v := tipVectors{}
	for kind := range tipTypes {
		task := make([]float32, 1+3*tipTypes)
		task[0], task[1+kind] = common, own
		v[taskOf(kind)] = task
		for i, likeness := range []float64{rightLikeness, wrongLikeness} {
			tip, rest := make([]float32, 1+3*tipTypes), 1.0
			set := func(at int, value float64) { tip[at], rest = float32(value), rest-value*value }
			set(0, base/common)
			for other := range tipTypes {
				like := low + (high-low)*r.Float64()
				if other == kind {
					like = likeness
				}
				set(1+other, (like-base)/own)
			}
			tip[1+tipTypes+2*kind+i] = float32(math.Sqrt(rest))
			v[record.EmbeddedText(tipOf(kind, i == 0))] = tip
		}
	}
	return v
}

// taskOf and tipOf have no word in common, so that similarities alone decide.
func taskOf(kind int) string { return fmt.Sprint("task", kind) }

func tipOf(kind int, right bool) *core.Memory {
	id := fmt.Sprintf("wrong-%02d", kind)
	if right {
		id = fmt.Sprintf("right-%02d", kind)
	}
	return &core.Memory{ID: id, Title: "tip", Content: id}
}

// tipRun is one life of the agent.
type tipRun struct {
	seed      uint64
	dag       bool
	low, high float64 // similarities to tips of other types
	right     float64 // how often right tips succeed
	wrong     float64
	texts     bool // the agent meets texts instead of given similarities
}

// tipParts are what tasks are about: 20 types.
var tipParts = strings.Fields(`importer parser scheduler mailer indexer exporter gateway renderer crawler archiver
	billing search login checkout thumbnail webhook backup migration report upload`)

// taskText and tipText are what an agent meets: the wrong tip has more of the task's words than the
// right one, and all have words in common.
func taskText(kind int) string {
	return fmt.Sprintf("The %s %s times out under load, how do I fix it?", tipParts[kind], tipParts[(kind+7)%tipTypes])
}

func tipText(kind int, right bool) *core.Memory {
	id, how := "wrong", "times out under load, raise the limit of its queue."
	if right {
		id, how = "right", "is slow under load, set the batch size to ten."
	}
	return &core.Memory{
		ID: fmt.Sprintf("%s-%02d", id, kind), Title: "note",
		Content: fmt.Sprintf("If the %s %s %s", tipParts[kind], tipParts[(kind+7)%tipTypes], how),
	}
}

// tipResult says which turns succeeded, and when each right tip was last used.
type tipResult struct {
	passed [tipTurns + 1]bool
	last   [tipTypes]int
}

// rate is the share of turns that succeeded, from one to another.
func (r *tipResult) rate(from, to int) float64 {
	n := 0
	for turn := from; turn <= to; turn++ {
		if r.passed[turn] {
			n++
		}
	}
	return float64(n) / float64(to-from+1)
}

// live makes the agent use the first tip that is recalled for a task of a random type,
// in sessions of 3 to 12 turns, and report how it went with its tool's outcome.
func (c tipRun) live(t *testing.T) (result tipResult) {
	t.Helper()
	r := rand.New(rand.NewPCG(c.seed, 7))
	task, tipOf := taskOf, tipOf
	w := whole(t, empty(t), func(o *memory.Options) {
		unwatched(o)
		if o.Embedder = nil; !c.texts {
			o.Embedder = newTipVectors(r, c.low, c.high)
		}
	})
	if c.texts {
		task, tipOf = taskText, tipText
	}
	for kind := range tipTypes {
		for _, right := range []bool{true, false} {
			tip := tipOf(kind, right)
			w.observe(t, core.ObserveRequest{ID: tip.ID, Title: tip.Title, Content: tip.Content})
		}
		if c.dag {
			w.recordTipDAG(t, kind)
		}
	}
	session, left, number := 0, 0, int64(0)
	for turn := 1; turn <= tipTurns; turn++ {
		if left == 0 {
			session, left, number = session+1, 3+r.IntN(10), 0
		}
		left--
		number++
		kind := r.IntN(tipTypes)
		name := fmt.Sprint("session-", session)
		found := w.recall(t, core.RecallRequest{Session: name, Turn: number, Query: task(kind)}).Memories
		if len(found) == 0 {
			t.Fatalf("turn %d recalls nothing", turn)
		}
		used, luck := found[0].ID, r.Float64()
		switch used {
		case tipOf(kind, true).ID:
			result.passed[turn] = luck < c.right
			result.last[kind] = turn
		case tipOf(kind, false).ID:
			result.passed[turn] = luck < c.wrong
		}
		feedback := &core.FeedbackRequest{Session: name, Turn: number, Outcome: core.OutcomeFailure, Source: "tool", Used: []string{used}}
		if result.passed[turn] {
			feedback.Outcome = core.OutcomeSuccess
		}
		feedback.ToolOutcomes = []core.ToolOutcome{{MemoryID: used, Tool: "do", OK: result.passed[turn], Ref: fmt.Sprint("turn:", turn)}}
		if _, err := w.Feedback(t.Context(), feedback); err != nil {
			t.Fatal(err)
		}
	}
	return result
}

// recordTipDAG has both tips of a type on the only path of its workflow.
func (w *world) recordTipDAG(t *testing.T, kind int) {
	t.Helper()
	dag := &core.WorkflowDAG{
		Workflow: taskOf(kind), Entry: []string{"a"}, Exits: []string{"x"}, Edges: [][2]string{{"a", "x"}},
		Memories: map[string][]string{tipOf(kind, true).ID: {"a"}, tipOf(kind, false).ID: {"a"}},
	}
	writer := journal.Writer{Store: w.store, Clock: w.clock}
	err := writer.Update(t.Context(), func(tx *journal.Tx) error {
		_, err := gate.Evidence{}.RecordDAG(tx, dag)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// tipWorlds are what the figures below hold in. Without a stress run they are lived in the
// easiest and the hardest of the four, and where they are many in the hardest only.
func tipWorlds(t *testing.T, many bool, test func(t *testing.T, c tipRun)) {
	for _, dag := range []bool{true, false} {
		for _, low := range []float64{.1, .18} {
			if !coretest.Stress() && (many && dag || dag != (low < .15)) {
				continue
			}
			name := fmt.Sprintf("others' tips at %.2f to %.2f, DAG %v", low, low+.2, dag)
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, tipRun{dag: dag, low: low, high: low + .2})
			})
		}
	}
}

// TestAnAgentLearnsWhichTipIsRight is of an agent with a right and a wrong tip for
// each of 20 types of tasks, the wrong one worded nearer to the task.
func TestAnAgentLearnsWhichTipIsRight(t *testing.T) {
	tipWorlds(t, false, func(t *testing.T, c tipRun) {
		for c.seed = range uint64(times(1, 2)) {
			c.right, c.wrong = 1, 0
			result := c.live(t)
			early, late := result.rate(101, 200), result.rate(301, 400)
			if early < .9 || late < .98 {
				t.Errorf("seed %d: %.3f of turns 101 to 200 succeed, %.3f of 301 to 400", c.seed, early, late)
			}
		}
	})
}

// TestAnAgentLearnsFromTexts is the same with texts as they are, where words alone find the tips.
func TestAnAgentLearnsFromTexts(t *testing.T) {
	for _, c := range []struct{ right, wrong, early, late float64 }{{1, 0, .93, .99}, {.9, .1, .77, .87}} {
		t.Run(fmt.Sprintf("right tips succeed in %v, wrong ones in %v", c.right, c.wrong), func(t *testing.T) {
			t.Parallel()
			first, early, late, seeds := 0.0, 0.0, 0.0, times(2, 10)
			for seed := range seeds {
				result := tipRun{texts: true, right: c.right, wrong: c.wrong, seed: uint64(seed)}.live(t) //nolint:gosec // a few
				first += result.rate(1, 100) / float64(seeds)
				early += result.rate(101, 200) / float64(seeds)
				late += result.rate(301, 400) / float64(seeds)
			}
			t.Logf("%.3f of turns 1 to 100 succeed, %.3f of 101 to 200, %.3f of 301 to 400", first, early, late)
			if early < c.early || late < c.late {
				t.Errorf("%.3f of turns 101 to 200 succeed, %.3f of 301 to 400, want %v and %v", early, late, c.early, c.late)
			}
		})
	}
}

// TestAnAgentLearnsUnderNoise has right tips succeed in 90 % of their uses, and wrong
// ones in 10 %, in four lives, or in 20 of a stress run.
func TestAnAgentLearnsUnderNoise(t *testing.T) {
	seeds := coretest.Cases(1, times(4, 20))
	tipWorlds(t, true, func(t *testing.T, c tipRun) {
		early, late := 0.0, 0.0
		for c.seed = range uint64(seeds) {
			c.right, c.wrong = .9, .1
			result := c.live(t)
			early += result.rate(101, 200) / float64(seeds)
			late += result.rate(301, 400) / float64(seeds)
			for kind, last := range result.last {
				if last <= tipTurns-200 {
					t.Errorf("seed %d: the right tip of type %d was last used in turn %d", c.seed, kind, last)
				}
			}
		}
		t.Logf("%.3f of turns 101 to 200 succeed, %.3f of 301 to 400", early, late)
		if early < .8 || late < .85 {
			t.Errorf("%.3f of turns 101 to 200 succeed, %.3f of 301 to 400", early, late)
		}
	})
}
