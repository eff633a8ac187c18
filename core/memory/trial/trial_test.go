package trial_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/memory/trial"
)

func TestMain(m *testing.M) { coretest.WithPlain(m).Run() }

// world is how often turns succeed without a memory and with it. wave is by how much both change from turn
// to turn, as where questions differ.
type world struct {
	without, with, wave float64
	under               int
}

// rows are the offers of a trial.
func (w world) rows(r *rand.Rand) (rows []trial.Row) {
	p := trial.Share / (1 - trial.Share*float64(w.under-1))
	for i := range trial.MaxRows {
		row := trial.Row{Unit: fmt.Sprint(i), Without: r.Float64() < p, Under: w.under, Turns: 1}
		chance := w.with
		if row.Without {
			chance = w.without
		}
		if r.Float64() < chance+w.wave*float64(1-2*(i%2)) {
			row.Outcomes = 1
		}
		rows = append(rows, row)
	}
	return rows
}

// TestEffect_Covers has the true effect in 95 of 100 intervals at all times: an interval only ever
// narrows, so one that has it at the end had it whenever the trial might have ended.
func TestEffect_Covers(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	worlds := []world{
		{.5, .5, 0, 1}, {0, 0, 0, 1}, {1, 1, 0, 3}, {.9, .9, .1, 3}, {.5, .5, .5, 2}, {0, 1, 0, 1}, {.1, .9, 0, 3},
		{.4, .8, .2, 2}, {.5, .6, .3, 1}, {.7, .3, 0, 3},
	}
	lives := coretest.Cases(200, coretest.Heavy(1000, 10000)) / len(worlds)
	covered, none, sum := 0, 0, 0.0
	for i, w := range worlds {
		r := rand.New(rand.NewPCG(uint64(i), 35))
		effect, of := w.with-w.without, 0
		for range lives {
			e := (&trial.Trial{Rows: w.rows(r)}).Effect()
			if e.Low <= effect && effect <= e.High {
				of++
			}
			if effect == 0 {
				none++
				sum += e.Estimate
			}
		}
		if covered += of; float64(of) < .95*float64(lives)-3*math.Sqrt(.05*.95*float64(lives)) {
			t.Errorf("%+v: %d of %d intervals have the effect", w, of, lives)
		}
	}
	share, mean := float64(covered)/float64(lives*len(worlds)), 100*sum/float64(none)
	t.Logf("effects | %.4f of %d lives' intervals have the effect at all times | useless ones are estimated at %+.2f points", share, lives*len(worlds), mean)
	if share < .95 || math.Abs(mean) > 1 {
		t.Error("want .95 of them, and within a point of 0")
	}
}

// TestTrial_Decides says how soon, and what it costs.
func TestTrial_Decides(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	for _, c := range []struct {
		world
		verdict string
		least   int // of 100 trials
		cost    float64
	}{
		{world{0, 1, 0, 1}, core.EffectHelps, 100, 8}, {world{0, 1, 0, 3}, core.EffectHelps, 100, 8},
		{world{.1, .9, 0, 1}, core.EffectHelps, 95, 8}, {world{.2, .8, 0, 3}, core.EffectHelps, 90, 8},
		{world{.3, .7, 0, 1}, core.EffectHelps, 60, 10}, {world{.3, .7, 0, 3}, core.EffectHelps, 50, 10},
		{world{1, 0, 0, 1}, core.EffectNone, 100, 0}, {world{.9, .1, 0, 3}, core.EffectNone, 95, 0},
		{world{.5, .5, 0, 1}, core.EffectUndecided, 80, 1}, {world{1, 1, 0, 3}, core.EffectUndecided, 100, 1},
	} {
		r := rand.New(rand.NewPCG(7, 35))
		decided, rows, without := 0, 0.0, 0.0
		trials := coretest.Cases(20, 100)
		for range trials {
			got := &trial.Trial{Verdict: core.EffectUnderTest}
			for _, row := range c.rows(r) {
				if got.Verdict == core.EffectUnderTest {
					got.Add(row, core.DefaultRegretBudget)
				}
			}
			e := got.Effect()
			rows += float64(len(got.Rows)) / float64(trials)
			without += float64(e.Without) / float64(trials)
			if got.Verdict == c.verdict {
				decided++
			}
		}
		cost := without * max(0, c.with-c.without)
		t.Logf("%+v: %s in %d of %d, after %.0f offers, %.0f without, which cost %.1f successes", c.world, c.verdict, decided, trials, rows, without, cost)
		if decided < c.least*trials/100-2 || cost > c.cost {
			t.Errorf("want %d of 100 at least, at a cost of %v", c.least, c.cost)
		}
	}
}
