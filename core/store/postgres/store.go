// Package postgres is the store in a PostgreSQL database, for any number of hosts:
// [core.Store] over pgx, and the only package that imports it.
//
// # Tables
//
// kv has the pairs, each with the id of the commit that wrote it as its version, and
// kv_commit has these ids for a day. There are no functions, triggers, sequences or
// notifications, and nothing has to be kept in a session, so that poolers work that give
// each transaction another one.
//
// # Transactions
//
// A transaction runs on values that may be outdated: of a cache, of several statements, or
// guessed to be absent. Its commit is one round trip with two statements. The first takes
// locks, see locks.go. The second compares the version of everything that was read, and
// writes if all are the same; otherwise it returns what differs, and the transaction runs
// again. So the order of the commits is a serial one, and a view, which has one snapshot,
// is between two of them: transactions and views together are strictly serializable.
// Serializable transactions of PostgreSQL next to views aren't, since a view may see the
// later of two commits without the earlier one.
//
// Because a function may run on a state that never was, its error or panic is checked
// like a result before it leaves Update.
//
// # Failure
//
// If the connection is lost during a commit, the host inserts the commit's id itself. If
// it was there, the commit happened; otherwise it can't any more, and is sent again. So
// Update returns nil, or an error after which nothing was written. A database that can't
// be reached is waited for, see [Options.Wait].
//
// It is internal to Reflectory: its API may change in any release.
package postgres

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/sdk"
)

// Store implements [core.Store] in a PostgreSQL database. It is safe for concurrent use.
type Store struct {
	options Options
	server  Server
	pool    *pool
	// views, reads and writes bound the connections for each purpose.
	views, reads, writes slots
	cache                *cache
	fresh                *FreshIDs
	committer            *committer

	// formats are those that the program knows, and newer is why this host writes nothing
	// any more: another host has migrated the store to a newer one.
	formats *store.Formats
	newer   atomic.Pointer[error]

	commits, conflicts atomic.Uint64
	// statements are the two of a commit; the second writes. A test has others.
	statements func(locks []lock, id int64, b *batch) []statement

	// idleTime is after which time the database ends a view that reads nothing.
	idleTime time.Duration

	// gate guards closed; once that is set, users only falls.
	gate   sync.Mutex
	closed bool
	users  sync.WaitGroup
	stop   context.CancelFunc // of the sweeps
}

var _ store.Closable = (*Store)(nil)

// Open opens the store in a database. It creates the tables if they are missing, and
// migrates the format, once no host lives that can't go on then. Besides the errors of the options, it fails with sdk.Incompatible if
// the database, or one of its settings, can't keep what it acknowledges, and with sdk.Unavailable, reason
// "store_login_refused" or "store_tls" if it refuses the connection, and "store_unreachable" if it
// can't be reached for [Options.Wait].
func Open(ctx context.Context, o Options) (*Store, error) { return open(ctx, o, store.Known()) }

func open(ctx context.Context, o Options, formats *store.Formats) (*Store, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	config, err := pgconn.ParseConfig(o.URL)
	if err != nil {
		return nil, CheckURL(o.URL)
	}
	s := &Store{
		options: o, pool: newPool(config),
		views: make(slots, o.Connections), reads: make(slots, maxReads), writes: make(slots, maxWrites),
		cache: newCache(o.CacheBytes), fresh: o.Fresh,
		statements: commitStatements, formats: formats, idleTime: idleTime,
	}
	if s.server, err = s.prepare(ctx); err != nil {
		s.pool.close()
		return nil, err
	}
	s.committer = startCommitter(s)
	sweeping, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.users.Go(func() { s.sweep(sweeping) })
	if err := formats.PrepareShared(ctx, unprepared{s}, store.DefaultGone); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// How many connections transactions read with, and how many commits and resolve outcomes.
const (
	maxReads  = 6
	maxWrites = 2
)

// Update implements [core.Store]. Once the store has a newer format than this program knows,
// it writes nothing more: sdk.Incompatible, reason "store_format_newer". That is checked with
// the commit, and costs no round trip.
func (s *Store) Update(ctx context.Context, fn func(core.Tx) error) error {
	if err := s.Newer(); err != nil {
		return err
	}
	err := unprepared{s}.Update(ctx, func(t core.Tx) error {
		if err := fn(t); err != nil || !t.(*tx).wrote() {
			return err
		}
		return s.formats.Check(t)
	})
	if sdk.ReasonOf(err) == "store_format_newer" {
		s.newer.Store(&err)
	}
	return err
}

// Newer is why this host writes nothing any more, because the store has a newer format;
// nil if it does.
func (s *Store) Newer() error {
	if err := s.newer.Load(); err != nil {
		return *err
	}
	return nil
}

// unprepared is a store whose format isn't checked.
type unprepared struct{ *Store }

// Update implements [core.Store].
func (s unprepared) Update(ctx context.Context, fn func(core.Tx) error) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.users.Done()
	return s.committer.update(ctx, s.Store, fn)
}

// Close waits for the running transactions, and closes the connections. It is idempotent.
func (s *Store) Close() error {
	s.gate.Lock()
	first := !s.closed
	s.closed = true
	s.gate.Unlock()
	if first {
		s.stop()
	}
	s.users.Wait()
	s.committer.close()
	s.pool.close()
	return nil
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

// Stats counts what a store did since it was opened.
type Stats struct {
	// Commits is how many groups were committed, and Members how many transactions they had.
	Commits, Members uint64
	// Conflicts is how many commits and checks found that something had changed.
	Conflicts uint64
	// RoundTrips is how often a call waited for the database.
	RoundTrips uint64
}

// Stats counts what the store did since it was opened.
func (s *Store) Stats() Stats {
	s.committer.mu.Lock()
	members := s.committer.members
	s.committer.mu.Unlock()
	return Stats{Commits: s.commits.Load(), Members: members, Conflicts: s.conflicts.Load(), RoundTrips: s.pool.trip.Load()}
}

// DeadRows is how many rows of the store's table PostgreSQL counts that nobody reads any more
// and that aren't vacuumed yet. It doesn't wait for a database that is away.
func (s *Store) DeadRows(ctx context.Context) (int64, error) {
	rows, err := s.readOnce(ctx, statement{sql: `select coalesce((select n_dead_tup from pg_stat_user_tables where relid = 'kv'::regclass), 0)`})
	if err != nil {
		return 0, translate(s.pool.name, err)
	}
	return toNumber(rows[0][0]), nil
}

// Commits counts the commits of this host since the store was opened.
func (s *Store) Commits() uint64 { return s.commits.Load() }

// Server is what the database reported about itself when the store was opened.
func (s *Store) Server() Server { return s.server }

// DownSince is since when the database can't be reached; zero while it can.
func (s *Store) DownSince() time.Time { return s.pool.downSince() }

// sweepAfter is when the first sweep comes, so that commands have none, and sweepEvery the
// time between two.
const (
	sweepAfter = time.Minute
	sweepEvery = time.Hour
)

// sweep removes the ids of commits that are older than a day, which nobody asks for.
func (s *Store) sweep(ctx context.Context) {
	for wait := sweepAfter; ; wait = sweepEvery {
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
			_, _ = s.readOnce(ctx, statement{sql: `delete from kv_commit where at < now() - interval '24 hours'`}) // or the next time
		}
	}
}
