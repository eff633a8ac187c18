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

	"github.com/reflectory/reflectory/core/coretest"
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
	a := newAgent(t, c.URL(t))
	floor := newFloor(t, c)
	for _, f := range a.trips() {
		coretest.Figure{Name: "PostgreSQL: round trips of " + f.name, Value: a.count(t, f.fn), Target: f.most}.Print(os.Stdout)
	}

	var one, base coretest.Samples
	rates := map[string]coretest.Samples{}
	for round := range figureRounds + 1 {
		ours, theirs := measure(t, 1, a.observe), measure(t, 1, floor.commit)
		if round > 0 { // the first warms up
			one, base = append(one, ours...), append(base, theirs...)
		}
		for name, fn := range map[string]func(int) error{"observe": a.observe, "record": a.record, "floor": floor.commit} {
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
