// Package trial says what a memory contributes, from turns in which it was left out by chance: the
// difference that it makes to success, an interval for it, and evidence that it helps at all. All
// three hold whenever one looks, so a trial may end as soon as it shows something.
//
// It is internal to Reflectory: its API may change in any release.
package trial

import (
	"cmp"
	"math"
	"slices"

	"github.com/reflectory/reflectory/core"
)

const (
	// Share is how often a memory under test is left out.
	Share = 0.25
	// MaxUnder is how many memories are under test in a turn at most. Each is left out with probability
	// [Share], never two at once, and a turn that lacks one says nothing about the others.
	MaxUnder = 2
	// spread is how far the mean of a trial may be from the effect, times the square root of its rows, and
	// prior how many rows without an effect are added to the mean: the first few scores are extreme, and a tip
	// that failed in the first would wait for all that is useless.
	spread, prior = 2, 6
	// MaxRows is how many offers decide at most.
	MaxRows = 120
	// Enough is the e-value from which a memory is shown to help: by chance a useless one reaches it in
	// 1 of 20 trials at most. It is also the capital at which an interval leaves out a value.
	Enough = 20
	// step is how finely an interval is looked for.
	step = 0.005
)

// fractions are the bets, as shares of the greatest one that can't lose everything. Their mean does
// nearly as well as the best of them: .5 to .9 for effects that few offers can show, less for small ones.
var fractions = [...]float64{.25, .5, .9}

// Row is an offer of the memory under test: a turn, or all turns of a session that holds what
// earlier turns were given.
type Row struct {
	// Unit identifies it, in a few letters.
	Unit string `json:"unit"`
	// Without is whether the memory was left out.
	Without bool `json:"without,omitempty"`
	// Under is how many memories were under test, with this one.
	Under int `json:"under"`
	// Outcomes is the sum of its turns' outcomes, from 0 to 1 each, and Turns how many they are.
	Outcomes float64 `json:"outcomes"`
	Turns    int     `json:"turns"`
}

// outcome is the mean of its turns.
func (r *Row) outcome() float64 { return r.Outcomes / float64(max(1, r.Turns)) }

// propensity is how probably the memory was left out, if nothing else was: where another was, the offer
// doesn't count.
func (r *Row) propensity() float64 { return Share / (1 - Share*float64(r.Under-1)) }

// Trial is what is kept of a memory's trial.
type Trial struct {
	Rows []Row `json:"rows"`
	// Verdict is what it came to: one of [core.Effect]'s.
	Verdict string `json:"verdict"`
}

// Add adds a row, or its outcomes to the row of the same unit, and comes to a verdict once there is one. budget
// is how many successes the trial may cost. A verdict stays, and ends the trial.
func (t *Trial) Add(r Row, budget float64) {
	at := slices.IndexFunc(t.Rows, func(had Row) bool { return had.Unit == r.Unit })
	switch {
	case at >= 0:
		t.Rows[at].Outcomes += r.Outcomes
		t.Rows[at].Turns += r.Turns
	case r.Turns > 0 && t.Verdict == core.EffectUnderTest:
		t.Rows = append(t.Rows, r)
	}
	if t.Verdict != core.EffectUnderTest {
		return
	}
	e := t.Effect()
	switch {
	case e.EValue >= Enough:
		t.Verdict = core.EffectHelps
	case e.High <= 0:
		t.Verdict = core.EffectNone
	case len(t.Rows) == MaxRows, float64(e.Without)*max(0, e.Estimate) > budget:
		t.Verdict = core.EffectUndecided
	}
}

// Compare says which of two trials goes on first where not all can: the one whose memory may contribute more,
// so that what helps doesn't wait for what many offers don't decide, and nothing waits for ever. It knows nothing
// of the outcome to come, so what a trial shows stays true.
func Compare(a, b *Trial) int { return cmp.Compare(b.promise(), a.promise()) }

// promise is how much the memory may contribute: the mean so far, nearer to 0 and with more added to it the
// fewer rows there are.
func (t *Trial) promise() float64 {
	n := float64(len(t.Rows))
	return core.Rounded(t.sum()/(n+prior) + spread/math.Sqrt(n))
}

// mean is the mean of the rows' scores.
func (t *Trial) mean() float64 { return core.Rounded(t.sum() / float64(max(1, len(t.Rows)))) }

