package postgres

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/sdk"
)

// A commit costs a round trip and a sync of the database's log, however much is in it. So
// the transactions that arrive while one is on its way share the next. They have an
// order, in which the group is like one after the other: one that read what an earlier
// one writes runs again on top of it, in its own goroutine, while the group waits.
//
// Nothing here knows PostgreSQL: the model test runs it on a map.

const (
	// maxMembers, maxGroupBytes and maxLocks bound a group. A transaction that is larger
	// goes alone.
	maxMembers    = 256
	maxGroupBytes = 8 << 20
	// rerunWait is how long a group waits for a member that runs again: ten times what a
	// usual one takes. A member whose function waits for another transaction of this host
	// would otherwise wait for ever.
	rerunWait = 20 * time.Millisecond
	// turnAfter is how often a transaction conflicts before it gets a turn: from then on, its
	// group keeps its locks while it runs again, so that no other host can come first. Without
	// that, the slowest of many writers of a key would lose to the others each time.
	turnAfter = 2
	// turnWait is how long a group waits for a member that has its turn. On a busy machine,
	// rerunWait may be too short each time. While it waits, other hosts wait for its locks.
	turnWait = 500 * time.Millisecond
)

// database is what a group needs of PostgreSQL.
type database interface {
	// commit writes what a batch writes, at once, if everything that it read is
	// unchanged. Otherwise it writes nothing and returns what changed. After an error
	// nothing was written, unless its reason says that this is unknown. If again isn't nil,
	// it is called with what changed, while nobody else can write any of it, and the batch
	// that it returns is written instead.
	commit(ctx context.Context, b *batch, again func(changes) *batch) (changes, error)
	// check returns what differs from what a transaction read that wrote nothing, all in
	// one moment.
	check(ctx context.Context, r *readSet) (changes, error)
	// outdated reports whether a key is known to have another version by now.
	outdated(key string, version int64) bool
}

// changes is what differs from what a batch read; nothing if it is committed.
type changes struct {
	keys   map[string]struct{}
	ranges map[int]struct{} // by their place in the batch's ranges
}

func (c *changes) none() bool { return len(c.keys) == 0 && len(c.ranges) == 0 }

// result is how a transaction's part in a group ended.
type result struct {
	conflict bool
	err      error
}

// member is a transaction that waits for a group.
type member struct {
	ctx context.Context
	fn  func(core.Tx) error
	// lost is how often the transaction has conflicted before.
	lost int
	// tx is its last run, which ended with err or panicked. They are the outcome once
	// what it read is found unchanged.
	tx       *tx
	err      error
	panicked any
	// rerun gets a run to do, which is sent back when it is done.
	rerun chan *tx
	reran chan *member
	done  chan result
}

// committer forms groups, one at a time.
type committer struct {
	db database

	mu      sync.Mutex
	waiting line
	closed  bool
	wake    chan struct{}
	stopped chan struct{}
	// groups and members count what was committed.
	groups, members uint64
}

func startCommitter(db database) *committer {
	c := &committer{db: db, wake: make(chan struct{}, 1), stopped: make(chan struct{})}
	go c.work()
	return c
}

