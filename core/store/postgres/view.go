package postgres

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/sdk"
)

// beginSQL begins a view. Its snapshot is taken by the first read, which travels with it.
const beginSQL = `begin isolation level repeatable read, read only`

// idleTime is after which time the database ends the view of a host that stopped, which would
// keep it from cleaning up: a page is read within milliseconds.
const idleTime = time.Minute

// beginView begins a view, and has the database end it once the host reads nothing for so
// long: between two statements, and on Linux in the middle of a long answer over TCP. Other
// systems would complain about that in the log each time.
func (s *Store) beginView() []statement {
	limit := s.idleTime.Milliseconds()
	begin := []statement{{sql: beginSQL}, {sql: fmt.Sprintf("set local idle_in_transaction_session_timeout = %d", limit)}}
	if s.server.linux {
		begin = append(begin, statement{sql: fmt.Sprintf("set local tcp_user_timeout = %d", limit)})
	}
	return begin
}

// view reads a snapshot of the database.
type view struct {
	ctx   context.Context
	store *Store
	conn  *conn // nil before the first read
	ended atomic.Bool
	// keys and ranges were read ahead.
	keys   map[string]entry
	ranges map[span][]pair
}

// span is a range, and pair a key with its entry.
type span struct{ from, to string }

type pair struct {
	key string
	entry
}

var _ core.ReaderWithPrefetch = (*view)(nil)

// View implements [core.Store]. Its moment is its first read.
func (s *Store) View(ctx context.Context, fn func(core.Reader) error) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.users.Done()
	v := &view{ctx: ctx, store: s}
	defer v.end()
	return fn(v)
}

// end gives the connection back, after the transaction is over. Nobody waits for that.
func (v *view) end() {
	v.ended.Store(true)
	if v.conn == nil {
		return
	}
	c := v.conn
	v.store.users.Go(func() {
		if c.TxStatus() != 'I' && !c.IsClosed() {
			ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
			defer cancel()
			_, _ = send(ctx, c.PgConn, statement{sql: "commit"}) // put sees whether it worked
		}
		c.put()
	})
}

// read runs a statement in the view's transaction, and begins that if it is the first.
// Only then can it be repeated on another connection.
func (v *view) read(q statement) ([]row, error) {
	if v.conn != nil {
		all, err := v.conn.send(v.ctx, q)
		if err != nil {
			return nil, v.failed(err)
		}
		return all[0], nil
	}
	wait := outage{pool: v.store.pool, wait: v.store.options.Wait}
	for {
		c, err := v.store.pool.get(v.ctx, v.store.views)
		if err == nil {
			var all [][]row
			if all, err = c.send(v.ctx, append(v.store.beginView(), q)...); err == nil {
				v.conn = c
				return all[len(all)-1], nil
			}
			c.put()
		}
		if err := wait.next(v.ctx, err); err != nil {
			return nil, err
		}
	}
}

// failed describes an error in the middle of a view, which can't be repeated, because fn
// has seen a part of it.
func (v *view) failed(err error) error {
	switch {
	case v.ctx.Err() != nil:
		return v.ctx.Err()
	case isLost(err):
		return sdk.Errorf(sdk.Unavailable, "store_view_lost", "the connection to the database %s was lost while it was read: %s", v.store.pool.name, text(err)).
			WithHint("try again")
	}
	return translate(v.store.pool.name, err)
}

// Get implements [core.Reader].
func (v *view) Get(key []byte) ([]byte, bool, error) {
	if v.ended.Load() {
		return nil, false, store.ErrEnded()
	}
	if err := store.CheckKey(key); err != nil {
		return nil, false, err
	}
	e, known := v.keys[string(key)]
	if !known {
		rows, err := v.read(getStatement(string(key)))
		if err != nil {
			return nil, false, err
		}
		e = toEntry(rows)
	}
	return cloned(e.value, e.version != 0), e.version != 0, nil
}

// Scan implements [core.Reader].
func (v *view) Scan(from, to []byte, fn func(key, value []byte) (bool, error)) error {
	if v.ended.Load() {
		return store.ErrEnded()
	}
	if len(to) > 0 && bytes.Compare(from, to) >= 0 {
		return nil
	}
	if pairs, known := v.ranges[span{string(from), string(to)}]; known {
		for _, p := range pairs {
			if more, err := fn([]byte(p.key), cloned(p.value, true)); err != nil || !more {
				return err
			}
		}
		return nil
	}
	var stop error
	_, err := scanPages(readRange{from: string(from), to: string(to)}, func(key string, e entry) bool {
		more, err := fn([]byte(key), e.value)
		stop = err
		return more && err == nil
	}, v.read)
	if err != nil {
		return err
	}
	return stop
}

// prefetchSQL reads keys ($1), and of each range ($2 to $3) the first pairs ($4).
const prefetchSQL = `
select 0::bigint, k, v, ver from kv where k = any($1::bytea[])
union all
select r.place, t.k, t.v, t.ver
from unnest($2::bytea[], $3::bytea[]) with ordinality as r(f, t, place),
  lateral (select k, v, ver from kv where kv.k >= r.f and kv.k < r.t order by k limit $4) t
order by 1, 2`

// Prefetch implements [core.ReaderWithPrefetch]. A range with more pairs than the first
// page of a scan isn't kept.
func (v *view) Prefetch(reads core.Reads) error {
	if v.ended.Load() {
		return store.ErrEnded()
	}
	unread, spans := v.unread(reads)
	if len(unread)+len(spans) == 0 {
		return nil
	}
	keys, from, to := bytesArray(), bytesArray(), bytesArray()
	for _, key := range unread {
		keys.add([]byte(key))
	}
	for _, s := range spans {
		from.add([]byte(s.from))
		if s.to == "" {
			to.add([]byte(lastKey()))
		} else {
			to.add([]byte(s.to))
		}
	}
	rows, err := v.read(statement{prefetchSQL, []param{keys.param(), from.param(), to.param(), numberParam(firstPage + 1)}})
	if err != nil {
		return err
	}
	if v.keys == nil {
		v.keys, v.ranges = map[string]entry{}, map[span][]pair{}
	}
	for _, key := range unread {
		v.keys[key] = entry{}
	}
	found := make([][]pair, len(spans))
	for _, r := range rows {
		key, e := string(r[1]), entry{r[2], toNumber(r[3])}
		if place := toNumber(r[0]); place > 0 {
			found[place-1] = append(found[place-1], pair{key, e})
		} else {
			v.keys[key] = e
		}
	}
	for i, pairs := range found {
		if len(pairs) <= firstPage {
			v.ranges[spans[i]] = pairs
		}
	}
	return nil
}

// unread are the keys and ranges of reads that weren't read ahead yet.
func (v *view) unread(reads core.Reads) (keys []string, spans []span) {
	for _, key := range reads.Keys {
		if _, known := v.keys[string(key)]; !known {
			keys = append(keys, string(key))
		}
	}
	add := func(s span) {
		if _, known := v.ranges[s]; !known {
			spans = append(spans, s)
		}
	}
	for _, prefix := range reads.Prefixes {
		add(span{string(prefix), string(core.PrefixEnd(prefix))})
	}
	for _, r := range reads.Ranges {
		add(span{string(r.From), string(r.To)})
	}
	return keys, spans
}
