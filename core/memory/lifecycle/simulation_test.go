package lifecycle_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/lifecycle"
	"github.com/reflectory/reflectory/policy"
)

// simulated is a memory that lives through turns under the default policy. A
// gate that keeps everything decides where it becomes pending, if gates is set.
type simulated struct {
	core.Memory
	number  int64
	seen    map[string]bool
	gates   bool
	pending []int64  // the relevant turns at which it became pending
	history []string // each state that it went into
}

func newSimulated(gates bool) *simulated {
	return &simulated{
		Memory: core.Memory{State: core.StateOpen, Signals: lifecycle.Initial()},
		seen:   map[string]bool{}, gates: gates,
	}
}

// live goes through turns: S, F and P are uses with success, failure and partial
// success, - is an offer without use, and . a turn of others. A lower-case use is
// that of a second session. Every 100 turns there is a sweep.
func (s *simulated) live(t *testing.T, p core.RetentionPolicy, turns string) {
	t.Helper()
	for _, c := range turns {
		s.number++
		if c != '.' {
			s.Signals = lifecycle.After(s.Signals, s.turn(c))
		}
		if c != '.' || s.number%100 == 0 {
			s.evaluate(t, p)
		}
	}
}

func (s *simulated) turn(c rune) *lifecycle.Turn {
	turn := &lifecycle.Turn{Number: s.number, TurnRef: core.TurnRef{Session: "one", Turn: s.number}, Weight: 1}
	if strings.ContainsRune("sfp", c) {
		turn.Session = "two"
	}
	turn.Outcome = map[string]core.Outcome{"S": core.OutcomeSuccess, "F": core.OutcomeFailure, "P": core.OutcomePartial}[strings.ToUpper(string(c))]
	if turn.Used = turn.Outcome != ""; turn.Used {
		turn.FirstOfSession = !s.seen[turn.Session]
		s.seen[turn.Session] = true
	}
	return turn
}

func (s *simulated) evaluate(t *testing.T, p core.RetentionPolicy) {
	t.Helper()
	weights := core.DefaultRetentionWeights()
	out := p.Retention(context.Background(), lifecycle.RetentionInput(&s.Memory, s.number, weights))
	if out.Decision.Failure != nil {
		t.Fatal(out.Decision.Failure)
	}
	s.Signals.TTLScore = out.TTLScore
	s.move(t, core.MemoryState(out.State), lifecycle.ByRetention)
	if s.State == core.StateRevalidatePending && s.gates {
		next := lifecycle.AfterRetain(&s.Signals, weights)
		s.Signals = lifecycle.Retained(s.Signals, s.number, .6)
		s.move(t, next, lifecycle.ByGate)
	}
}

func (s *simulated) move(t *testing.T, to core.MemoryState, by lifecycle.Actor) {
	t.Helper()
	if to == s.State {
		return
	}
	if err := lifecycle.Check(s.State, to, by); err != nil {
		t.Fatal(err)
	}
	s.State = to
	s.history = append(s.history, string(to))
	if to == core.StateRevalidatePending {
		s.pending = append(s.pending, s.Signals.RelevantTurns)
	}
}

