package postgres

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/sdk"
)

// pool keeps connections. Views, reads of transactions and commits have limits of their
// own, so that none can use up what another needs to go on: a function in a view may wait
// for a commit.
type pool struct {
	config *pgconn.Config
	name   string

	mu     sync.Mutex
	idle   []*pgconn.PgConn
	closed bool
	// down is since when no connection could be made; zero while they can.
	down time.Time
	trip atomic.Uint64 // how many round trips there were
	// unnamed is whether sessions don't keep named statements, as with some poolers.
	unnamed atomic.Bool
}

// slots bounds how many connections are used for one purpose.
type slots chan struct{}

// conn is a connection in use.
type conn struct {
	*pgconn.PgConn
	pool  *pool
	slots slots
}

// connectTimeout bounds one try to connect.
const connectTimeout = 5 * time.Second

func newPool(config *pgconn.Config) *pool {
	if config.ConnectTimeout == 0 || config.ConnectTimeout > connectTimeout {
		config.ConnectTimeout = connectTimeout
	}
	config.OnNotice = func(c *pgconn.PgConn, n *pgconn.Notice) {
		if n.SeverityUnlocalized == "WARNING" {
			c.CustomData()[warned] = true
		}
	}
	return &pool{config: config, name: name(config)}
}

// warned is where a connection notes a warning of the database.
const warned = "warned"

// takeWarning reports whether there was a warning. After a commit it is that the wait for
// the synchronous standby was cancelled: the commit may not survive a failover.
func (c *conn) takeWarning() bool {
	_, was := c.CustomData()[warned]
	delete(c.CustomData(), warned)
	return was
}

// get returns a connection, to be given back with put. The error is one of the
// connection, not yet translated, or of ctx.
func (p *pool) get(ctx context.Context, s slots) (*conn, error) {
	select {
	case s <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	c, err := p.acquire(ctx)
	if err != nil {
		<-s
		return nil, err
	}
	return &conn{c, p, s}, nil
}

func (p *pool) acquire(ctx context.Context) (*pgconn.PgConn, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, store.ErrClosed()
	}
	if n := len(p.idle); n > 0 {
		c := p.idle[n-1]
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		return c, nil
	}
	p.mu.Unlock()
	c, err := pgconn.ConnectConfig(ctx, p.config)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err == nil:
		p.down = time.Time{}
	case p.down.IsZero() && ctx.Err() == nil:
		p.down = time.Now()
	}
	return c, err
}

// put gives a connection back, or closes one that can't be used any more.
func (c *conn) put() {
	defer func() { <-c.slots }()
	p := c.pool
	p.mu.Lock()
	keep := !p.closed && !c.IsClosed() && c.TxStatus() == 'I'
	if keep {
		p.idle = append(p.idle, c.PgConn)
	}
	p.mu.Unlock()
	if !keep {
		c.discard()
	}
}

// discardTimeout bounds the goodbye of a connection.
const discardTimeout = time.Second

func (c *conn) discard() { discard(c.PgConn) }

func discard(c *pgconn.PgConn) {
	ctx, cancel := context.WithTimeout(context.Background(), discardTimeout)
	defer cancel()
	_ = c.Close(ctx) // nothing is left to say
}

// send sends statements, and counts the round trip.
func (c *conn) send(ctx context.Context, statements ...statement) ([][]row, error) {
	return c.sendBy(ctx, make([]string, len(statements)), statements)
}

func (c *conn) sendBy(ctx context.Context, names []string, statements []statement) ([][]row, error) {
	c.pool.trip.Add(1)
	rows, err := sendBy(ctx, c.PgConn, names, statements)
	c.failed(err)
	return rows, err
}

// failed closes what an error shows to be useless.
func (c *conn) failed(err error) {
	if stateOf(err) == stateReadOnly {
		c.discard() // the server was the primary before
	}
	if err != nil && c.IsClosed() {
		c.pool.drain() // the others are probably lost too
	}
}

// drain closes the idle connections.
func (p *pool) drain() {
	p.mu.Lock()
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	for _, c := range idle {
		discard(c)
	}
}

func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.drain()
}

// downSince is since when no connection could be made; zero while they can.
func (p *pool) downSince() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.down
}

// outage waits between tries while the database can't be reached.
type outage struct {
	pool  *pool
	wait  time.Duration
	began time.Time
	pause time.Duration
}

// The first pause after a failure, and the longest.
const (
	firstPause = 20 * time.Millisecond
	maxPause   = time.Second
)

// next waits before the next try. It returns the translated error when there is none:
// the wait is over, or another try can't help.
func (o *outage) next(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if sdk.ReasonOf(err) == "store_closed" {
		return err
	}
	if !isLost(err) || isRefused(err) {
		return translate(o.pool.name, err)
	}
	if o.began.IsZero() {
		o.began, o.pause = time.Now(), firstPause
	}
	if time.Since(o.began) >= o.wait {
		return translate(o.pool.name, err)
	}
	timer := time.NewTimer(min(o.pause, o.wait-time.Since(o.began)))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	o.pause = min(2*o.pause, maxPause)
	return nil
}
