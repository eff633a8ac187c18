package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// modelDB is a database in a map: what the group commit needs of PostgreSQL, done in the
// simplest way. Calls take a random time.
type modelDB struct {
	// writing is what a commit locks: while it compares and writes, no other host commits. It is
	// a channel, since a bubble's clock stands still while one waits for a mutex.
	writing chan struct{}
	mu      sync.Mutex
	random  *rand.Rand
	data    map[string]entry
	version int64
	// known is the host's cache: entries that may be outdated.
	known map[string]entry
	// fails is how often a commit fails with an error that is one member's fault.
	fails   float64
	commits int
	// ahead, if not nil, is what another host does before each commit gets its locks.
	ahead func()
}

func newModelDB(random *rand.Rand) *modelDB {
	return &modelDB{random: random, data: map[string]entry{}, known: map[string]entry{}, writing: make(chan struct{}, 1)}
}

func (d *modelDB) wait() {
	d.mu.Lock()
	n := time.Duration(d.random.IntN(4000)) * time.Microsecond
	d.mu.Unlock()
	time.Sleep(n)
}

func (d *modelDB) commit(_ context.Context, b *batch, again func(changes) *batch) (changes, error) {
	d.wait()
	if d.ahead != nil {
		d.ahead()
	}
	d.writing <- struct{}{}
	defer func() { <-d.writing }()
	if d.oneFails(b) {
		return changes{}, sdk.Errorf(sdk.Invalid, "store_key_invalid", "a key is too long")
	}
	changed := d.compared(b)
	if !changed.none() && again != nil {
		b = again(changed)
		changed = d.compared(b)
	}
	if !changed.none() {
		return changed, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.write(b.writes())
	d.commits++
	return changes{}, nil
}

func (d *modelDB) compared(b *batch) changes {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.compare(b.keys, b.ranges)
}

func (d *modelDB) oneFails(b *batch) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(b.members) > 1 && d.random.Float64() < d.fails
}

func (d *modelDB) check(_ context.Context, r *readSet) (changes, error) {
	d.wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.compare(r.keys, r.ranges), nil
}

func (d *modelDB) write(writes map[string]write) {
	d.version++
	for key, w := range writes {
		delete(d.data, key)
		if !w.deleted {
			d.data[key] = entry{w.value, d.version}
		}
		d.known[key] = d.data[key]
	}
}

func (d *modelDB) compare(keys map[string]entry, ranges []readRange) changes {
	changed := changes{keys: map[string]struct{}{}, ranges: map[int]struct{}{}}
	for key, e := range keys {
		if d.data[key].version != e.version {
			changed.keys[key] = struct{}{}
			d.known[key] = d.data[key]
		}
	}
	for i := range ranges {
		var versions []int64
		for _, key := range d.in(ranges[i]) {
			versions = append(versions, d.data[key].version)
		}
		if !slices.Equal(versions, ranges[i].versions) {
			changed.ranges[i] = struct{}{}
		}
	}
	return changed
}

func (d *modelDB) in(r readRange) (keys []string) {
	for key := range d.data {
		if r.contains(key) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

func (d *modelDB) outdated(key string, version int64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	e, known := d.known[key]
	return known && e.version != version
}

// get answers from the cache, or now and then from the data.
func (d *modelDB) get(_ context.Context, key string) (entry, bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if e, known := d.known[key]; known && d.random.IntN(8) > 0 {
		return e, false, nil
	}
	d.known[key] = d.data[key]
	return d.data[key], true, nil
}

func (d *modelDB) scan(_ context.Context, r readRange, fn func(string, entry) bool) (int, error) {
	d.mu.Lock()
	type pair struct {
		key string
		entry
	}
	var pairs []pair
	for _, key := range d.in(r) {
		pairs = append(pairs, pair{key, d.data[key]})
	}
	d.mu.Unlock()
	for _, p := range pairs {
		if !fn(p.key, p.entry) {
			break
		}
	}
	return 1, nil
}

// another is a commit of another host: it changes data, and the cache doesn't know.
func (d *modelDB) another(key, text string) {
	d.writing <- struct{}{}
	defer func() { <-d.writing }()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.version++
	d.data[key] = entry{append(slices.Clone(d.data[key].value), text...), d.version}
}

var errOwn = errors.New("own")

// TestGroup_Model runs random transactions on a model of the database, next to another
// host. Each appends its name to lists, and moves an amount between two accounts. Every
// acknowledged one must be in its lists once, after what it read; no refused one may be
// there; and none may end with the error of having seen a sum that never was.
func TestGroup_Model(t *testing.T) {
	for seed := range uint64(60) {
		synctest.Test(t, func(t *testing.T) { modelGroup(t, seed) })
	}
}

func modelGroup(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 1))
	db := newModelDB(random)
	db.fails = float64(seed%3) / 10
	db.write(map[string]write{"account/a": {value: []byte("50")}, "account/b": {value: []byte("50")}})
	c := startCommitter(db)
	m := &groupModel{t: t, db: db, c: c, acknowledged: map[string]map[string]string{}}
	var all sync.WaitGroup
	for client := range 12 {
		all.Go(func() {
			for i := range 12 {
				m.transact(rand.New(rand.NewPCG(seed, uint64(client*100+i))), fmt.Sprintf("<%d.%d>", client, i))
			}
		})
	}
	all.Go(func() {
		for i := range 20 {
			time.Sleep(3 * time.Millisecond)
			db.another(fmt.Sprintf("list/%d", i%4), fmt.Sprintf("<other.%d>", i))
		}
	})
	all.Wait()
	c.close()
	m.verify()
}

