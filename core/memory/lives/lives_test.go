package lives_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
)

// TestLives lives lives of each kind with the product's memory and with simpler ones, and prints what
// became of them as a table. Being worse than a simpler one, by more than chance, is a failure.
func TestLives(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	n, whole := seeds(t)
	for _, k := range kinds() {
		if !whole && !k.brief {
			continue
		}
		t.Run(k.name, func(t *testing.T) {
			lived := map[string][][]bool{}
			for _, name := range simples {
				for seed := range n {
					lived[name] = append(lived[name], k.live(t, seedOf(t, seed), newMind(name, seedOf(t, seed))))
				}
			}
			ours := make([][]bool, n)
			t.Run("lives", func(t *testing.T) {
				for seed := range n {
					t.Run(fmt.Sprint(seed), func(t *testing.T) {
						t.Parallel()
						ours[seed] = k.live(t, seedOf(t, seed), newProduct(t).govern(k.settings...))
					})
				}
			})
			for _, r := range k.rows {
				figures := map[string][]float64{}
				for name, lives := range lived {
					figures[name] = each(lives, r.of)
				}
				r.name = k.name + ", " + r.name
				r.print(t, each(ours, r.of), figures)
			}
		})
	}
}

func each(lives [][]bool, of func([]bool) float64) (list []float64) {
	for _, passed := range lives {
		list = append(list, of(passed))
	}
	return list
}

// print writes the row's line of the table. It fails the test if the product does worse than a baseline.
func (r *row) print(t *testing.T, ours []float64, baseline map[string][]float64) {
	t.Helper()
	low, high := interval(ours)
	value := mean(ours)
	reached := "–"
	if r.reach != 0 {
		sign, met := "≥", value >= r.reach
		if r.less {
			sign, met = "≤", value <= r.reach
		}
		reached = fmt.Sprintf("%s %s %s", sign, number(r.reach), map[bool]string{true: "met", false: "MISSED"}[met])
	}
	var others, lost []string
	for _, name := range append(slices.Clone(simples), noPass) {
		list, is := baseline[name]
		if !is {
			continue
		}
		others = append(others, name+" "+number(mean(list)))
		worse := make([]float64, len(ours))
		for i := range worse {
			if worse[i] = list[i] - ours[i]; r.less {
				worse[i] = -worse[i]
			}
		}
		if least, _ := interval(worse); least > r.allowed[name] {
			lost = append(lost, name)
		}
	}
	line := fmt.Sprintf("lives | %s | %s [%s, %s] | %s | %s", r.name, number(value), number(low), number(high), reached, cmp.Or(strings.Join(others, ", "), "–"))
	switch {
	case len(lost) > 0:
		t.Errorf("%s | LOST to %s", line, strings.Join(lost, ", "))
	default:
		t.Log(line)
	}
}

// number writes a share with three digits, and turns as a whole number.
func number(v float64) string {
	if v >= 2 {
		return fmt.Sprintf("%.0f", v)
	}
	return strings.TrimPrefix(fmt.Sprintf("%.3f", v), "0")
}

func mean(values []float64) (sum float64) {
	for _, v := range values {
		sum += v / float64(len(values))
	}
	return sum
}

// resamples is how often lives are drawn again from those that there are.
const resamples = 2000

// interval is where the middle 95 % of the means of drawn lives lie.
func interval(values []float64) (low, high float64) {
	r := rand.New(rand.NewPCG(1, 2))
	means := make([]float64, resamples)
	for i := range means {
		for range values {
			means[i] += values[r.IntN(len(values))] / float64(len(values))
		}
	}
	slices.Sort(means)
	return means[resamples*25/1000], means[resamples*975/1000]
}