// update runs fn until what it read is found unchanged at its commit.
func (c *committer) update(ctx context.Context, from source, fn func(core.Tx) error) error {
	for lost := range store.MaxTries {
		if conflict, err := c.try(ctx, from, fn, lost); !conflict {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return store.ErrConflict()
}

// try runs fn once, and makes sure that what it read was the newest. lost is how often that
// failed before.
func (c *committer) try(ctx context.Context, from source, fn func(core.Tx) error, lost int) (conflict bool, err error) {
	t := &tx{ctx: ctx, source: from}
	m := &member{ctx: ctx, fn: fn, lost: lost, tx: t}
	m.panicked, m.err = t.run(fn)
	switch {
	case m.panicked == nil && ctx.Err() != nil:
		return false, ctx.Err()
	case t.failed != nil:
		return false, t.failed
	case m.err == nil && m.panicked == nil && len(t.writes) > 0:
		if r := c.join(m); r.conflict || r.err != nil {
			return r.conflict, r.err
		}
	case t.reads.moments > 1:
		changed, err := c.db.check(ctx, &t.reads)
		if err != nil || !changed.none() {
			return err == nil, err
		}
	}
	if m.panicked != nil {
		panic(m.panicked)
	}
	return false, m.err
}

// close lets the waiting members commit, and stops.
func (c *committer) close() {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return
	}
	c.closed = true
	c.mu.Unlock()
	close(c.wake)
	<-c.stopped
}

// join commits a run of fn with the next group, and returns its outcome. The run may be
// replaced by another on top of the group's earlier members: m has the last one. Once its
// group is sent, it waits for the outcome whatever ctx does.
func (c *committer) join(m *member) result {
	m.rerun, m.reran, m.done = make(chan *tx), make(chan *member, 1), make(chan result, 1)
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return result{err: store.ErrClosed()}
	}
	c.waiting.add(m)
	select {
	case c.wake <- struct{}{}:
	default: // it is awake
	}
	c.mu.Unlock()
	given := m.ctx.Done()
	for {
		select {
		case t := <-m.rerun:
			panicked, err := t.run(m.fn)
			m.reran <- &member{tx: t, err: err, panicked: panicked}
		case r := <-m.done:
			return r
		case <-given:
			if c.withdraw(m) {
				return result{err: m.ctx.Err()}
			}
			given = nil
		}
	}
}

// withdraw takes a member out of those that wait, if it is still there.
func (c *committer) withdraw(m *member) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waiting.remove(m)
}

func (c *committer) work() {
	defer close(c.stopped)
	for range c.wake {
		for b := c.form(); b != nil; b = c.form() {
			c.commit(b)
		}
	}
	for b := c.form(); b != nil; b = c.form() {
		c.commit(b)
	}
}

// form takes the next group from those that wait; nil if nobody waits.
func (c *committer) form() *batch {
	b := newBatch()
	for {
		m := c.next(b)
		if m == nil {
			break
		}
		switch old := c.outdated(&m.tx.reads); {
		case old && len(b.members) == 0 && !m.hasTurn(), (old || b.clashes(&m.tx.reads)) && !m.runAgain(b):
			m.done <- result{conflict: true} // it runs again by itself, for a later group
		default:
			b.add(m)
		}
	}
	if len(b.members) == 0 {
		return nil
	}
	return b
}

// outdated reports whether something that was read is known to have changed, which the
// database would find too, but only with the whole group.
func (c *committer) outdated(r *readSet) bool {
	for key, e := range r.keys {
		if c.db.outdated(key, e.version) {
			return true
		}
	}
	return false
}

// next takes the next member that has room in a batch.
func (c *committer) next(b *batch) *member {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.waiting.first()
	if m == nil || !b.hasRoom(m.tx) {
		return nil
	}
	c.waiting.pop()
	return m
}

// hasTurn reports whether a member has conflicted often enough to get a turn.
func (m *member) hasTurn() bool { return m.lost >= turnAfter }

// runAgain has a member run on top of a batch. It reports false if that takes too long, or
// if the run doesn't fit the batch either.
func (m *member) runAgain(b *batch) bool {
	t := &tx{ctx: m.ctx, source: m.tx.source, below: b.below}
	patience := rerunWait
	if m.hasTurn() {
		patience = turnWait
	}
	wait := time.NewTimer(patience)
	defer wait.Stop()
	select {
	case m.rerun <- t:
	case <-wait.C:
		return false
	}
	select {
	case ran := <-m.reran:
		m.tx, m.err, m.panicked = ran.tx, ran.err, ran.panicked
	case <-wait.C:
		return false
	}
	if m.tx.failed != nil || m.ctx.Err() != nil || b.differs(&m.tx.reads) || !b.hasRoom(m.tx) {
		return false
	}
	if m.err != nil || m.panicked != nil {
		m.tx.writes, m.tx.size = nil, 0
	}
	return true
}

