package postgres_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/store/postgres"
)

// agent does what agents do, with memories of which each writer has a namespace.
type agent struct {
	ctx      context.Context
	store    *postgres.Store
	memories *memory.Memories
	n        atomic.Uint64
}

func newAgent(t *testing.T, url string) *agent {
	t.Helper()
	fresh := &postgres.FreshIDs{}
	s := open(t, postgres.Options{URL: url, Fresh: fresh})
	m, err := memory.New(memory.Options{Store: s, IDs: fresh.Note(&core.SystemIDs{})})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return &agent{ctx: core.WithCaller(t.Context(), core.Operator("ada")), store: s, memories: m}
}

func (a *agent) observe(writer int) error {
	_, err := a.memories.Observe(a.ctx, &core.ObserveRequest{Namespace: fmt.Sprintf("team/%d", writer), Content: fmt.Sprintf("observation %d", a.n.Add(1))})
	return err
}

// record writes what a run record is: a record, its indices, and an entry of a stream.
func (a *agent) record(int) error {
	return a.store.Update(a.ctx, func(tx core.Tx) error {
		key := binary.BigEndian.AppendUint64(nil, a.n.Add(1))
		for _, prefix := range []string{"run/", "run-time/", "attempt/", "event/"} {
			if err := tx.Put(append([]byte(prefix), key...), make([]byte, 600)); err != nil {
				return err
			}
		}
		return nil
	})
}

func (a *agent) recall(session string) (*core.RecallResult, error) {
	return a.memories.Recall(a.ctx, &core.RecallRequest{Query: "observation", Session: session, RecallFilter: core.RecallFilter{Namespace: "team/0"}})
}

// turn recalls, tells how it went, and remembers.
func (a *agent) turn(int) error {
	recalled, err := a.recall("s")
	if err != nil {
		return err
	}
	_, err = a.memories.Feedback(a.ctx, &core.FeedbackRequest{Session: "s", Turn: recalled.Turn, Outcome: core.OutcomeSuccess, Used: []string{recalled.Memories[0].Memory.ID}})
	if err != nil {
		return err
	}
	return a.observe(0)
}

// trips are the round trips of what an agent does.
type trips struct {
	name string
	most float64 // that BENCH allows
	fn   func(int) error
}

func (a *agent) trips() []trips {
	recall := func(int) error {
		_, err := a.recall("")
		return err
	}
	return []trips{
		{"an observe", 1.1, a.observe},
		{"a run record", 1.1, a.record},
		{"a recall without news, 10 results", 2, recall},
		{"a turn: recall, feedback, observe", 5, a.turn},
	}
}

// count is how many round trips fn makes, once everything is warm.
func (a *agent) count(t *testing.T, fn func(int) error) float64 {
	t.Helper()
	const warm, calls = 12, 30
	var before uint64
	for i := range warm + calls {
		if i == warm {
			before = a.store.Stats().RoundTrips
		}
		if err := fn(0); err != nil {
			t.Fatal(err)
		}
	}
	return float64(a.store.Stats().RoundTrips-before) / calls
}

// rarely is what round trips that only come now and then may add to the mean, such as of a commit that is sent
// again: one more of each call adds 1.
const rarely = 0.3

// A recall looks at its session and at what is new in one round trip, and reads its results in
// another; what is recorded is committed in one.
func TestRoundTrips(t *testing.T) {
	a := newAgent(t, shared.Cluster(t).URL(t))
	for _, tt := range a.trips() {
		if n := a.count(t, tt.fn); n > tt.most+rarely {
			t.Errorf("%s makes %.2f round trips, not %.1f", tt.name, n, tt.most)
		}
	}
}

// What another host wrote takes one round trip more, however much the agent itself did.
func TestRoundTrips_NewsOfAnotherHost(t *testing.T) {
	url := shared.Cluster(t).URL(t)
	a, b := newAgent(t, url), newAgent(t, url)
	recall := func(int) error {
		if err := b.observe(0); err != nil {
			return err
		}
		found, err := a.recall("")
		if want := fmt.Sprintf("observation %d", b.n.Load()); err == nil && b.n.Load() > 2 {
			newest, err := a.memories.Recall(a.ctx, &core.RecallRequest{Query: want, RecallFilter: core.RecallFilter{Namespace: "team/0"}})
			if err != nil || len(newest.Memories) == 0 || newest.Memories[0].Memory.Content != want || len(found.Memories) == 0 {
				t.Errorf("%+v, %v: %q isn't found", newest, err, want)
			}
		}
		return err
	}
	if n := a.count(t, recall); n > 3+2+rarely { // the second recall has no news
		t.Errorf("two recalls of which the first has news make %.2f round trips", n)
	}
}
