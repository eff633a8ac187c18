package lives_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// naming is what an agent says it used.
type naming int

const (
	namesFirst  naming = iota // what it read first
	namesAll                  // all that it read
	namesJust                 // just what helped
	namesRarely               // what it read first, in 2 of 100 turns; otherwise its reply shows it
)

// life is how an agent's turns go.
type life struct {
	turns int
	// few is on how many of the tasks the agent works; 0 is all.
	few int
	// right and wrong are how often advice helps that is right, or isn't.
	right, wrong float64
	// flipped is how often the reported outcome is the opposite of the real one.
	flipped float64
	// poison is after how many turns somebody writes another wrong tip; 0 is never.
	poison int
	// drift is the turn before which half of the right tips become wrong. Then a new tip is written
	// for each, or else the old wrong tip is what helps from then on.
	drift  int
	newTip bool
	// riders is how many notes a task has that help with nothing, and are worded nearer than its tip;
	// it has no wrong tip then.
	riders int
	// reads is how much of what it recalls the agent reads: it succeeds if one of these helps.
	reads int
	names naming
	// shared is whether four users have the questions, and opposed whether half of them need what is wrong for
	// the others.
	shared, opposed bool
}

// wronged is how many of the tasks have a wrong tip that is worded nearer than the right one.
const wronged = 7

// world is a life with one seed: what happens in it doesn't depend on how the agent remembers.
type world struct {
	life
	rnd   *rand.Rand
	tasks []task
	mind  mind
	notes map[string]string
	// helps are the tasks that notes help with.
	helps map[string]int
	// now are the notes with the present right tips, old the wrong ones from the beginning.
	now, old []string
	// changed is called with the notes that are outdated when the world drifts, if it is set.
	changed func(outdated []string)
}

// live lives a life, and returns which turns succeeded.
func (l life) live(t *testing.T, seed uint64, m mind) []bool { return l.world(t, seed, m).live() }

// world is a world in which a life can be lived.
func (l life) world(t *testing.T, seed uint64, m mind) *world {
	w := &world{life: l, rnd: rand.New(rand.NewPCG(seed, 7)), tasks: tasks(t), mind: m, helps: map[string]int{}, notes: map[string]string{}}
	if l.few > 0 {
		w.rnd.Shuffle(len(w.tasks), func(a, b int) { w.tasks[a], w.tasks[b] = w.tasks[b], w.tasks[a] })
		w.tasks = w.tasks[:l.few]
	}
	return w
}

func (w *world) live() []bool {
	w.begin()
	l := w.life
	passed := make([]bool, l.turns)
	session, left, number, user := 0, 0, int64(0), 0
	for turn := 1; turn <= l.turns; turn++ {
		if left == 0 {
			session, left, number, user = session+1, 3+w.rnd.IntN(10), 0, w.rnd.IntN(4)
		}
		left--
		number++
		if l.poison > 0 && turn%l.poison == 0 {
			kind := w.rnd.IntN(len(w.tasks))
			w.learn(w.tasks[kind].word(w.rnd, near, pick(w.rnd, w.tasks[kind].wrong)))
		}
		if turn == l.drift {
			w.change()
		}
		passed[turn-1] = w.turn(user, fmt.Sprint("session-", session), number)
	}
	return passed
}

// learn stores a note.
func (w *world) learn(content string) (id string) {
	id = fmt.Sprintf("note-%04d", len(w.notes)+1)
	w.notes[id] = content
	w.mind.learn(note{id, content})
	return id
}

// begin stores what is known from the start.
func (w *world) begin() {
	order := w.rnd.Perm(len(w.tasks))
	w.now, w.old = make([]string, len(order)), make([]string, len(order))
	for i, kind := range order {
		k := &w.tasks[kind]
		wrong := far
		if i < wronged {
			wrong = nearest
		}
		tips := []func(){func() { w.now[kind] = w.learn(k.word(w.rnd, near, k.right[0])) }}
		if w.riders == 0 {
			tips = append(tips, func() { w.old[kind] = w.learn(k.word(w.rnd, wrong, k.wrong[0])) })
		}
		for i := range w.riders {
			tips = append(tips, func() { w.learn(k.word(w.rnd, riding, k.riders[i])) })
		}
		w.rnd.Shuffle(len(tips), func(a, b int) { tips[a], tips[b] = tips[b], tips[a] })
		for _, tip := range tips {
			tip()
		}
		w.helps[w.now[kind]] = kind
	}
}

// change has the world drift.
func (w *world) change() {
	var outdated []string
	for _, kind := range w.rnd.Perm(len(w.tasks))[:len(w.tasks)/2] {
		delete(w.helps, w.now[kind])
		outdated = append(outdated, w.now[kind])
		if w.now[kind] = w.old[kind]; w.newTip {
			w.now[kind] = w.learn(w.tasks[kind].word(w.rnd, near, w.tasks[kind].right[1]))
		}
		w.helps[w.now[kind]] = kind
	}
	if w.changed != nil {
		w.changed(outdated)
	}
}

// turn is one question, and what becomes of it. It draws as often whatever the agent does.
func (w *world) turn(user int, session string, number int64) (passed bool) {
	kind := w.rnd.IntN(len(w.tasks))
	q := request{"agent", session, number, w.tasks[kind].ask(w.rnd)}
	if w.shared || w.opposed {
		q.who = fmt.Sprint("user-", user)
	}
	luck, flip, rare := w.rnd.Float64(), w.rnd.Float64(), w.rnd.Float64()
	found := w.mind.recall(q)
	read := found[:min(len(found), w.reads)]
	helpful := slices.IndexFunc(read, func(id string) bool {
		of, helps := w.helps[id]
		if w.opposed && user%2 == 1 {
			return id == w.old[kind]
		}
		return helps && of == kind
	})
	passed = luck < w.wrong
	if helpful >= 0 {
		passed = luck < w.right
	}
	r := report{request: q, read: read, success: passed != (flip < w.flipped)}
	switch {
	case len(read) == 0:
	case w.names == namesRarely && rare > .02:
		r.reply = "I went by my notes. " + w.notes[read[0]]
	case w.names == namesAll:
		r.named = read
	case w.names == namesJust:
		if helpful >= 0 {
			r.named = read[helpful : helpful+1]
		}
	default:
		r.named = read[:1]
	}
	w.mind.report(r)
	return passed
}

// rate is the share of turns that succeeded, from one to another.
func rate(from, to int) func([]bool) float64 {
	return func(passed []bool) float64 {
		n := 0
		for _, did := range passed[from-1 : to] {
			if did {
				n++
			}
		}
		return float64(n) / float64(to-from+1)
	}
}

// recovery is how many turns it takes from one on until 90 % of the best succeed, over the last 50.
func recovery(from int, best float64) func([]bool) float64 {
	const last = 50
	return func(passed []bool) float64 {
		for turn := from + last - 1; turn <= len(passed); turn++ {
			if rate(turn-last+1, turn)(passed) >= .9*best {
				return float64(turn - from + 1)
			}
		}
		return float64(len(passed) - from + 1)
	}
}