// commit commits a batch, and reports the outcome to its members. Of members whose reads
// changed, and of those on top of them, nothing is written; the others are sent again. In a
// batch with a member that has its turn, they run again first.
func (c *committer) commit(b *batch) {
	for len(b.members) > 0 {
		var again func(changes) *batch
		if slices.ContainsFunc(b.members, (*member).hasTurn) {
			again = func(changed changes) *batch {
				b = b.without(changed, true)
				return b
			}
		}
		changed, err := c.db.commit(context.Background(), b, again)
		switch {
		case err != nil && len(b.members) > 1 && !sdk.Transient(err):
			for _, m := range b.members { // what one of them does wrong stops no other
				if m.tx.reads.group {
					m.done <- result{conflict: true}
					continue
				}
				alone := newBatch()
				alone.add(m)
				c.commit(alone)
			}
			return
		case err != nil || changed.none():
			c.count(len(b.members), err)
			for _, m := range b.members {
				m.done <- result{err: err}
			}
			return
		}
		b = b.without(changed, false)
	}
}

func (c *committer) count(members int, err error) {
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.groups++
	c.members += uint64(members)
}

// batch is a group: its members in order, with all that they read and write.
type batch struct {
	members []*member
	keys    map[string]entry
	ranges  []readRange
	below   *overlay
	size    int
	locks   lockSet
}

func newBatch() *batch {
	return &batch{keys: map[string]entry{}, below: &overlay{writes: map[string]write{}}, locks: newLockSet()}
}

// writes are all writes. Nobody changes them once the batch is formed.
func (b *batch) writes() map[string]write { return b.below.writes }

// clashes reports whether a run didn't see what the batch writes, or saw another state of
// the database than an earlier member.
func (b *batch) clashes(r *readSet) bool {
	return len(b.members) > 0 && (r.sees(b.below.writes) || b.differs(r))
}

func (b *batch) differs(r *readSet) bool {
	for key, e := range r.keys {
		if other, ok := b.keys[key]; ok && other.version != e.version {
			return true
		}
	}
	return false
}

// hasRoom reports whether a run can be added.
func (b *batch) hasRoom(t *tx) bool {
	if len(b.members) == 0 {
		return true
	}
	locks := len(t.reads.keys) + len(t.reads.ranges) + 3*len(t.writes)
	return len(b.members) < maxMembers && b.size+t.size <= maxGroupBytes && len(b.locks)+locks <= maxLocks
}

func (b *batch) add(m *member) {
	b.members = append(b.members, m)
	maps.Copy(b.keys, m.tx.reads.keys)
	b.ranges = append(b.ranges, m.tx.reads.ranges...)
	b.locks.read(&m.tx.reads)
	b.locks.write(m.tx.writes)
	b.size += m.tx.size
	b.below.add(m.tx.writes)
}

// without is the batch without the members whose reads changed, and without those that
// may have read from one. These members are notified. If again is set, they stay in the batch
// where they can run again with what the batch has locked.
func (b *batch) without(changed changes, again bool) *batch {
	rest, removed, first := newBatch(), false, 0
	for _, m := range b.members {
		outdated := m.tx.reads.group && removed
		for key := range m.tx.reads.keys {
			_, differs := changed.keys[key]
			outdated = outdated || differs
		}
		for i := range m.tx.reads.ranges {
			_, differs := changed.ranges[first+i]
			outdated = outdated || differs
		}
		first += len(m.tx.reads.ranges)
		removed = removed || outdated
		if outdated && !(again && m.runAgain(rest) && b.locks.cover(m.tx)) {
			m.done <- result{conflict: true}
			continue
		}
		rest.add(m)
	}
	return rest
}