type groupModel struct {
	t  *testing.T
	db *modelDB
	c  *committer

	mu sync.Mutex
	// acknowledged has for each transaction the lists that it appended to, as it read them.
	acknowledged map[string]map[string]string
	refused      []string
}

func (m *groupModel) transact(random *rand.Rand, name string) {
	kind, lists := random.IntN(6), []string{"list/" + strconv.Itoa(random.IntN(4)), "list/" + strconv.Itoa(random.IntN(4))}
	var read map[string]string
	run := func(tx core.Tx) error {
		read = map[string]string{}
		if kind == 1 {
			time.Sleep(time.Duration(random.IntN(30)) * time.Millisecond) // longer than a group waits
		}
		if err := moveAmount(tx, random.IntN(10)); err != nil {
			return err
		}
		for _, key := range lists {
			value, _, err := tx.Get([]byte(key))
			if err == nil && !strings.Contains(string(value), name) {
				read[key] = string(value)
				err = tx.Put([]byte(key), append(value, name...))
			}
			if err != nil {
				return err
			}
		}
		switch kind {
		case 2:
			return errOwn
		case 3:
			panic(name)
		}
		return nil
	}
	var err error
	func() {
		defer func() {
			if r := recover(); r != nil && (kind != 3 || r != name) {
				m.t.Errorf("%s panicked with %v", name, r)
			}
		}()
		err = m.c.update(context.Background(), m.db, run)
	}()
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case kind == 2 && !errors.Is(err, errOwn), kind != 2 && err != nil && sdk.ReasonOf(err) != "store_key_invalid":
		m.t.Errorf("%s: %v", name, err)
	case err == nil && kind != 3:
		m.acknowledged[name] = read
	default:
		m.refused = append(m.refused, name)
	}
}

// moveAmount moves an amount between the accounts, which it finds by a scan.
func moveAmount(tx core.Tx, amount int) error {
	balances := map[string]int{}
	err := core.ScanPrefix(tx, []byte("account/"), func(key, value []byte) (bool, error) {
		n, err := strconv.Atoi(string(value))
		balances[string(key)] = n
		return true, err
	})
	if err != nil {
		return err
	}
	if balances["account/a"]+balances["account/b"] != 100 {
		return fmt.Errorf("the accounts have %v", balances)
	}
	return errors.Join(
		tx.Put([]byte("account/a"), []byte(strconv.Itoa(balances["account/a"]-amount))),
		tx.Put([]byte("account/b"), []byte(strconv.Itoa(balances["account/b"]+amount))))
}

func (m *groupModel) verify() {
	for name, lists := range m.acknowledged {
		for key, before := range lists {
			if list := string(m.db.data[key].value); !strings.HasPrefix(list, before+name) || strings.Count(list, name) != 1 {
				m.t.Fatalf("%s read %s = %q, which is now %q", name, key, before, list)
			}
		}
	}
	for _, name := range m.refused {
		for key, e := range m.db.data {
			if strings.Contains(string(e.value), name) {
				m.t.Fatalf("%s was refused, and is in %s", name, key)
			}
		}
	}
	if len(m.acknowledged) < 50 {
		m.t.Errorf("only %d transactions were acknowledged", len(m.acknowledged))
	}
}

// A function that waits for another transaction of the same host would have its group
// wait for ever.
func TestGroup_NestedTransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := newModelDB(rand.New(rand.NewPCG(1, 1)))
		c := startCommitter(db)
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				err := c.update(t.Context(), db, func(tx core.Tx) error {
					n, _, err := tx.Get([]byte("n"))
					if err != nil {
						return err
					}
					inner := c.update(t.Context(), db, func(tx core.Tx) error { return tx.Put([]byte("inner"), n) })
					return errors.Join(inner, tx.Put([]byte("n"), append(n, 'x')))
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		c.close()
		if got := string(db.data["n"].value); got != "xxxxxxxx" {
			t.Errorf("n = %q", got)
		}
	})
}

