package memory_test

import (
	"math"
	"slices"

	"github.com/reflectory/reflectory/core"
)

// The model's trials: what is left out by chance, and what that shows.

// experiments is the namespace in which memories are left out.
const experiments = "a/b"

// tried is an offer in a trial: whether the memory was left out, how probably, and how the turn went.
type tried struct {
	without bool
	p, went float64
}

// good is whether a memory helps.
func good(id string) bool { return id[len(id)-1]%2 == 0 }

func (m *life) is(shown string) bool { return m.experiment && m.shown == shown }

// rides is whether most uses may be others' merit.
func (m *life) rides() bool {
	return m.s.Shared+m.s.Assumed > (m.s.Successes+m.s.Partials+m.s.Failures)/2
}

// testable is whether the memory is put to the test.
func (m *life) testable() bool {
	switch m.state {
	case core.StateOpen, core.StateActive, core.StateCooling, core.StatePromoted:
		return m.experiment && m.shown == "" && m.s.Uses() > 2 && m.s.Failures <= m.s.Uses()-m.s.Failures && m.rides()
	}
	return false
}

// withheld judges what a recall left out, which chance decides: the model says of what it was drawn.
func (l *lives) withheld(o *offer, q *core.RecallRequest, a *lifeAnswer) (came, wrong string) {
	list := a.Memories
	if len(a.Withheld) > 0 {
		came = "withheld"
		if slices.ContainsFunc(list, func(r core.Recalled) bool { return r.ID == a.Withheld[0] }) {
			return came, a.Withheld[0] + " is withheld and recalled"
		}
		if len(list) == q.Limit {
			list = list[:q.Limit-1] // the last one takes its place
		}
	}
	archived := slices.ContainsFunc(list, func(r core.Recalled) bool { return r.Archived })
	if o.under == nil && !a.Nothing && !archived {
		var under []*life
		for _, r := range list {
			if m := l.all[r.ID]; r.Why.Near && m.testable() && !slices.ContainsFunc(o.items, func(had core.Recalled) bool { return had.ID == r.ID }) {
				under = append(under, m)
			}
		}
		for _, id := range a.Withheld {
			if m := l.all[id]; m.testable() {
				under = append(under, m)
			}
		}
		slices.SortFunc(under, func(a, b *life) int {
			if a.seems() != b.seems() {
				return map[bool]int{true: -1, false: 1}[a.seems() > b.seems()]
			}
			return map[bool]int{true: -1, false: 1}[a.id < b.id]
		})
		for _, m := range under[:min(2, len(under))] {
			o.under = append(o.under, m.id)
		}
		if len(a.Withheld) > 0 {
			o.without = a.Withheld[0]
		}
	}
	if o.without == "" {
		return came, unless(len(a.Withheld) == 0, "withheld %v, where %v are under test", a.Withheld, o.under)
	}
	return came, unless(len(a.Withheld) == 1 && a.Withheld[0] == o.without && slices.Contains(o.under, o.without), "withheld %v of %v, want %s", a.Withheld, o.under, o.without)
}

// try adds a turn to the trials of what was under test in it.
func (l *lives) try(q *core.FeedbackRequest, o *offer) {
	for _, id := range o.under {
		m := l.all[id]
		if m.state == core.StatePurged || o.without != "" && o.without != id || m.shown != "" {
			continue
		}
		chance := []float64{1. / 4, 1. / 3}[len(o.under)-1]
		m.rows = append(m.rows, tried{o.without == id, chance, map[core.Outcome]float64{core.OutcomeSuccess: 1, core.OutcomePartial: .5}[q.Outcome]})
		m.news = true
		estimate, _, high, e := m.effect()
		left := 0.
		for _, r := range m.rows {
			if r.without {
				left++
			}
		}
		switch {
		case e >= 20:
			m.shown = core.EffectHelps
		case high <= 0:
			m.shown = core.EffectNone
		case len(m.rows) == 120, left*estimate > 6:
			m.shown = core.EffectUndecided
		}
	}
}

// seems is how much it may contribute.
func (m *life) seems() float64 {
	if len(m.rows) == 0 {
		return math.Inf(1)
	}
	z, _, _ := m.scores()
	sum := 0.
	for _, v := range z {
		sum += v
	}
	n := float64(len(z))
	return math.Round(1e9*(sum/(n+6)+2/math.Sqrt(n))) / 1e9
}

// scores are what each row says of the effect, and between which ends it could lie.
func (m *life) scores() (z, least, most []float64) {
	yes, no := [2]float64{.5, 1}, [2]float64{.5, 1} // successes and turns, with the memory and without
	for _, r := range m.rows {
		b := r.p*yes[0]/yes[1] + (1-r.p)*no[0]/no[1]
		ends := []float64{(1 - b) / (1 - r.p), -b / (1 - r.p), b / r.p, -(1 - b) / r.p}
		least, most = append(least, slices.Min(ends)), append(most, slices.Max(ends))
		if r.without {
			z = append(z, (b-r.went)/r.p)
			no[0], no[1] = no[0]+r.went, no[1]+1
		} else {
			z = append(z, (r.went-b)/(1-r.p))
			yes[0], yes[1] = yes[0]+r.went, yes[1]+1
		}
	}
	return z, least, most
}

// effect is what the rows show, each value from the beginning.
func (m *life) effect() (estimate, low, high, e float64) {
	if len(m.rows) == 0 {
		return 0, -1, 1, 1
	}
	z, least, most := m.scores()
	// capital is the most that bets on a mean reach: above it, and above and below it together.
	capital := func(mean float64) (above, both float64) {
		up, down := []float64{1, 1, 1}, []float64{1, 1, 1}
		for i := range z {
			a, b := 0., 0.
			for j, share := range []float64{.25, .5, .9} {
				up[j] *= 1 + share*(z[i]-mean)/math.Max(1e-9, mean-least[i])
				down[j] *= 1 + share*(mean-z[i])/math.Max(1e-9, most[i]-mean)
				a, b = a+up[j]/3, b+down[j]/3
			}
			above, both = math.Max(above, a), math.Max(both, (a+b)/2)
		}
		return above, both
	}
	low, high = 1, -1
	for i := -200; i <= 200; i++ {
		if _, both := capital(float64(i) / 200); both < 20 {
			low, high = math.Min(low, float64(i-1)/200), math.Max(high, float64(i+1)/200)
		}
	}
	low, high = math.Max(low, -1), math.Min(high, 1)
	for _, v := range z {
		estimate += v / float64(len(z))
	}
	e, _ = capital(0)
	return math.Min(high, math.Max(low, estimate)), low, high, math.Round(1000*math.Max(1, e)) / 1000
}

// tested is what an explanation says of the trial; nil of none.
func (m *life) tested() *core.Effect {
	if len(m.rows) == 0 {
		return nil
	}
	e := &core.Effect{Verdict: m.shown}
	if m.shown == "" {
		e.Verdict = core.EffectUnderTest
	}
	for _, r := range m.rows {
		if r.without {
			e.Without++
		} else {
			e.With++
		}
	}
	e.Estimate, e.Low, e.High, e.EValue = m.effect()
	return e
}
