package pebble

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	pebbledb "github.com/cockroachdb/pebble/v2"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/store"
)

// Store implements [core.Store] on disk. It is safe for concurrent use.
type Store struct {
	db      *pebbledb.DB
	lock    *pebbledb.Lock
	guard   *guard
	turns   *store.Turns
	relaxed bool

	gate gate
	// last is the newest commit that may be visible.
	last atomic.Pointer[commit]
	// mu orders commits, and the snapshots of transactions among them.
	mu     sync.Mutex
	ledger ledger

	closing  sync.Once
	closeErr error
}

// commit is one on its way to the disk; done is closed when it got there, or
// failed.
type commit struct{ done chan struct{} }

func newStore(o Options, g *guard, l *pebbledb.Lock, db *pebbledb.DB) *Store {
	s := &Store{
		db: db, lock: l, guard: g, turns: store.NewTurns(), relaxed: o.Durability == Relaxed,
		ledger: ledger{began: map[uint64]int{}},
	}
	s.gate.idle.L = &s.gate.mu
	return s
}

// View implements [core.Store].
func (s *Store) View(ctx context.Context, fn func(core.Reader) error) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.gate.leave()
	r := &reader{snapshot: s.db.NewSnapshot(), dir: s.guard.dir}
	defer s.settle(s.last.Load())
	defer func() { _ = r.end() }() // fails only if it was closed before
	return fn(r)
}

// Update implements [core.Store].
func (s *Store) Update(ctx context.Context, fn func(core.Tx) error) error {
	return s.turns.Run(ctx, func() (bool, error) { return s.try(ctx, fn) })
}

// Close waits for the transactions under way and closes the store. It is
// idempotent. It must not be called from inside a transaction.
func (s *Store) Close() error {
	s.closing.Do(func() {
		s.gate.close()
		close(s.guard.released)
		err := s.db.Close()
		_ = s.guard.Remove(s.guard.PathJoin(s.guard.dir, holderFile))
		s.closeErr = errors.Join(s.guard.failure(), err, s.lock.Close())
	})
	return s.closeErr
}

// enter begins a call; gate.leave ends it.
func (s *Store) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.gate.enter()
}

// settle waits until a commit, and with it all before, are on disk or failed.
func (*Store) settle(c *commit) {
	if c != nil {
		<-c.done
	}
}

// gate counts the calls under way, and lets none in once it is closed.
type gate struct {
	mu      sync.Mutex
	idle    sync.Cond
	running int
	closed  bool
}

func (g *gate) enter() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return store.ErrClosed()
	}
	g.running++
	return nil
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.running--; g.running == 0 {
		g.idle.Broadcast()
	}
}

// close waits until no call is under way.
func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	for g.running > 0 {
		g.idle.Wait()
	}
}
