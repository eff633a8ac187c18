package memory_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/dream"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/memory/text"
)

// agentLife is an agent that remembers for days, with a pass of housekeeping each night.
type agentLife struct {
	*world
	t    *testing.T
	rnd  *rand.Rand
	said int
	// planted are what questions are asked about, in the order of their days.
	planted []planted
	// used are the memories that a turn used.
	used map[string]bool
}

// planted is a fact, and the question that asks for it.
type planted struct{ id, question, content string }

// TestDream_AnAgentsLife tidies up an agent's memory each night. Nothing that was recalled and
// used is archived or lost, what was asked for is found as well after a pass as before it, and
// the store becomes smaller by what the plans said. REFLECTORY_STRESS=1 uses 2,000 memories in
// 60 days.
func TestDream_AnAgentsLife(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	memories, days := 200, 10
	if os.Getenv("REFLECTORY_STRESS") != "" {
		memories, days = 2000, 60
	}
	l := &agentLife{world: dreamer(t, empty(t)), t: t, rnd: rand.New(rand.NewPCG(7, 1)), used: map[string]bool{}}
	steps := map[dream.StepKind]int{}
	for day := range days {
		for l.said < (day+1)*memories/days {
			l.remember()
			l.clock.Advance(time.Duration(1+l.rnd.IntN(20)) * time.Minute)
		}
		l.work(day)
		l.clock.Advance(24*time.Hour - l.clock.Now().Sub(l.midnight()))
		found, live := l.found(), l.live()
		report, err := l.Dreams.Run(t.Context(), memory.DreamRequest{Namespace: "ns"}, nil)
		must(t, err)
		if report.Skipped != "" {
			t.Fatalf("night %d: the pass is skipped: %s", day, report.Skipped)
		}
		if after := l.found(); after < found {
			t.Errorf("night %d: %d of %d questions find their memory, before the pass %d", day, after, len(l.planted), found)
		}
		if gone := l.gone(report.RunID, steps); live-l.live() != gone {
			t.Errorf("night %d: %d memories are gone, the plan said %d", day, live-l.live(), gone)
		}
		for id := range l.used {
			l.wantKept(id)
		}
	}
	l.wantSound(t)
	t.Logf("of %d memories %d are in use; steps: %v; %d of %d questions find theirs", l.said, l.live(), steps, l.found(), len(l.planted))
	if l.said != memories || len(l.planted) < memories/20 || l.found() < len(l.planted)*9/10 || len(l.used) < len(l.planted) {
		t.Errorf("%d memories, %d questions, %d found, %d used", l.said, len(l.planted), l.found(), len(l.used))
	}
	for _, kind := range []dream.StepKind{dream.StepDates, dream.StepMerge, dream.StepConflict, dream.StepArchive} {
		if steps[kind] == 0 {
			t.Errorf("no pass had a step %s", kind)
		}
	}
}

// midnight is when the day of now began.
func (l *agentLife) midnight() time.Time { return l.clock.Now().Truncate(24 * time.Hour) }

// The words that memories are made of: enough that most say something of their own.
var (
	lifeThings = []string{"pump", "ledger", "gate", "boiler", "crane", "kiln", "loom", "mill", "press", "winch", "furnace", "lathe"}
	lifePlaces = []string{"north yard", "south yard", "old hall", "new hall", "dry dock", "east wing", "west wing", "upper floor"}
	lifePeople = []string{"Anna", "Bela", "Carl", "Dora", "Emil", "Fatma"}
)

func (l *agentLife) pick(of []string) string { return of[l.rnd.IntN(len(of))] }

// word is a word that hardly anybody else says.
func (l *agentLife) word() string {
	const syllables = "bakedilomunoparesituva"
	var b strings.Builder
	for range 3 {
		at := 2 * l.rnd.IntN(len(syllables)/2)
		b.WriteString(syllables[at : at+2])
	}
	return b.String()
}

