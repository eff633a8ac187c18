// Package peers compares this project's loop with the loops of other Go frameworks
// on the same work. README.md says how to read it.
package peers

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"
)

const (
	// maxIterations is the limit that every variant sets, and what it needs.
	maxIterations = 3
	// rounds is how often each variant has its turn; medians are taken over them.
	rounds = 41
	// perTurn is how many loops, or calls, a turn makes in a row: enough for
	// the garbage that a variant makes to be collected on its own time.
	perTurn = 1000
	// warmUp is how many rounds go uncounted.
	warmUp = 2
	// target is the most that this project's loop may add, as a share of what a
	// peer's adds.
	target = 1.0
)

// looper makes one loop.
type looper interface {
	run(ctx context.Context) (outcome, error)
}

// looperWithAside is a looper that needs something done before each loop, off
// the clock.
type looperWithAside interface {
	looper
	aside(ctx context.Context) error
}

// variant is one row of the table: a way to run the loop, or the socket.
type variant struct {
	name, module string
	turn         func(ctx context.Context, n int) (time.Duration, error)
	samples      []float64 // µs per loop, one of each round
}

// contest is all variants.
type contest struct {
	floor, own, socket *variant
	peers              []*variant
}

func TestPeers(t *testing.T) {
	c := newContest(t)
	for round := range warmUp + rounds {
		for _, v := range c.all() {
			runtime.GC() // no turn pays for the garbage of the one before
			took, err := v.turn(t.Context(), perTurn)
			if err != nil {
				t.Fatalf("%s, round %d: %v", v.name, round, err)
			}
			if round >= warmUp {
				v.samples = append(v.samples, float64(took.Nanoseconds())/1e3/perTurn)
			}
		}
	}
	report(t, c)
}

func newContest(t *testing.T) *contest {
	t.Helper()
	var plainWork, ownWork, einoWork, adkWork work
	e, err := newEino(t.Context(), &einoWork)
	if err != nil {
		t.Fatalf("Eino: %v", err)
	}
	a, err := newADK(&adkWork)
	if err != nil {
		t.Fatalf("ADK-Go: %v", err)
	}
	return &contest{
		floor: &variant{name: "plain for loop", turn: loops(&plain{&plainWork}, &plainWork)},
		own:   &variant{name: "Reflectory", turn: loops(newReflectory(&ownWork), &ownWork)},
		peers: []*variant{
			{name: "Eino", module: "github.com/cloudwego/eino", turn: loops(e, &einoWork)},
			{name: "ADK-Go", module: "google.golang.org/adk", turn: loops(a, &adkWork)},
		},
		socket: &variant{name: "raw unix socket", turn: newSocket(t).calls},
	}
}

// all is the variants in the order of their turns.
func (c *contest) all() []*variant {
	return slices.Concat([]*variant{c.floor, c.own}, c.peers, []*variant{c.socket})
}

// loops is a turn of n loops, each of which is checked off the clock to have
// done all of the work.
func loops(l looper, w *work) func(context.Context, int) (time.Duration, error) {
	return func(ctx context.Context, n int) (took time.Duration, err error) {
		for range n {
			*w = work{}
			if l, ok := l.(looperWithAside); ok {
				if err := l.aside(ctx); err != nil {
					return 0, err
				}
			}
			began := time.Now()
			got, err := l.run(ctx)
			took += time.Since(began)
			if err != nil {
				return 0, err
			}
			if err := check(got, *w); err != nil {
				return 0, err
			}
		}
		return took, nil
	}
}

// check tells whether a loop made three attempts and passed with the third, by
// its own word and by the count of its steps.
func check(got outcome, did work) error {
	if want := (outcome{attempts: 3, passed: true, output: thirdOutput}); got != want {
		return fmt.Errorf("the loop says %+v, want %+v", got, want)
	}
	if want := (work{generated: 1, evaluated: 3, corrected: 2}); did != want {
		return fmt.Errorf("the loop did %+v, want %+v", did, want)
	}
	return nil
}

// at is a quantile of the samples, in µs.
func (v *variant) at(quantile float64) float64 {
	sorted := slices.Sorted(slices.Values(v.samples))
	return sorted[int(quantile*float64(len(sorted)-1))]
}
