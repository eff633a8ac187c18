//go:build bench

package postgres_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/core/store/pebble"
	"github.com/reflectory/reflectory/core/store/postgres"
	"github.com/reflectory/reflectory/core/store/postgres/postgrestest"
)

const (
	networkWriters = 32
	roundTrip      = time.Millisecond
	coldMemories   = 5_000
)

// TestFiguresNetwork measures observes where a round trip takes a millisecond more, against
// a design that sends each read and write of a transaction as a statement of its own.
func TestFiguresNetwork(t *testing.T) {
	c := postgrestest.Start(t)
	proxy := c.Proxy(t)
	ctx := core.WithCaller(t.Context(), core.Operator("ada"))
	var n atomic.Uint64
	host := newFigureHost(t, proxy.URL(t), &n)
	ours := func(w int) error { return host.observe(ctx, fmt.Sprint("team/", w)) }
	interactive := newInteractive(ctx, t, c, proxy)
	proxy.Delay(roundTrip)
	var one, other coretest.Samples
	for round := range figureRounds + 1 {
		began := time.Now()
		measure(t, networkWriters, ours)
		middle := time.Now()
		measure(t, networkWriters, interactive.observe)
		if round > 0 { // the first warms up
			one, other = append(one, middle.Sub(began)), append(other, time.Since(middle))
		}
	}
	rate := func(s coretest.Samples) float64 { return networkWriters * figureCalls * 1e6 / s.Micros(0.5) }
	coretest.Figure{
		Name: "PostgreSQL: observes of 32 writers, 1 ms more a round trip, over one statement a read and write", Value: rate(one) / rate(other), Unit: "×",
		Target: 10, AtLeast: true, Note: fmt.Sprintf("%.0f over %.0f a second; it makes %d reads and %d writes", rate(one), rate(other), interactive.reads, interactive.writes),
	}.Print(os.Stdout)
}

// interactive does what an observe does, each read and write as a statement.
type interactive struct {
	t             *testing.T
	conns         [networkWriters]*pgx.Conn
	reads, writes int
	n             atomic.Int64
}

func newInteractive(ctx context.Context, t *testing.T, c *postgrestest.Cluster, proxy *postgrestest.Proxy) *interactive {
	t.Helper()
	i := &interactive{t: t}
	counted := &counted{Store: mem.Open()}
	m, err := memory.New(memory.Options{Store: counted})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	for k := range 10 { // the first ones create the namespace
		counted.reads, counted.writes = 0, 0
		if _, err := m.Observe(ctx, &core.ObserveRequest{Namespace: "team/a", Content: fmt.Sprint("observation ", k)}); err != nil {
			t.Fatal(err)
		}
	}
	i.reads, i.writes = counted.reads, counted.writes
	c.Exec(t, "create table interactive (k bytea primary key, v bytea)")
	for w := range i.conns {
		conn, err := pgx.Connect(ctx, "postgres://postgres@"+proxy.Addr+"/postgres?sslmode=disable")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close(context.Background()) })
		i.conns[w] = conn
	}
	return i
}

// observe commits at the cheapest isolation, which never refuses and proves nothing.
func (i *interactive) observe(writer int) error {
	ctx := i.t.Context()
	return pgx.BeginFunc(ctx, i.conns[writer], func(tx pgx.Tx) error {
		id := i.n.Add(1)
		key := func(n int) []byte { return fmt.Appendf(nil, "%d/%d", id, n) }
		for n := range i.reads {
			var v []byte
			if err := tx.QueryRow(ctx, "select v from interactive where k = $1", key(n)).Scan(&v); err != nil && err != pgx.ErrNoRows {
				return err
			}
		}
		for n := range i.writes {
			if _, err := tx.Exec(ctx, "insert into interactive values ($1, $2) on conflict (k) do update set v = excluded.v", key(n), make([]byte, 300)); err != nil {
				return err
			}
		}
		return nil
	})
}

// counted counts the reads and writes of updates, one at a time.
type counted struct {
	core.Store
	reads, writes int
}

func (c *counted) Update(ctx context.Context, fn func(core.Tx) error) error {
	return c.Store.Update(ctx, func(tx core.Tx) error { return fn(countedTx{tx, c}) })
}

type countedTx struct {
	core.Tx
	*counted
}

func (c countedTx) Get(key []byte) ([]byte, bool, error) { c.reads++; return c.Tx.Get(key) }
func (c countedTx) Put(key, value []byte) error          { c.writes++; return c.Tx.Put(key, value) }

// TestFiguresCold measures the first recall in a namespace that a host hasn't read yet,
// against the same on Pebble.
func TestFiguresCold(t *testing.T) {
	ctx := core.WithCaller(t.Context(), core.Operator("ada"))
	local, err := pebble.Open(ctx, pebble.Options{Dir: filepath.Join(t.TempDir(), "store")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = local.Close() })
	shared := open(t, postgres.Options{URL: postgrestest.Start(t).URL(t)})
	took := map[core.Store]coretest.Samples{}
	for round := range figureRounds + 1 {
		for _, s := range []core.Store{shared, local} {
			m, err := memory.New(memory.Options{Store: s})
			if err != nil {
				t.Fatal(err)
			}
			if round == 0 {
				fill(ctx, t, m)
			}
			began := time.Now()
			found, err := m.Recall(ctx, &core.RecallRequest{Query: "observation 4321", RecallFilter: core.RecallFilter{Namespace: "team/cold"}})
			if err != nil || len(found.Memories) == 0 {
				t.Fatalf("%v, %v", found, err)
			}
			if round > 0 {
				took[s] = append(took[s], time.Since(began))
			}
			m.Close()
		}
	}
	coretest.Ratio("PostgreSQL: the first recall in a namespace of 5,000, over Pebble", took[shared], took[local], 2).Print(os.Stdout)
}

func fill(ctx context.Context, t *testing.T, m *memory.Memories) {
	t.Helper()
	var all []*core.ObserveRequest
	for n := range coldMemories {
		all = append(all, &core.ObserveRequest{Namespace: "team/cold", Content: fmt.Sprintf("observation %d of the quay at dawn", n)})
	}
	for len(all) > 0 {
		batch := all[:min(500, len(all))]
		if _, _, err := m.ObserveAll(ctx, batch); err != nil {
			t.Fatal(err)
		}
		all = all[len(batch):]
	}
}
