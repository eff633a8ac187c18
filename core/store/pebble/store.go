package pebble

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/sdk"
)

// Store implements [core.Store] on disk. It is safe for concurrent use.
type Store struct {
	options Options
	fs      vfs.FS
	fuse    *fuse
	lock    *pebble.Lock
	// keepsLock is whether Close leaves the lock to the part that set it.
	keepsLock bool
	db        *pebble.DB
	// compactions records whether Pebble's compactions make progress.
	compactions *compactions
	snapshots   *snapshots
	retries     *store.Retries

	// gate guards closed; once that is set, users only falls.
	gate   sync.Mutex
	closed bool
	users  sync.WaitGroup
	closer sync.Once

	// mu orders commits: Pebble gets them in the order of the history.
	mu      sync.Mutex
	history *history
	// unchecked is how many bytes were written since holdBack last checked.
	unchecked atomic.Int64
	// newest is the newest group of commits, which may be visible and not yet
	// durable. It is changed under mu, except for a group that failed.
	newest atomic.Pointer[group]

	// scrubbing allows one scrub at a time, and guards whether Close has to write the
	// list of tables again.
	scrubbing sync.Mutex
	relist    bool
}

// Open opens the store in a folder, or creates it, and migrates its format. If another
// program keeps the folder open for longer than [Options.LockWait], the error is
// sdk.Conflict, reason "store_locked"; if its format is newer, sdk.Incompatible.
func Open(ctx context.Context, o Options) (*Store, error) {
	return open(ctx, o, vfs.Default)
}

// open opens a store on a file system, which tests choose.
func open(ctx context.Context, o Options, fs vfs.FS) (*Store, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	lock, err := lockDir(ctx, &o, fs)
	if err != nil {
		return nil, err
	}
	clearReplacements(fs, o.Dir)
	return openLocked(ctx, o, fs, lock)
}

// openLocked opens a store whose folder is locked.
func openLocked(ctx context.Context, o Options, fs vfs.FS, lock *pebble.Lock) (s *Store, err error) {
	f := newFuse(o.Durability)
	s = &Store{options: o, fs: fs, fuse: f, lock: lock, compactions: &compactions{}, retries: store.NewRetries(), history: newHistory()}
	if err = checkMarker(fs, o.Dir); err == nil {
		s.db, err = pebble.Open(o.Dir, o.engine(fuseFS{fs, f, o.Dir}, f, lock, s.compactions))
	}
	if err != nil {
		f.close()
		s.unlock()
		return nil, ioError("open "+o.Dir, err)
	}
	s.snapshots = &snapshots{db: s.db, commits: s.history.visible, synced: o.Durability == Full, clock: o.Clock, open: map[*snapshot]time.Time{}}
	f.serving.Store(true)
	// Pebble doesn't notice writes that failed meanwhile.
	if err = f.err(); err == nil {
		f.leftovers.opened()
		err = store.Prepare(ctx, s)
	}
	if err != nil {
		_ = s.Close()
		return nil, sdk.Wrap("open "+o.Dir, err)
	}
	// Finishes a purge that was killed. If that fails, its marks stay, and the store can
	// be read anyway.
	_, _ = s.scrubMarked(ctx)
	return s, nil
}

// Durability is when commits are acknowledged.
func (s *Store) Durability() Durability { return s.options.Durability }

// Err is why the store accepts no more writes, such as a full disk; nil if it does.
func (s *Store) Err() error { return s.fuse.err() }

// Failed is closed once the disk has refused a write: from then on nothing is written.
func (s *Store) Failed() <-chan struct{} { return s.fuse.blown }

// View implements [core.Store].
func (s *Store) View(ctx context.Context, fn func(core.Reader) error) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.users.Done()
	snap := s.snapshots.acquire()
	defer s.snapshots.release(snap)
	v := &view{snap: snap.Snapshot}
	defer v.end()
	var last *group
	if !snap.durable {
		last = s.newest.Load() // after the snapshot, so that it covers everything visible
	}
	err := fn(v)
	if failed := last.wait(); err == nil {
		return failed
	}
	return err // the error may depend on what was read
}