// A host to which another one is always ahead, and whose functions are slower than a group
// waits, commits all the same: a transaction that conflicted twice gets its turn.
func TestGroup_TurnOfWhoLost(t *testing.T) {
	for name, takes := range map[string]time.Duration{"a usual function": 0, "a slow function": 3 * rerunWait} {
		synctest.Test(t, func(t *testing.T) {
			db := newModelDB(rand.New(rand.NewPCG(1, 1)))
			db.ahead = func() { db.another("n", "o") }
			c := startCommitter(db)
			var all sync.WaitGroup
			for range 16 {
				all.Go(func() {
					for range 8 {
						runs := 0
						err := c.update(t.Context(), db, func(tx core.Tx) error {
							runs++
							time.Sleep(takes)
							n, _, err := tx.Get([]byte("n"))
							return errors.Join(err, tx.Put([]byte("n"), append(n, 'x')))
						})
						// Each of the three tries runs it by itself, on top of a group, and with its locks.
						if err != nil || runs > 3*(turnAfter+1) {
							t.Errorf("%s: committed after %d runs: %v", name, runs, err)
						}
					}
				})
			}
			all.Wait()
			c.close()
			if n := strings.Count(string(db.data["n"].value), "x"); n != 16*8 {
				t.Errorf("%s: %d of %d are there", name, n, 16*8)
			}
		})
	}
}

// What waits is committed at once, and what a cancelled caller wanted isn't written.
func TestGroup_CommitsSeveralAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := newModelDB(rand.New(rand.NewPCG(1, 1)))
		c := startCommitter(db)
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() {
				_ = c.update(ctx, db, func(tx core.Tx) error { return tx.Put(fmt.Appendf(nil, "k/%d", i), nil) })
			})
		}
		all.Wait()
		if db.commits > 5 || len(db.data) != 100 {
			t.Errorf("%d commits wrote %d keys", db.commits, len(db.data))
		}
		all.Go(func() {
			_ = c.update(t.Context(), db, func(tx core.Tx) error { return tx.Put([]byte("first"), nil) })
		})
		synctest.Wait()
		all.Go(func() {
			err := c.update(ctx, db, func(tx core.Tx) error { return tx.Put([]byte("second"), nil) })
			if !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled: %v", err)
			}
		})
		synctest.Wait()
		cancel()
		all.Wait()
		c.close()
		if _, ok := db.data["second"]; ok {
			t.Error("a withdrawn transaction was written")
		}
	})
}

// A thousand transactions of one tenant that wait delay another's by two groups at most.
func TestGroup_TenantsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := newModelDB(rand.New(rand.NewPCG(1, 1)))
		c := startCommitter(db)
		var all sync.WaitGroup
		write := func(namespace string) {
			all.Go(func() {
				err := c.update(t.Context(), db, func(tx core.Tx) error { return tx.Put([]byte(namespaceHead+namespace), nil) })
				if err != nil {
					t.Error(err)
				}
			})
		}
		for i := range 1000 {
			write(fmt.Sprintf("busy/%d", i))
		}
		run := func(subject, id string) error {
			ctx := core.WithCaller(t.Context(), core.Caller{Subject: subject})
			return c.update(ctx, db, func(tx core.Tx) error { return tx.Put([]byte("run/"+id), nil) })
		}
		for i := range 1000 {
			all.Go(func() {
				if err := run("busy", fmt.Sprint("busy-", i)); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait() // the first is on its way, and the others wait
		commits := func() int {
			db.mu.Lock()
			defer db.mu.Unlock()
			return db.commits
		}
		for _, tenant := range []string{"users/ada/notes", "users/bob", "team"} {
			before := commits()
			err := c.update(t.Context(), db, func(tx core.Tx) error { return tx.Put([]byte(namespaceHead+tenant), nil) })
			if groups := commits() - before; err != nil || groups > 2 {
				t.Errorf("%s is committed after %d groups: %v", tenant, groups, err)
			}
		}
		before := commits()
		if err := run("ada", "one"); err != nil || commits()-before > 2 {
			t.Errorf("another caller's run is committed after %d groups: %v", commits()-before, err)
		}
		all.Wait()
		c.close()
		if len(db.data) != 2004 {
			t.Errorf("%d keys were written", len(db.data))
		}
	})
}

func TestTenantOf(t *testing.T) {
	for want, keys := range map[string][]string{
		"/ada":      {"run/x", "event-head/run/x"},
		"team":      {"memory/a", "event-head/namespace/team/mail", "event-head/namespace/users/ada"},
		"users/ada": {"event-head/namespace/users/ada/notes/old"},
		"users":     {"event-head/namespace/users"},
	} {
		writes := map[string]write{}
		for _, key := range keys {
			writes[key] = write{}
		}
		if got := tenantOf(core.WithCaller(t.Context(), core.Caller{Subject: "ada"}), writes); got != want {
			t.Errorf("%v are of %q, want %q", keys, got, want)
		}
	}
}
