package postgres

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/reflectory/reflectory/sdk"
)

// lockSQL takes the locks of a commit in their order. It returns no rows. The setting holds
// for the transaction: the plan of a named statement is kept, and one that was made while the
// table was small would read all of it later.
const lockSQL = `
select from unnest($1::bigint[], $2::boolean[]) as l(id, exclusive)
where (case when exclusive then pg_advisory_xact_lock(id) else pg_advisory_xact_lock_shared(id) end) is null
  or (select set_config('enable_seqscan', 'off', true)) is null`

// changedSQL finds what differs from what a transaction read: keys with another version
// ($1 and $2), and ranges ($3 to $4) whose versions aren't $7 from $5 on, $6 of them. The
// OFFSET has each key looked up by itself, whatever the planner thinks of their number.
const changedSQL = `
changed_key as materialized (
  select r.k, t.v, coalesce(t.ver, 0) as ver
  from unnest($1::bytea[], $2::bigint[]) as r(k, ver)
  left join lateral (select v, ver from kv where kv.k = r.k offset 0) t on true
  where coalesce(t.ver, 0) <> r.ver),
changed_range as materialized (
  select r.place - 1 as place
  from unnest($3::bytea[], $4::bytea[], $5::bigint[], $6::bigint[]) with ordinality as r(f, t, first, n, place)
  where coalesce((select array_agg(kv.ver order by kv.k) from kv where kv.k >= r.f and kv.k < r.t), '{}')
    <> coalesce(($7::bigint[])[r.first + 1 : r.first + r.n], '{}'))`

// changesSQL returns what differs, with the values that aren't large.
const changesSQL = `
select 1::bigint, k, case when octet_length(v) <= 65536 then v end, ver, 0::bigint from changed_key
union all
select 2::bigint, null, null, 0::bigint, place from changed_range`

// checkSQL compares what was read, in one moment.
const checkSQL = `with ` + changedSQL + changesSQL

// commitSQL writes a transaction if nothing that it read has changed. Its snapshot is taken
// after the locks, so it needs the isolation in which each statement has its own.
const commitSQL = `with ` + changedSQL + `,
same as materialized (
  select where not exists (select from changed_key) and not exists (select from changed_range)
    and current_setting('transaction_isolation') = 'read committed'),
committed as (
  insert into kv_commit (id) select $8::bigint from same returning id),
written as (
  insert into kv (k, v, ver) select w.k, w.v, $8::bigint from unnest($9::bytea[], $10::bytea[]) as w(k, v), same
  on conflict (k) do update set v = excluded.v, ver = excluded.ver),
deleted as (
  delete from kv where k = any($11::bytea[]) and exists (select from same))
select 0::bigint, null::bytea, null::bytea, id, 0::bigint from committed
union all` + changesSQL

// resolveSQL shows whether a commit of unknown outcome happened, and makes that final. It
// writes even then, so that its own commit is as safe as the one that it found.
const resolveSQL = `
insert into kv_commit (id, refused) values ($1, true)
on conflict (id) do update set at = now() returning refused`

// commitID returns a new id of a commit: 62 random bits, never 0.
func commitID() int64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand aborts the program instead
	return int64(binary.BigEndian.Uint64(b[:])>>2 | 1)
}

// commit implements [database]. It ends with a known outcome, or with
// store_outcome_unknown once the database couldn't be reached for so long.
func (s *Store) commit(ctx context.Context, b *batch, again func(changes) *batch) (changes, error) {
	wait := outage{pool: s.pool, wait: s.options.Wait}
	locks := b.locks.sorted()
	if again != nil {
		runAgain := again
		again = func(changed changes) *batch {
			b = runAgain(changed)
			return b
		}
	}
	for {
		id := commitID()
		sent, changed, err := s.tryCommit(ctx, id, locks, b, again)
		if err == nil {
			if changed.none() {
				s.wrote(b, id)
			}
			return changed, nil
		}
		switch state := stateOf(err); {
		case state == "53200" && len(locks) > 1: // no room for so many locks
			locks = allLocked()
			continue
		case state == "40P01" || state == "40001" || state == "55P03": // another user of the tables
			s.conflicts.Add(1)
			continue
		case sent && isUnknown(err):
			happened, err := s.resolve(ctx, id, &wait)
			if err != nil {
				return changes{}, err
			}
			if happened {
				s.wrote(b, id)
				return changes{}, nil
			}
			continue
		}
		if err := wait.next(ctx, err); err != nil {
			return changes{}, err
		}
	}
}

