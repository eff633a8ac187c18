package lives_test

import (
	"fmt"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/gate"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/sdk"
)

// expert is the product's memory with evidence for the gate: each note is at the entry of a workflow, and
// a tool shows how each use of it went. So what helps becomes knowledge.
type expert struct{ *product }

func (e expert) learn(n note) {
	e.product.learn(n)
	err := e.writer.Update(e.t.Context(), func(tx *journal.Tx) error {
		_, err := gate.Evidence{}.RecordDAG(tx, &core.WorkflowDAG{
			Workflow: n.id, Entry: []string{"advise"}, Exits: []string{"act"}, Edges: [][2]string{{"advise", "act"}},
			Memories: map[string][]string{n.id: {"advise"}},
		})
		return err
	})
	if err != nil {
		e.t.Fatal(err)
	}
}

func (e expert) report(r report) {
	e.tools = nil
	if r.reply != "" { // the tool says nothing of memories, as a hook of a coding agent doesn't
		e.tools = []core.ToolOutcome{{Tool: "check", OK: r.success}}
	}
	for _, id := range r.named {
		e.tools = append(e.tools, core.ToolOutcome{MemoryID: id, Session: r.session, Turn: r.turn, Tool: "check", OK: r.success})
	}
	e.product.report(r)
}

// known are the notes that are knowledge.
func (e expert) known(notes []string) (known []string) {
	for _, id := range notes {
		m, err := e.Get(e.t.Context(), id)
		if sdk.ReasonOf(err) == "memory_purged" {
			continue
		}
		if err != nil {
			e.t.Fatal(err)
		}
		if m.PromotedTo != "" {
			known = append(known, id)
		}
	}
	return known
}

// TestLives_OutdatedKnowledge has half the world drift once what helps has become knowledge: of the tips
// that are wrong from then on, none stays knowledge for 400 turns.
func TestLives_OutdatedKnowledge(t *testing.T) {
	coretest.Long(t)
	if coretest.Plain(t) {
		return
	}
	n, _ := seeds(t)
	for _, l := range []struct {
		name  string
		reach float64
		life
	}{
		{"1/0", 1, life{right: 1}},
		{".9/.1", 6. / 7, life{right: .9, wrong: .1}},
	} {
		l.turns, l.drift, l.newTip, l.reads = 900, 501, true, 1
		outdated, fell := make([]float64, n), make([]float64, n)
		t.Run("lives", func(t *testing.T) {
			for seed := range n {
				t.Run(fmt.Sprint(seed), func(t *testing.T) {
					t.Parallel()
					e := expert{newProduct(t)}
					w := l.world(t, seedOf(t, seed), e)
					var known []string
					w.changed = func(outdated []string) { known = e.known(outdated) }
					w.live()
					outdated[seed], fell[seed] = float64(len(known)), 1-float64(len(e.known(known)))/float64(max(1, len(known)))
				})
			}
		})
		r := row{name: "half the world drifts at 501, " + l.name + ", knowledge that is outdated then, of 10 tips"}
		r.print(t, outdated, nil)
		r = row{name: "half the world drifts at 501, " + l.name + ", of this, demoted within 400 turns", reach: l.reach}
		r.print(t, fell, nil)
	}
}
