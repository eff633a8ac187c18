//go:build bench

package postgres_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/store/postgres"
	"github.com/reflectory/reflectory/core/store/postgres/postgrestest"
)

const (
	figureRounds = 7  // of each, interleaved
	figureCalls  = 30 // a round and writer
	manyWriters  = 64
)

// TestFigures measures commits against single-row commits by pgx on the same database,
// and counts the round trips of what users do.
func TestFigures(t *testing.T) {
	c := postgrestest.Start(t)
	url := c.URL(t)
	fresh := &postgres.FreshIDs{}
	s := open(t, postgres.Options{URL: url, Fresh: fresh})
	m, err := memory.New(memory.Options{Store: s, IDs: fresh.Note(&core.SystemIDs{})})
	if err != nil {
		t.Fatal(err)
	}
	ctx := core.WithCaller(t.Context(), core.Operator("ada"))
	var n atomic.Uint64
	observe := func(writer int) error {
		_, err := m.Observe(ctx, &core.ObserveRequest{Namespace: fmt.Sprintf("team/%d", writer), Content: fmt.Sprintf("observation %d", n.Add(1))})
		return err
	}
	record := func(int) error { // what a run record writes: a record, an index, an entry of a stream
		return s.Update(ctx, func(tx core.Tx) error {
			key := binary.BigEndian.AppendUint64(nil, n.Add(1))
			for _, prefix := range []string{"run/", "run-time/", "attempt/", "event/"} {
				if err := tx.Put(append([]byte(prefix), key...), make([]byte, 600)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	floor := newFloor(t, c)
	tripFigures(t, ctx, s, m, observe, record)

	var one, base coretest.Samples
	rates := map[string]coretest.Samples{}
	for round := range figureRounds + 1 {
		a, b := measure(t, 1, observe), measure(t, 1, floor.commit)
		if round > 0 { // the first warms up
			one, base = append(one, a...), append(base, b...)
		}
		for name, fn := range map[string]func(int) error{"observe": observe, "record": record, "floor": floor.commit} {
			began := time.Now()
			measure(t, manyWriters, fn)
			if round > 0 {
				rates[name] = append(rates[name], time.Since(began)/(manyWriters*figureCalls))
			}
		}
	}
	coretest.Ratio("PostgreSQL: observe, 1 writer, over a single-row commit by pgx", one, base, 3).Print(os.Stdout)
	perSecond := func(name string) float64 { return 1e6 / rates[name].Micros(0.5) }
	for _, f := range []struct {
		name, key string
		target    float64
	}{{"observes", "observe", 0.4}, {"run records", "record", 0.7}} {
		coretest.Figure{
			Name: "PostgreSQL: " + f.name + " at 64 writers over single-row commits by pgx at 64", Value: perSecond(f.key) / perSecond("floor"), Unit: "×",
			Target: f.target, AtLeast: true, Note: fmt.Sprintf("%.0f over %.0f a second", perSecond(f.key), perSecond("floor")),
		}.Print(os.Stdout)
	}
}

// tripFigures count round trips, once everything is warm. A recall looks for news in one,
// and reads its results in another.
func tripFigures(t *testing.T, ctx context.Context, s *postgres.Store, m *memory.Memories, observe, record func(int) error) {
	recall := func(int) error {
		_, err := m.Recall(ctx, &core.RecallRequest{Query: "observation", RecallFilter: core.RecallFilter{Namespace: "team/0"}})
		return err
	}
	turn := func(int) error { // what an agent does in one: recall, tell how it went, remember
		recalled, err := m.Recall(ctx, &core.RecallRequest{Query: "observation", Session: "s", RecallFilter: core.RecallFilter{Namespace: "team/0"}})
		if err != nil {
			return err
		}
		_, err = m.Feedback(ctx, &core.FeedbackRequest{Session: "s", Turn: recalled.Turn, Outcome: core.OutcomeSuccess, Used: []string{recalled.Memories[0].Memory.ID}})
		if err != nil {
			return err
		}
		return observe(0)
	}
	for _, f := range []struct {
		name   string
		target float64
		fn     func(int) error
	}{{"an observe", 1.1, observe}, {"a run record", 1.1, record}, {"a recall without news, 10 results", 2, recall}, {"a turn: recall, feedback, observe", 5, turn}} {
		for range 10 {
			if err := f.fn(0); err != nil {
				t.Fatal(err)
			}
		}
		before := s.Stats().RoundTrips
		for range figureCalls {
			if err := f.fn(0); err != nil {
				t.Fatal(err)
			}
		}
		coretest.Figure{
			Name: "PostgreSQL: round trips of " + f.name, Value: float64(s.Stats().RoundTrips-before) / figureCalls, Target: f.target,
		}.Print(os.Stdout)
	}
}

// floor is what a commit costs at least: one row, one connection for each writer.
type floor struct {
	t     *testing.T
	conns [manyWriters]*pgconn.PgConn
	n     atomic.Int64
}

func newFloor(t *testing.T, c *postgrestest.Cluster) *floor {
	t.Helper()
	c.Exec(t, "create table floor (id bigint primary key, v bytea)")
	f := &floor{t: t}
	for i := range f.conns {
		conn, err := pgconn.Connect(t.Context(), c.Database())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close(context.Background()) })
		if _, err := conn.Prepare(t.Context(), "put", "insert into floor values ($1, $2)", nil); err != nil {
			t.Fatal(err)
		}
		f.conns[i] = conn
	}
	return f
}

func (f *floor) commit(writer int) error {
	id := binary.BigEndian.AppendUint64(nil, uint64(f.n.Add(1)))
	return f.conns[writer].ExecPrepared(f.t.Context(), "put", [][]byte{id, make([]byte, 600)}, []int16{1, 1}, nil).Read().Err
}

// measure has each writer call fn, and returns how long each call took.
func measure(t *testing.T, writers int, fn func(writer int) error) coretest.Samples {
	t.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	var samples coretest.Samples
	for w := range writers {
		all.Go(func() {
			own := make(coretest.Samples, 0, figureCalls)
			for range figureCalls {
				began := time.Now()
				if err := fn(w); err != nil {
					t.Error(err)
					return
				}
				own = append(own, time.Since(began))
			}
			mu.Lock()
			defer mu.Unlock()
			samples = append(samples, own...)
		})
	}
	all.Wait()
	return samples
}