// outdated implements [database].
func (s *Store) outdated(key string, version int64) bool {
	e, known := s.cache.get(key)
	return known && e.version != version
}

// wrote notes a batch that is committed.
func (s *Store) wrote(b *batch, id int64) {
	s.cache.wrote(b.writes(), id)
	s.fresh.wrote(b.writes())
	s.commits.Add(1)
}

// tryCommit sends a commit once, or twice if again runs it again. sent is whether the
// database may have got it.
func (s *Store) tryCommit(ctx context.Context, id int64, locks []lock, b *batch, again func(changes) *batch) (sent bool, changed changes, err error) {
	c, err := s.pool.get(ctx, s.writes)
	if err != nil {
		return false, changes{}, err
	}
	defer c.put()
	if again != nil {
		changed, err := s.commitHolding(ctx, c, id, locks, b, again)
		return true, changed, err
	}
	statements := s.statements(locks, id, b)
	names, err := c.names(ctx, statements)
	if err != nil {
		return false, changes{}, err
	}
	all, err := c.sendNamed(ctx, names, statements)
	if err != nil {
		return true, changes{}, err
	}
	changed, err = s.outcome(c, all[1], b)
	return true, changed, err
}

// holdTime is after which time the database ends a transaction that keeps locks and sends
// nothing, because its host stopped. A host waits for turnWait per member.
const holdTime = 30 * time.Second

// commitHolding sends a commit and keeps its locks. If something has changed, again makes a
// batch of what it read, which nobody else can write then, and that is committed.
func (s *Store) commitHolding(ctx context.Context, c *conn, id int64, locks []lock, b *batch, again func(changes) *batch) (changes, error) {
	begin := []statement{{sql: "begin"}, {sql: fmt.Sprintf("set local idle_in_transaction_session_timeout = %d", holdTime.Milliseconds())}}
	all, err := c.send(ctx, append(begin, commitStatements(locks, id, b)...)...)
	if err != nil {
		return changes{}, err
	}
	changed, err := s.outcome(c, all[len(all)-1], b)
	if err != nil {
		return changes{}, err
	}
	if !changed.none() {
		if b = again(changed); len(b.members) == 0 {
			return changed, nil // the connection is closed, and with it the transaction
		}
		if all, err = c.send(ctx, commitStatement(id, b)); err != nil {
			return changes{}, err
		}
		if changed, err = s.outcome(c, all[0], b); err != nil || !changed.none() {
			return changed, err
		}
	}
	_, err = c.send(ctx, statement{sql: "commit"})
	if err == nil && c.takeWarning() {
		err = errWarned
	}
	return changed, err
}

// errWarned is the outcome of a commit of which the database warned, which is unknown.
var errWarned = errors.New("the database warned about the commit")

// outcome reads what the second statement of a commit returned.
func (s *Store) outcome(c *conn, rows []row, b *batch) (changes, error) {
	if c.takeWarning() {
		return changes{}, errWarned
	}
	if len(rows) == 0 {
		return changes{}, sdk.Errorf(sdk.Incompatible, "store_isolation", "the database %s has another default of transaction_isolation than read committed", s.pool.name).
			WithHint("set default_transaction_isolation to read committed for the user of the store")
	}
	return s.noteChanges(rows, b.ranges), nil
}

