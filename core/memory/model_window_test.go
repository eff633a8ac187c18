package memory_test

import (
	"crypto/sha256"
	"encoding/base64"
	"math"

	"github.com/reflectory/reflectory/core"
)

// The model's window: what each subject's turns did with a memory lately, and what that is worth to
// another subject.

// past is a turn of a subject: the outcome of its use, "" where it passed the memory over.
type past struct{ by, use string }

// mark is how a window names a subject.
func mark(subject string) string {
	sum := sha256.Sum256([]byte(subject))
	return base64.RawURLEncoding.EncodeToString(sum[:4])[:5]
}

// lastOf leaves each subject what follows its tenth-last use, and 40 turns in all: who has most loses first.
func lastOf(list []past) []past {
	uses, least := map[string]int{}, map[string]int{}
	for i := len(list) - 1; i >= 0; i-- {
		if p := list[i]; p.use != "" {
			if uses[p.by]++; uses[p.by] == 10 {
				least[p.by] = i
			}
		}
	}
	var left []past
	for i, p := range list {
		if i >= least[p.by] {
			left = append(left, p)
		}
	}
	for len(left) > 40 {
		count, most := map[string]int{}, left[0].by
		for _, p := range left {
			count[p.by]++
		}
		for by, n := range count {
			if n > count[most] || n == count[most] && mark(by) < mark(most) {
				most = by
			}
		}
		for i, p := range left {
			if p.by == most {
				left = append(left[:i:i], left[i+1:]...)
				break
			}
		}
	}
	return left
}

// window is how a record has it.
func (m *life) window() (w core.Window) {
	if m.author != "" {
		w = core.Window("w" + mark(m.author))
	}
	for _, p := range m.offers {
		w += core.Window(map[string]string{"": "o", "success": "s", "partial": "p", "failure": "f"}[p.use] + mark(p.by))
	}
	return w
}

// worth is what a window says to a subject.
type worth struct {
	offers, uses, failures int
	q                      float64
}

// lately is what the memory's window says to a subject.
func (m *life) lately(to string) worth {
	// What others proved twice stands, whatever a subject says after that.
	type counts struct {
		past
		full bool
	}
	var list []counts
	helped := map[string]int{}
	for _, p := range m.offers {
		if p.by == m.author && m.author != "" && p.by != to && p.use != "" {
			continue
		}
		others := 0
		for by, n := range helped {
			if by != p.by {
				others += n
			}
		}
		c := counts{p, p.by == to || others < 2}
		if p.use == "success" {
			helped[p.by]++
		}
		list = append(list, c)
	}
	var heard []past // the newest first
	times := map[string]int{}
	for i := len(list) - 1; i >= 0; i-- {
		c := list[i]
		if !c.full || c.by != to && times[c.by] == 5 {
			continue
		}
		times[c.by]++
		heard = append(heard, c.past)
	}
	v := worth{offers: len(heard), q: .5}
	for i := len(heard) - 1; i >= 0; i-- {
		if heard[i].use == "" {
			continue
		}
		v.uses++
		if heard[i].use == "failure" {
			v.failures++
		}
		v.q += .2 * (map[string]float64{"success": 1, "partial": .5}[heard[i].use] - v.q)
	}
	return v
}

// factors are what the window makes of the score that a subject sees.
func (v worth) factors() (failure, use float64) {
	return math.Max(.1, 1-float64(v.failures)/float64(v.uses+2)), .5 + .5*float64(v.uses+2)/float64(v.offers+2)
}

// fails reports whether knowledge fails by now: its last three uses did, or its last two, and five turns since
// passed it over.
func (m *life) fails() bool {
	helped := map[string]int{}
	for _, p := range m.offers {
		if p.use == "success" {
			helped[p.by]++
		}
	}
	others := func(by string) (n int) {
		for other, times := range helped {
			if other != by {
				n += times
			}
		}
		return n
	}
	failed, passed, said, silent := 0, 0, map[string]bool{}, map[string]int{}
	for i := len(m.offers) - 1; i >= 0; i-- {
		p := m.offers[i]
		if p.use == "success" || p.use == "partial" {
			break
		}
		if p.use == "" {
			if silent[p.by]++; failed == 0 && silent[p.by] <= 5 {
				passed++
			}
			continue
		}
		if !said[p.by] || others(p.by) < 2 {
			failed++
		}
		said[p.by] = true
	}
	return failed > 2 || failed == 2 && passed > 4
}