// Update implements [core.Store].
func (s *Store) Update(ctx context.Context, fn func(core.Tx) error) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.users.Done()
	var durable func() error
	err := s.retries.Run(ctx, func() (conflict bool, err error) {
		durable, conflict, err = s.try(ctx, fn)
		return conflict, err
	})
	if err != nil {
		return err
	}
	return durable()
}

// Close waits for running transactions and closes the files. It is idempotent. Its error
// says that acknowledged commits aren't on disk, which is possible with relaxed
// durability, or that the files can't be closed.
func (s *Store) Close() (err error) {
	s.closer.Do(func() { err = s.close() })
	return err
}

func (s *Store) close() error {
	s.gate.Lock()
	s.closed = true
	s.gate.Unlock()
	s.users.Wait()
	if s.fuse.err() == nil {
		_, _ = s.scrubMarked(context.Background()) // if it fails, its marks stay; the fuse reports disk errors
	}
	s.snapshots.renew()
	// With Full, the call that failed has reported it, and only its own commit is lost;
	// with Relaxed, acknowledged commits are lost.
	reported := s.options.Durability == Full && s.fuse.err() != nil
	s.fuse.close()
	err := s.db.Close()
	if s.fuse.err() != nil {
		s.fuse.leftovers.remove(s.fs)
	} else if err == nil && s.relist {
		err = s.rewriteList()
	}
	s.unlock()
	switch {
	case reported:
		return nil
	case err != nil && s.fuse.err() == nil:
		return ioError("close", err)
	}
	return s.fuse.err()
}

// unlock releases the folder. If that fails, it is only released when the process ends,
// or a stale holder file stays.
func (s *Store) unlock() {
	if s.keepsLock {
		return
	}
	_ = s.fs.Remove(s.fs.PathJoin(s.options.Dir, holderFile))
	_ = s.lock.Close()
}

// enter begins a use of the store, to be ended with s.users.Done.
func (s *Store) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.gate.Lock()
	defer s.gate.Unlock()
	if s.closed {
		return store.ErrClosed()
	}
	s.users.Add(1)
	return nil
}

// try runs a transaction once. durable must have returned nil before the transaction is
// acknowledged.
func (s *Store) try(ctx context.Context, fn func(core.Tx) error) (durable func() error, conflict bool, err error) {
	if err := s.holdBack(ctx); err != nil {
		return nil, false, err
	}
	t := &tx{store: s, begun: s.history.begin()}
	committing := false
	defer func() {
		t.end()
		if !committing {
			s.history.end(t.begun)
		}
	}()
	if err = fn(t); err == nil {
		err = ctx.Err()
	}
	last := s.newest.Load() // after the last read, so that it covers everything that was visible
	switch {
	case t.conflict:
		return nil, true, ctx.Err()
	case err != nil:
		_ = last.wait() // as in View
		return nil, false, err
	case len(t.writes.list) == 0:
		return last.wait, false, nil
	}
	committing = true
	return s.commit(t)
}

// commit checks a transaction, makes it visible and ends it.
func (s *Store) commit(t *tx) (durable func() error, conflict bool, err error) {
	keys := t.writes.sorted()
	batch, err := s.batch(&t.writes, t.size)
	if err != nil {
		s.history.end(t.begun)
		return nil, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fuse.err(); err != nil {
		s.history.end(t.begun)
		return nil, false, err
	}
	if s.history.add(t.begun, &t.reads, &t.writes, keys) {
		s.history.end(t.begun)
		return nil, true, batch.Close()
	}
	defer s.history.apply(t.begun)
	s.unchecked.Add(int64(t.size))
	return s.apply(batch), false, nil
}

// apply passes a batch to Pebble's log and memtable, and returns a function that waits
// for the disk. The caller holds s.mu.
func (s *Store) apply(batch *pebble.Batch) (durable func() error) {
	durable = s.fuse.err
	if s.options.Durability == Full {
		durable = s.join() // before the commit is visible, so that no view misses the group
	}
	if err := s.db.Apply(batch, pebble.NoSync); err != nil {
		s.fuse.blow(err)
	}
	if s.fuse.err() != nil { // Pebble reports fatal errors only to its logger
		s.history.lose()
		return durable
	}
	_ = batch.Close() // only returns memory
	return durable
}
