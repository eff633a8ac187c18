package postgres

import (
	"bytes"
	"context"
)

// The sizes of the pages of a scan: most scans read few pairs, and a page of a long one
// is bounded in pairs and in bytes.
const (
	firstPage    = 16
	largestPage  = 1024
	maxPageBytes = 1 << 20
)

const getSQL = `select v, ver from kv where k = $1`

// pageSQL reads a page: at least one pair, and as many more as have room. The size of a
// value is known without reading it.
const pageSQL = `
select k, v, ver from (
  select k, v, ver, sum(octet_length(v)) over (order by k) - octet_length(v) as before
  from (select k, v, ver from kv where k >= $1 and k < $2 order by k limit $3) p
) q where before < $4 order by k`

// lastKey is after all keys: they are shorter.
func lastKey() string { return string(bytes.Repeat([]byte{0xff}, 4097)) }

func getStatement(key string) statement { return statement{getSQL, []param{bytesParam(key)}} }

func pageStatement(r readRange, pairs int) statement {
	to := r.to
	if to == "" {
		to = lastKey()
	}
	return statement{pageSQL, []param{bytesParam(r.from), bytesParam(to), numberParam(int64(pairs)), numberParam(maxPageBytes)}}
}

func toEntry(rows []row) entry {
	if len(rows) == 0 {
		return entry{}
	}
	return entry{rows[0][0], toNumber(rows[0][1])}
}

// scanPages calls fn for the pairs of a range in order, until it returns false. page
// reads one.
func scanPages(r readRange, fn func(key string, e entry) bool, page func(statement) ([]row, error)) (pages int, err error) {
	for size := firstPage; ; size = min(4*size, largestPage) {
		rows, err := page(pageStatement(r, size))
		if err != nil {
			return pages, err
		}
		pages++
		for _, row := range rows {
			if !fn(string(row[0]), entry{row[1], toNumber(row[2])}) {
				return pages, nil
			}
		}
		if len(rows) == 0 || len(rows) < size && !cut(rows) {
			return pages, nil
		}
		r.from = string(rows[len(rows)-1][0]) + "\x00"
	}
}

// cut reports whether a page ended because of its bytes.
func cut(rows []row) bool {
	size := 0
	for _, row := range rows {
		size += len(row[1])
	}
	return size >= maxPageBytes
}

// get implements [source]: from the cache, else from the database.
func (s *Store) get(ctx context.Context, key string) (e entry, fresh bool, err error) {
	if e, known := s.cache.get(key); known {
		return e, false, nil
	}
	if s.fresh.isIn(key) {
		return entry{}, false, nil
	}
	rows, err := s.read(ctx, getStatement(key))
	if err != nil {
		return entry{}, false, err
	}
	e = toEntry(rows)
	s.cache.add(key, e)
	return e, true, nil
}

// scan implements [source].
func (s *Store) scan(ctx context.Context, r readRange, fn func(key string, e entry) bool) (pages int, err error) {
	if s.fresh.isIn(commonPrefix(r.from, r.to)) {
		return 0, nil
	}
	return scanPages(r, fn, func(page statement) ([]row, error) { return s.read(ctx, page) })
}

// read runs one statement that reads, again if the connection is lost.
func (s *Store) read(ctx context.Context, q statement) ([]row, error) {
	wait := outage{pool: s.pool, wait: s.options.Wait}
	for {
		rows, err := s.readOnce(ctx, q)
		if err == nil {
			return rows, nil
		}
		if err := wait.next(ctx, err); err != nil {
			return nil, err
		}
	}
}

func (s *Store) readOnce(ctx context.Context, q statement) ([]row, error) {
	c, err := s.pool.get(ctx, s.reads)
	if err != nil {
		return nil, err
	}
	defer c.put()
	all, err := c.send(ctx, q)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}
