package lives_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/memory"
)

// The length of a life with nightly passes, whole and in short, and how much is said on a day.
const (
	nights, fewNights = 60, 10
	saidADay          = 12
	foundFrom         = 10 // how many results a question looks at
)

// fact is something that nobody asks about before the end.
type fact struct{ id, content, question string }

// diary is what is said in the days of a life.
type diary struct {
	rnd   *rand.Rand
	tasks []task
	facts []fact
	said  int
}

var (
	people = []string{"Anna", "Boris", "Chiara", "Dmitri", "Elena", "Farid", "Greta", "Hugo", "Ines", "Jonas"}
	places = []string{"Lisbon", "Graz", "Turin", "Oslo", "Ghent", "Porto", "Lyon", "Basel", "Malmo", "Krakow", "Bergen", "Verona"}
	things = []string{"violin", "telescope", "kayak", "typewriter", "chessboard", "drone", "sewing machine", "record player", "tent", "microscope"}
	deeds  = []string{"bought a %s in %s", "lent the %s to a friend in %s", "repaired a %s at the workshop in %s", "sold a %s to a museum in %s"}
	asked  = []string{"Where did %s buy the %s?", "To whom did %s lend the %s?", "At which workshop did %s repair the %s?", "To which museum did %s sell the %s?"}
	smalls = []string{"good morning, how are you today?", "thanks, see you later!", "ok, done", "could you please look at this again?", "great, that works for me"}
)

// day is what is said on a day: a fact, small talk, and notes on tasks, some of them again.
func (d *diary) day(number int) (list []note) {
	say := func(content string) string {
		d.said++
		id := fmt.Sprintf("said-%04d", d.said)
		list = append(list, note{id, content})
		return id
	}
	for i := range 2 {
		n := 2*number + i
		who, thing, what := n%len(people), (n/len(people))%len(things), d.rnd.IntN(len(deeds))
		content := fmt.Sprintf("%s "+deeds[what]+".", people[who], things[thing], pick(d.rnd, places))
		d.facts = append(d.facts, fact{say(content), content, fmt.Sprintf(asked[what], people[who], things[thing])})
	}
	for len(list) < saidADay {
		k := &d.tasks[d.rnd.IntN(len(d.tasks))]
		switch d.rnd.IntN(4) {
		case 0:
			say(pick(d.rnd, smalls))
		case 1:
			say(k.word(d.rnd, riding, pick(d.rnd, k.riders)))
		default:
			say(k.word(d.rnd, near, pick(d.rnd, k.wrong)))
		}
	}
	return list
}

// aged is how a store does after all the days.
type aged struct {
	found, live float64
}

// age lives the days, with or without passes.
func age(t *testing.T, seed uint64, days int, passes bool) aged {
	p := newProduct(t)
	p.clock.Advance(time.Date(2026, time.January, 5, 8, 0, 0, 0, time.UTC).Sub(p.clock.Now()))
	d := diary{rnd: rand.New(rand.NewPCG(seed, 5)), tasks: tasks(t)}
	for day := range days {
		start := p.clock.Now()
		for _, n := range d.day(day) {
			p.learn(n)
		}
		for turn := range int64(4) {
			q := request{"agent", fmt.Sprint("day-", day), turn + 1, d.tasks[d.rnd.IntN(len(d.tasks))].ask(d.rnd)}
			p.report(report{request: q, named: p.recall(q)[:1], success: true})
		}
		p.clock.Advance(24*time.Hour - p.clock.Now().Sub(start))
		if passes {
			if _, err := p.Dreams.Run(t.Context(), memory.DreamRequest{Namespace: namespace}, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	return p.measure(d.facts, d.said)
}

// measure asks about all facts, for the first time.
func (p *product) measure(facts []fact, said int) (a aged) {
	for _, f := range facts {
		r, err := p.Recall(p.t.Context(), &core.RecallRequest{Query: f.question, Limit: foundFrom, RecallFilter: core.RecallFilter{Namespace: namespace}})
		if err != nil {
			p.t.Fatal(err)
		}
		if slices.ContainsFunc(r.Memories, func(m core.Recalled) bool { return m.ID == f.id || m.Content == f.content }) {
			a.found += 1 / float64(len(facts))
		}
	}
	err := p.Each(p.t.Context(), namespace, time.Time{}, func(m *core.Memory) bool {
		if m.State.Live() {
			a.live += 1 / float64(said)
		}
		return true
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return a
}

// TestLives_Nights has 60 days with a pass each night: what nobody asked about is found as well as
// without the passes, in a smaller store.
func TestLives_Nights(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	n, whole := seeds(t)
	days := fewNights
	if whole {
		days = nights
	}
	found, live, without := make([]float64, n), make([]float64, n), make([]float64, n)
	t.Run("lives", func(t *testing.T) {
		for seed := range n {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				with := age(t, seedOf(t, seed), days, true)
				found[seed], live[seed], without[seed] = with.found, with.live, age(t, seedOf(t, seed), days, false).found
			})
		}
	})
	r := row{name: fmt.Sprint(days, " nightly passes, R@10 of facts never asked before"), reach: .61, allowed: map[string]float64{noPass: .02}}
	r.print(t, found, map[string][]float64{noPass: without})
	r = row{name: fmt.Sprint(days, " nightly passes, share of the store that stays"), reach: .95, less: true}
	r.print(t, live, nil)
}
