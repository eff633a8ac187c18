package lives_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
)

// scientist is an expert that notes after how many offers what it recalls became knowledge, and how often
// which note was the first of what it recalled while nothing was left out.
type scientist struct {
	expert
	found    []string
	promoted map[string]int64
	first    map[string]int
}

func (s *scientist) recall(q request) []string {
	if s.found = s.expert.recall(q); len(s.found) > 0 && len(s.withheld) == 0 {
		s.first[s.found[0]]++
	}
	return s.found
}

func (s *scientist) report(r report) {
	s.expert.report(r)
	for _, id := range s.known(s.found) {
		if _, had := s.promoted[id]; !had {
			m, err := s.Get(s.t.Context(), id)
			if err != nil {
				s.t.Fatal(err)
			}
			s.promoted[id] = m.Signals.RelevantTurns
		}
	}
}

// offers are those after which notes became knowledge, of the notes that did within so many.
func (s *scientist) offers(notes []string, within int64) (list []float64) {
	for _, id := range notes {
		if n, is := s.promoted[id]; is && n <= within {
			list = append(list, float64(n))
		}
	}
	slices.Sort(list)
	return list
}

// decided counts the notes whose trials came to a verdict, and how many offers each took.
func (s *scientist) decided(notes []string) (n, offers float64) {
	for _, id := range notes {
		e, err := s.Explain(s.t.Context(), id)
		if err != nil {
			s.t.Fatal(err)
		}
		if e.Effect != nil && e.Effect.Verdict != core.EffectUnderTest {
			n, offers = n+1, offers+float64(e.Effect.With+e.Effect.Without)
		}
	}
	return n, offers / max(1, n)
}

// experiment is a life without an experiment, and the same with one.
type experiment struct {
	*world
	off, on         *scientist
	offDid, onDid   []bool
	helpful, others []string
}

// try lives a life without an experiment and with one.
func (l life) try(t *testing.T, seed uint64) *experiment {
	t.Helper()
	begin := func(setting string) (*world, *scientist) {
		s := &scientist{expert{newProduct(t).govern("experiment=" + setting)}, nil, map[string]int64{}, map[string]int{}}
		return l.world(t, seed, s), s
	}
	e := &experiment{}
	e.world, e.off = begin(core.ExperimentOff)
	e.offDid = e.live()
	e.world, e.on = begin(core.ExperimentOn)
	e.onDid = e.live()
	for _, id := range slices.Sorted(maps.Keys(e.notes)) {
		if _, helps := e.helps[id]; helps {
			e.helpful = append(e.helpful, id)
		} else {
			e.others = append(e.others, id)
		}
	}
	return e
}

// lost is how many successes the experiment cost for each memory that it decided.
func (e *experiment) lost() float64 {
	decided, _ := e.on.decided(append(e.helpful, e.others...))
	whole := rate(1, e.turns)
	return float64(e.turns) * (whole(e.offDid) - whole(e.onDid)) / max(1, decided)
}

// figure is something measured of an experiment.
type figure struct {
	row
	of func(*experiment) float64
}

// measure lives lives with and without an experiment, and prints what became of them.
func (l life) measure(t *testing.T, n int, name string, figures []figure) {
	t.Helper()
	values := make([][]float64, len(figures))
	for i := range values {
		values[i] = make([]float64, n)
	}
	t.Run("lives", func(t *testing.T) {
		for seed := range n {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				e := l.try(t, seedOf(t, seed))
				for i, f := range figures {
					values[i][seed] = f.of(e)
				}
			})
		}
	})
	for i, f := range figures {
		f.name = name + ", " + f.name
		f.print(t, values[i], nil)
	}
}

// TestLives_Riders has an agent name all that it read, where three notes that help with nothing are worded
// nearer than the tip: without an experiment many of these become knowledge, with one the tips do.
func TestLives_Riders(t *testing.T) {
	coretest.Long(t)
	if coretest.Plain(t) {
		return
	}
	n, whole := seeds(t)
	const within = 150
	promoted := func(of *scientist, notes []string) float64 {
		return float64(len(of.offers(notes, within))) / float64(len(notes))
	}
	figures := []figure{
		{row{name: "riders promoted, without"}, func(e *experiment) float64 { return promoted(e.off, e.others) }},
		{row{name: "riders promoted", reach: .04, less: true}, func(e *experiment) float64 { return promoted(e.on, e.others) }},
		{row{name: "tips promoted, without"}, func(e *experiment) float64 { return promoted(e.off, e.helpful) }},
		{row{name: "tips promoted", reach: .95}, func(e *experiment) float64 { return promoted(e.on, e.helpful) }},
		{row{name: "offers that a decided tip took"}, func(e *experiment) float64 { _, offers := e.on.decided(e.helpful); return offers }},
		{row{name: "share of decided riders"}, func(e *experiment) float64 { n, _ := e.on.decided(e.others); return n / float64(len(e.others)) }},
		{row{name: "successes lost for each that was decided"}, (*experiment).lost},
	}
	worlds := []life{{right: 1}, {right: .9, wrong: .1}, {right: .8, wrong: .2}, {right: .9, wrong: .5}, {right: .7, wrong: .3}}
	l := life{few: 5, reads: 5, riders: 3, names: namesAll} // it reads all, so right minus wrong is a tip's effect
	if !whole {
		l.few, worlds = 2, worlds[:1]
	}
	l.turns = within * l.few
	for _, w := range worlds {
		l.right, l.wrong = w.right, w.wrong
		l.measure(t, n, fmt.Sprintf("experiment: on, riders, %s/%s", number(l.right), number(l.wrong)), figures)
	}
}

// TestLives_NamesRarely has an agent name 2 % of what it uses.
func TestLives_NamesRarely(t *testing.T) {
	coretest.Long(t)
	if coretest.Plain(t) {
		return
	}
	n, whole := seeds(t)
	late := rate(301, 400)
	median := func(list []float64) float64 {
		if len(list) == 0 {
			return 0
		}
		return list[len(list)/2]
	}
	l := life{turns: 1500, right: 1, reads: 1, names: namesRarely}
	if !whole {
		l.turns = 400
	}
	l.measure(t, n, "experiment: on, the agent names 2 % of what it used", []figure{
		{row{name: "turns 301-400, without", reach: .96}, func(e *experiment) float64 { return late(e.offDid) }},
		{row{name: "turns 301-400"}, func(e *experiment) float64 { return late(e.onDid) }},
		{row{name: "successes lost for each that was decided"}, (*experiment).lost},
		{row{name: "tips promoted, of 20, without"}, func(e *experiment) float64 { return float64(len(e.off.offers(e.helpful, 1e9))) }},
		{row{name: "tips promoted, of 20", reach: 14}, func(e *experiment) float64 { return float64(len(e.on.offers(e.helpful, 1e9))) }},
		{row{name: "offers until they were, median", reach: 60, less: true}, func(e *experiment) float64 { return median(e.on.offers(e.helpful, 1e9)) }},
		{row{name: "wrong tips promoted"}, func(e *experiment) float64 { return float64(len(e.on.offers(e.others, 1e9))) }},
		{row{name: "turns in which a wrong tip that is worded nearer is the first", reach: 2, less: true}, func(e *experiment) float64 {
			firsts := 0
			for _, id := range e.others {
				firsts += e.on.first[id]
			}
			return float64(firsts) / wronged
		}},
	})
}
