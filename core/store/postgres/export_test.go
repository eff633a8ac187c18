package postgres

import (
	"context"
	"net"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core/store"
)

// OpenWith is [Open] for a program that knows other formats.
func OpenWith(ctx context.Context, o Options, formats *store.Formats) (*Store, error) {
	return open(ctx, o, formats)
}

// CommitSerializable has a store commit in SERIALIZABLE transactions, without locks.
func (s *Store) CommitSerializable() {
	s.statements = func(_ []lock, id int64, b *batch) []statement {
		commit := commitStatement(id, b)
		commit.sql = strings.ReplaceAll(commit.sql, "'read committed'", "'serializable'")
		return []statement{{sql: "begin isolation level serializable"}, commit, {sql: "commit"}}
	}
}

// BeforeCommits has a store call fn before each commit that doesn't keep its locks.
func (s *Store) BeforeCommits(fn func()) {
	s.statements = func(locks []lock, id int64, b *batch) []statement {
		fn()
		return commitStatements(locks, id, b)
	}
}

// EndViewsAfter sets after which time the database ends the view of a host that stopped.
func (s *Store) EndViewsAfter(d time.Duration) { s.idleTime = d }

// StopReading has a store's new connections receive nothing after begin is closed, until end is
// closed, as those of a suspended process.
func (s *Store) StopReading(begin, end <-chan struct{}) {
	dial := s.pool.config.DialFunc
	s.pool.config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		return &deafConn{c, begin, end}, err
	}
	s.pool.drain()
}

type deafConn struct {
	net.Conn
	begin, end <-chan struct{}
}

func (c *deafConn) Read(b []byte) (int, error) {
	select {
	case <-c.begin:
		<-c.end
	default:
	}
	return c.Conn.Read(b)
}

// KeepsStatements reports whether the store's sessions keep the statements of commits.
func (s *Store) KeepsStatements() bool {
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	for _, c := range s.pool.idle {
		if kept, _ := c.CustomData()[keptStatements].(map[string]string); len(kept) > 0 {
			return !s.pool.unnamed.Load()
		}
	}
	return false
}
