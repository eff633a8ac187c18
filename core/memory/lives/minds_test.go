package lives_test

import (
	"math"
	"math/rand/v2"
	"slices"
)

// note is what an agent may remember.
type note struct{ id, content string }

// request is a question in a turn of a session.
type request struct {
	who, session string
	turn         int64
	question     string
}

// report is how a turn went: what the agent read, what of it it says it used, and the outcome.
type report struct {
	request
	read, named []string
	success     bool
	// reply is what the agent wrote.
	reply string
}

// mind is a way to remember.
type mind interface {
	learn(n note)
	// recall returns the ids of notes, the best first.
	recall(q request) []string
	report(r report)
}

// simple is a mind that ranks what matches by words.
type simple struct {
	index bm25
	rnd   *rand.Rand
	age   map[string]int
	arms  map[string]*arm
	rank  func(*simple, []alike) []alike
}

// arm is what became of a note.
type arm struct{ plays, wins, q float64 }

// The constants of the q: how far an outcome moves it, and its weight against the likeness.
const qRate, qShare = .3, .5

func (s *simple) learn(n note) {
	s.index.add(n)
	s.age[n.id] = len(s.age)
	s.arms[n.id] = &arm{q: .5}
}

func (s *simple) recall(q request) (ids []string) {
	list := s.rank(s, s.index.near(q.question))
	slices.SortStableFunc(list, byScore)
	for _, a := range list[:min(len(list), 5)] {
		ids = append(ids, a.id)
	}
	return ids
}

func (s *simple) report(r report) {
	for _, id := range r.read {
		reward := 0.0
		if r.success && slices.Contains(r.named, id) {
			reward = 1
		}
		a := s.arms[id]
		a.plays++
		a.wins += reward
		a.q += qRate * (reward - a.q)
	}
}

// scored gives each note another score.
func scored(list []alike, score func(a alike) float64) []alike {
	for i := range list {
		list[i].score = score(list[i])
	}
	return list
}

// The ways to rank, by their names.
const (
	byWords, byAge, byUCB, byThompson, byQ = "BM25", "newest", "UCB1", "Thompson", "q"
	nothing                                = "no memory"
)

var rankings = map[string]func(*simple, []alike) []alike{
	byWords: func(_ *simple, list []alike) []alike { return list },
	byAge: func(s *simple, list []alike) []alike {
		return scored(list, func(a alike) float64 { return float64(s.age[a.id]) })
	},
	byUCB: func(s *simple, list []alike) []alike {
		all := 0.0
		for _, a := range list {
			all += s.arms[a.id].plays
		}
		return scored(list, func(a alike) float64 {
			if m := s.arms[a.id]; m.plays > 0 {
				return m.wins/m.plays + math.Sqrt(2*math.Log(all)/m.plays)
			}
			return 1e6 + a.score
		})
	},
	byThompson: func(s *simple, list []alike) []alike {
		return scored(list, func(a alike) float64 {
			m := s.arms[a.id]
			return beta(s.rnd, int(1+m.wins), int(1+m.plays-m.wins))
		})
	},
	byQ: func(s *simple, list []alike) []alike {
		best, least := list[0].score, list[len(list)-1].score
		return scored(list, func(a alike) float64 {
			like := 1.0
			if best > least {
				like = (a.score - least) / (best - least)
			}
			return (1-qShare)*like + qShare*s.arms[a.id].q
		})
	},
}

// beta draws from the distribution of that name, for whole parameters.
func beta(r *rand.Rand, a, b int) float64 {
	gamma := func(n int) (sum float64) {
		for range n {
			sum += r.ExpFloat64()
		}
		return sum
	}
	x, y := gamma(a), gamma(b)
	return x / (x + y)
}

// empty remembers nothing.
type empty struct{}

func (empty) learn(note)              {}
func (empty) recall(request) []string { return nil }
func (empty) report(report)           {}

// simples are the names of the simple minds, in the table's order.
var simples = []string{nothing, byWords, byAge, byUCB, byThompson, byQ}

// noPass is the product without nightly passes.
const noPass = "without a pass"

// newMind returns a simple mind.
func newMind(name string, seed uint64) mind {
	if name == nothing {
		return empty{}
	}
	return &simple{rnd: rand.New(rand.NewPCG(seed, 11)), age: map[string]int{}, arms: map[string]*arm{}, rank: rankings[name]}
}