// noteChanges notes what the database found changed of what was read. What was taken as absent
// because of a new id, another host has written: it isn't guessed again.
func (s *Store) noteChanges(rows []row, ranges []readRange) changes {
	changed := changes{keys: map[string]struct{}{}, ranges: map[int]struct{}{}}
	for _, r := range rows {
		switch toNumber(r[0]) {
		case 1:
			key, e := string(r[1]), entry{r[2], toNumber(r[3])}
			changed.keys[key] = struct{}{}
			s.fresh.forget(key)
			if e.version != 0 && e.value == nil {
				s.cache.drop(key) // it is large
			} else {
				s.cache.put(key, e)
			}
		case 2:
			place := int(toNumber(r[4]))
			changed.ranges[place] = struct{}{}
			s.fresh.forget(ranges[place].from)
		}
	}
	if !changed.none() {
		s.conflicts.Add(1)
	}
	return changed
}

// resolve finds out whether a commit happened whose connection was lost. If it didn't, it
// never will.
func (s *Store) resolve(ctx context.Context, id int64, wait *outage) (happened bool, err error) {
	for {
		happened, err := s.tryResolve(ctx, id)
		if err == nil {
			return happened, nil
		}
		if err := wait.next(ctx, err); err != nil {
			return false, sdk.Errorf(sdk.Unavailable, "store_outcome_unknown",
				"it isn't known whether commit %d happened, because the database can't be reached since: %w", id, err).
				WithHint("once it can be reached, the table kv_commit has this id if the commit happened").WithDetail("commit", id)
		}
	}
}

func (s *Store) tryResolve(ctx context.Context, id int64) (happened bool, err error) {
	c, err := s.pool.get(ctx, s.writes)
	if err != nil {
		return false, err
	}
	defer c.put()
	all, err := c.send(ctx, statement{resolveSQL, []param{numberParam(id)}})
	if err != nil {
		return false, err
	}
	return !isTrue(all[0][0][0]), nil
}

// check compares what a transaction read that wrote nothing, in one moment.
func (s *Store) check(ctx context.Context, r *readSet) (changes, error) {
	rows, err := s.read(ctx, statement{checkSQL, readParams(r.keys, r.ranges)})
	if err != nil {
		return changes{}, err
	}
	return s.noteChanges(rows, r.ranges), nil
}

// commitStatements are the two of a commit.
func commitStatements(locks []lock, id int64, b *batch) []statement {
	return []statement{lockStatement(locks), commitStatement(id, b)}
}

func lockStatement(locks []lock) statement {
	ids, exclusive := numberArray(), booleanArray()
	for _, l := range locks {
		ids.addNumber(l.id)
		exclusive.addBoolean(l.exclusive)
	}
	return statement{lockSQL, []param{ids.param(), exclusive.param()}}
}

func commitStatement(id int64, b *batch) statement {
	keys, values, deleted := bytesArray(), bytesArray(), bytesArray()
	for _, key := range slices.Sorted(maps.Keys(b.writes())) {
		if w := b.writes()[key]; w.deleted {
			deleted.add([]byte(key))
		} else {
			keys.add([]byte(key))
			values.add(w.value)
		}
	}
	params := append(readParams(b.keys, b.ranges), numberParam(id), keys.param(), values.param(), deleted.param())
	return statement{commitSQL, params}
}

// readParams are the parameters of changedSQL.
func readParams(read map[string]entry, ranges []readRange) []param {
	keys, versions := bytesArray(), numberArray()
	for key, e := range read {
		keys.add([]byte(key))
		versions.addNumber(e.version)
	}
	from, to, first, count, all := bytesArray(), bytesArray(), numberArray(), numberArray(), numberArray()
	for i := range ranges {
		r := &ranges[i]
		from.add([]byte(r.from))
		if r.to == "" {
			to.add([]byte(lastKey()))
		} else {
			to.add([]byte(r.to))
		}
		first.addNumber(int64(all.n))
		count.addNumber(int64(len(r.versions)))
		for _, v := range r.versions {
			all.addNumber(v)
		}
	}
	return []param{keys.param(), versions.param(), from.param(), to.param(), first.param(), count.param(), all.param()}
}