func TestLives(t *testing.T) {
	p := policy.New(policy.NewPoints(), policy.Options{})
	again := strings.Repeat
	cases := []struct {
		name    string
		turns   string
		gates   bool
		state   core.MemoryState
		pending []int64
		history string
	}{
		{"never offered", again(".", 1000), true, core.StateOpen, nil, ""},
		{"never used, turn 5", again("-", 5), true, core.StateCooling, nil, "cooling"},
		{"never used, turn 6", again("-", 6), false, core.StateRevalidatePending, []int64{6}, "cooling revalidate_pending"},
		{"never used, after a retain", again("-", 15), true, core.StateCooling, []int64{6}, "cooling revalidate_pending cooling"},
		{"never used, 10 turns after a retain", again("-", 16), true, core.StateCooling, []int64{6, 16},
			"cooling revalidate_pending cooling revalidate_pending cooling"},
		{"two failures", "FF", true, core.StateOpen, nil, ""},
		{"always failing", "FFF", false, core.StateRevalidatePending, []int64{3}, "revalidate_pending"},
		{"always failing, after a retain", again("F", 12), true, core.StateCooling, []int64{3}, "revalidate_pending cooling"},
		{"always failing, 10 turns after a retain", again("F", 13), true, core.StateCooling, []int64{3, 13},
			"revalidate_pending cooling revalidate_pending cooling"},
		{"success at 1 of 2 offers", again("-S", 100), true, core.StateActive, nil, "active cooling active"},
		{"success at 1 of 2 offers, the first", again("S-", 100), true, core.StateActive, nil, "active cooling active"},
		{"success at 1 of 3 offers", again("--S", 100), true, core.StateActive, nil, "active cooling active"},
		{"success at 1 of 3 offers, the first", again("S--", 100), true, core.StateActive, nil, "active cooling active"},
		{"success at 1 of 3 offers among others", again("--S..", 100), true, core.StateActive, nil, "active cooling active"},
		{"20 successes, then 500 turns of others", again("S", 20) + again(".", 500), true, core.StateActive, nil, "active"},
		{"success in two sessions is a candidate for promotion", "SsS", false, core.StateRevalidatePending, []int64{3}, "active revalidate_pending"},
		{"success in two sessions, kept", again("Ss", 6), true, core.StateActive, []int64{3}, "active revalidate_pending active"},
		{"cooling, back up to .3912", "S--P", true, core.StateCooling, nil, "active cooling"},
		{"cooling, back up to .404", "S-P", true, core.StateActive, nil, "active cooling active"},
		{"cooling, down to .1532", "S-FF", false, core.StateCooling, nil, "active cooling"},
		{"cooling, down to .1482", "SFF-", false, core.StateRevalidatePending, []int64{4}, "active cooling revalidate_pending"},
		{"half of the uses fail", again("SF", 100), true, core.StateActive, nil, "active cooling active cooling active"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newSimulated(c.gates)
			s.live(t, p, c.turns)
			if s.State != c.state || fmt.Sprint(s.pending) != fmt.Sprint(c.pending) || strings.Join(s.history, " ") != c.history {
				t.Errorf("it is %s with a score of %v, was pending at %v, and became %q", s.State, s.Signals.TTLScore, s.pending, strings.Join(s.history, " "))
			}
		})
	}
}

// TestNothingFlaps holds that a memory whose uses end alike settles in one
// state, however often it is offered, and that nothing, not even what sometimes
// helps and sometimes fails, comes back to the gate within 10 relevant turns.
func TestNothingFlaps(t *testing.T) {
	p := policy.New(policy.NewPoints(), policy.Options{})
	for _, pattern := range combine("SFP-.", 4) {
		s := newSimulated(true)
		s.live(t, p, strings.Repeat(pattern, 15))
		changes, gated := len(s.history), len(s.pending)
		s.live(t, p, strings.Repeat(pattern, 15))
		// Becoming pending and being retained are two changes.
		if more := len(s.history) - changes - 2*(len(s.pending)-gated); more > 0 && alike(pattern) {
			t.Errorf("%q: %d changes after it settled: %v", pattern, more, s.history)
		}
		for i := 1; i < len(s.pending); i++ {
			if s.pending[i]-s.pending[i-1] < 10 {
				t.Errorf("%q: pending at %v", pattern, s.pending)
			}
		}
	}
}

// alike reports whether the uses of a pattern all succeed, or all fail.
func alike(pattern string) bool {
	return strings.Trim(pattern, "S-.") == "" || strings.Trim(pattern, "F-.") == ""
}

// combine lists the words of n letters.
func combine(letters string, n int) []string {
	words := []string{""}
	for range n {
		var longer []string
		for _, w := range words {
			for _, l := range letters {
				longer = append(longer, w+string(l))
			}
		}
		words = longer
	}
	return words
}
