package memory_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/sdk"
)

// turns is how many turns are given their feedback at once.
const turns = 64

// atOnce runs fn for each writer, all at the same time.
func atOnce(fn func(i int)) {
	var start, done sync.WaitGroup
	start.Add(1)
	for i := range turns {
		done.Go(func() {
			start.Wait()
			fn(i)
		})
	}
	start.Done()
	done.Wait()
}

func TestFeedbackAtOnceLosesNothing(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := living(t, s, decides(verdict.NextRetain, .5), unwatched)
		shared := w.observe(t, core.ObserveRequest{Content: "shared"})
		found := w.recalled(t, shared.ID)
		atOnce(func(i int) {
			session := fmt.Sprint("s", i)
			if err := w.RecordTurn(t.Context(), session, 1, found); err != nil {
				t.Errorf("recall of %s: %v", session, err)
				return
			}
			r := &core.FeedbackRequest{Session: session, Turn: 1, Outcome: core.OutcomePartial, Used: []string{shared.ID}}
			if _, err := w.Feedback(t.Context(), r); err != nil {
				t.Errorf("feedback of %s: %v", session, err)
			}
		})
		m := w.get(t, shared.ID)
		g := m.Signals
		if m.AccessCount != turns || g.HitCount != turns || g.Partials != turns || g.Sessions != turns || g.RelevantTurns != turns {
			t.Errorf("%d accesses, %+v; want %d of each", m.AccessCount, g, turns)
		}
		if turn, err := w.Sessions.Turn(t.Context(), "ns"); err != nil || turn != turns {
			t.Errorf("the namespace is at turn %d, %v", turn, err)
		}
		wantJournalWhole(t, s)
	})
}

func TestTheSameFeedbackAtOnceCountsOnce(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := living(t, s, nil, unwatched)
		m := w.observe(t, core.ObserveRequest{Content: "c"})
		w.offer(t, "s", 1, m.ID)
		var first atomic.Int64
		atOnce(func(int) {
			result, err := w.Feedback(t.Context(), &core.FeedbackRequest{Session: "s", Turn: 1, Outcome: core.OutcomeSuccess, Used: []string{m.ID}})
			if err != nil {
				t.Error(err)
			} else if !result.Duplicate {
				first.Add(1)
			}
		})
		if g := w.get(t, m.ID).Signals; first.Load() != 1 || g.Successes != 1 || g.RelevantTurns != 1 {
			t.Errorf("%d were the first, and it counts %+v", first.Load(), g)
		}
	})
}

func TestTheGateAtOnceDecidesOnce(t *testing.T) {
	for _, next := range []string{verdict.NextRetain, verdict.NextPurge, verdict.NextPromote} {
		w := living(t, openPebble(t), decides(next, .9), func(o *memory.Options) {
			deferred(o)
			unwatched(o)
		})
		m := w.pending(t, core.ObserveRequest{Content: "c"})
		var decided atomic.Int64
		atOnce(func(int) {
			_, err := w.Gate.Revalidate(t.Context(), m.ID, revalidate)
			switch {
			case err == nil:
				decided.Add(1)
			case sdk.ReasonOf(err) != "state_conflict" && sdk.ReasonOf(err) != "memory_purged":
				t.Error(err)
			}
		})
		list, err := w.Gate.Decisions(t.Context(), m.ID)
		if err != nil || len(list) != 1 || decided.Load() != 1 {
			t.Errorf("%s: %d decided, %d recorded, %v", next, decided.Load(), len(list), err)
		}
	}
}

// unwatched leaves the world's list of entries alone, which isn't for concurrent use.
func unwatched(o *memory.Options) { o.Subscribers = nil }