func (t *Trial) sum() (sum float64) {
	var means arms
	for i := range t.Rows {
		sum += means.score(&t.Rows[i]).value
	}
	return sum
}

// Effect computes what the rows show, in their order.
func (t *Trial) Effect() *core.Effect {
	e := &core.Effect{Low: -1, High: 1, EValue: 1, Verdict: t.Verdict}
	var means arms
	var stake bets // against an effect of 0 or less
	stake.begin()
	grid := newGrid()
	for i := range t.Rows {
		r := &t.Rows[i]
		z := means.score(r)
		stake.more(z, 0)
		e.EValue = max(e.EValue, stake.mean())
		grid.add(z)
		if r.Without {
			e.Without++
		} else {
			e.With++
		}
	}
	e.Low, e.High = grid.hull()
	e.Estimate = min(e.High, max(e.Low, t.mean()))
	e.EValue = math.Round(e.EValue*1000) / 1000
	return e
}

// arms are the outcomes so far, without and with the memory: their sums and numbers.
type arms struct{ sum, n [2]float64 }

// score is what a row says of the effect: a number whose mean is the effect, and between which bounds it
// had to lie, which is known before the outcome.
type score struct{ value, least, most float64 }

// score weighs an outcome by how probable its arm was, after taking off what the outcomes so far predict: that
// leaves the mean as it is, and makes it vary less.
func (a *arms) score(r *Row) score {
	p := r.propensity()
	predicted := func(arm int) float64 { return (.5 + a.sum[arm]) / (1 + a.n[arm]) }
	base := float64(p*predicted(1)) + float64((1-p)*predicted(0))
	up, down := max((1-base)/(1-p), base/p), max(base/(1-p), (1-base)/p)
	arm, weight := 1, 1/(1-p)
	if r.Without {
		arm, weight = 0, -1/p
	}
	a.sum[arm] += r.outcome()
	a.n[arm]++
	return score{(r.outcome() - base) * weight, -down, up}
}

// bets are the capitals of bets on one side, which begin with 1 each.
type bets [len(fractions)]float64

func (b *bets) begin() {
	for i := range b {
		b[i] = 1
	}
}

// more bets that scores are higher than a mean.
func (b *bets) more(z score, mean float64) { b.add((z.value - mean) / max(mean-z.least, tiny)) }

// fewer bets that they are lower.
func (b *bets) fewer(z score, mean float64) { b.add((mean - z.value) / max(z.most-mean, tiny)) }

// tiny stands for nothing in a divisor.
const tiny = 1e-9

func (b *bets) add(gain float64) {
	for i, f := range fractions {
		b[i] = min(b[i]*(1+float64(f*gain)), math.MaxFloat64)
	}
}

func (b *bets) mean() (sum float64) {
	for _, capital := range b {
		sum += capital / float64(len(b))
	}
	return sum
}

// grid are the effects that aren't refuted, each with bets on both sides.
type grid struct {
	effects      []float64
	above, below []bets
}

func newGrid() *grid {
	g := &grid{}
	for i := range int(2/step) + 1 {
		g.effects = append(g.effects, float64(i)*step-1)
	}
	g.above, g.below = make([]bets, len(g.effects)), make([]bets, len(g.effects))
	for i := range g.effects {
		g.above[i].begin()
		g.below[i].begin()
	}
	return g
}

// add bets on a score, and leaves out what is refuted, for good.
func (g *grid) add(z score) {
	left := 0
	for i, effect := range g.effects {
		above, below := g.above[i], g.below[i]
		above.more(z, effect)
		below.fewer(z, effect)
		if (above.mean()+below.mean())/2 < Enough {
			g.effects[left], g.above[left], g.below[left] = effect, above, below
			left++
		}
	}
	if left > 0 { // or else the outcomes aren't what a fixed effect gives, and the last interval stays
		g.effects, g.above, g.below = g.effects[:left], g.above[:left], g.below[:left]
	}
}

// hull is from the least to the greatest effect that isn't refuted, a step wider, so that it has what lies
// between two of them.
func (g *grid) hull() (low, high float64) {
	last := len(g.effects) - 1
	return max(-1, core.Rounded(g.effects[0]-step)), min(1, core.Rounded(g.effects[last]+step))
}