// remember stores what an agent comes across on a day: facts that it will need, what it said
// before in other words, appointments, numbers that change, and talk.
func (l *agentLife) remember() {
	l.t.Helper()
	importance := float64(l.rnd.IntN(3)) / 10
	q := core.ObserveRequest{Attributes: core.Attributes{Importance: &importance}}
	thing, place, n := l.pick(lifeThings), l.pick(lifePlaces), l.rnd.IntN(900)+100
	switch kind := l.said % 20; {
	case kind == 0 || kind == 10:
		importance = .4
		number := len(l.planted)
		q.Content = fmt.Sprintf("The locker %d of %s beside the %s opens with code %d.", number, l.pick(lifePeople), place, n*7)
		l.planted = append(l.planted, planted{question: fmt.Sprintf("Which code opens locker %d?", number), content: q.Content})
	case kind < 5: // again what was said
		q.Content = fmt.Sprintf("please check the %s in the %s", thing, place)
	case kind < 7:
		q.Content = fmt.Sprintf("Check the %s in the %s!", thing, place)
	case kind < 10:
		q.Content = fmt.Sprintf("%s repaired the %s in the %s yesterday.", l.pick(lifePeople), thing, place)
	case kind < 12:
		q.Content = fmt.Sprintf("The %s in the %s runs at %d revolutions.", thing, place, n)
	default:
		q.Content = fmt.Sprintf("%s talked about %s, %s, %s and %s.", l.pick(lifePeople), l.word(), l.word(), l.word(), l.word())
	}
	m := l.observe(l.t, q)
	if at := len(l.planted) - 1; at >= 0 && l.planted[at].id == "" {
		l.planted[at].id = m.ID
	}
	l.said++
}

// work does the turns of a day: what was planted last is asked for and used, as are some
// older facts.
func (l *agentLife) work(day int) {
	l.t.Helper()
	session := fmt.Sprint("day-", day)
	for i, p := range l.planted {
		if l.used[p.id] && l.rnd.IntN(10) > 0 && i < len(l.planted)-3 {
			continue
		}
		r, err := l.Recall(l.t.Context(), &core.RecallRequest{Session: session, Query: p.question, RecallFilter: core.RecallFilter{Namespace: "ns"}})
		must(l.t, err)
		var used []string
		for _, m := range r.Memories {
			if m.ID == p.id {
				used = append(used, m.ID)
			}
		}
		l.feedback(l.t, session, r.Turn, core.OutcomeSuccess, used...)
		for _, id := range used {
			l.used[id] = true
		}
	}
}

// found counts the questions whose memory is among the first ten of a recall, which leaves no
// trace: it is in no session.
func (l *agentLife) found() (n int) {
	l.t.Helper()
	for _, p := range l.planted {
		r, err := l.Recall(l.t.Context(), &core.RecallRequest{Query: p.question, Limit: 10, RecallFilter: core.RecallFilter{Namespace: "ns"}})
		must(l.t, err)
		if slices.ContainsFunc(r.Memories, func(m core.Recalled) bool { return m.ID == p.id || strings.Contains(m.Content, p.content) }) {
			n++
		}
	}
	return n
}

// live counts the memories in use.
func (l *agentLife) live() (n int) {
	l.t.Helper()
	must(l.t, l.Each(l.t.Context(), "ns", time.Time{}, func(m *core.Memory) bool {
		if m.State.Live() {
			n++
		}
		return true
	}))
	return n
}

// gone is how many memories a run's plan takes out of use, all of whose steps were done.
func (l *agentLife) gone(run string, steps map[dream.StepKind]int) (n int) {
	l.t.Helper()
	d, done, err := l.Dreams.Get(l.t.Context(), run)
	must(l.t, err)
	if len(done) != len(d.Plan.Steps) {
		l.t.Errorf("%d of %d steps were tried", len(done), len(d.Plan.Steps))
	}
	for _, s := range d.Plan.Steps {
		steps[s.Kind]++
		for _, c := range s.Changes {
			if c.Field == "state" && (c.After == string(core.StateArchived) || c.After == string(core.StateConsolidated)) {
				n++
			}
		}
	}
	return n
}

// wantKept checks that a memory is in use, or says the same as the memory that it was merged
// into, which is.
func (l *agentLife) wantKept(id string) {
	l.t.Helper()
	first := l.get(l.t, id)
	m := first
	for m.State == core.StateConsolidated {
		m = l.get(l.t, m.MergedInto)
	}
	if !m.State.Live() || text.Normal(m.Content) != text.Normal(first.Content) {
		l.t.Errorf("memory %s was used, and is %s: %q is left of %q", id, m.State, m.Content, first.Content)
	}
}
