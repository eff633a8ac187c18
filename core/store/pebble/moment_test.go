package pebble

import (
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/reflectory/reflectory/core"
)

// text reads a key of a test.
func text(t *testing.T, r core.Reader, key string) string {
	t.Helper()
	value, _, err := r.Get([]byte(key))
	if err != nil {
		t.Error(err)
	}
	return string(value)
}

// TestATransactionReadsWhatIsNewest: what others commit meanwhile makes it start
// afresh only where that changes something that it read.
func TestATransactionReadsWhatIsNewest(t *testing.T) {
	scan := func(tx core.Tx, from, to string) error {
		return tx.Scan([]byte(from), []byte(to), func(_, _ []byte) (bool, error) { return true, nil })
	}
	cases := []struct {
		name string
		read func(core.Tx) error // before another commits "other"
		more func(core.Tx) error // after it
		runs int
	}{
		{"a key that was written", func(core.Tx) error { return nil }, func(tx core.Tx) error {
			if v := text(t, tx, "other"); v != "1" {
				t.Errorf("it reads %q", v)
			}
			return nil
		}, 1},
		{"a range with the key", func(core.Tx) error { return nil }, func(tx core.Tx) error { return scan(tx, "a", "z") }, 1},
		{"a key and then the key", func(tx core.Tx) error { text(t, tx, "a"); return nil }, func(tx core.Tx) error { text(t, tx, "other"); return nil }, 1},
		{"the key twice", func(tx core.Tx) error { text(t, tx, "other"); return nil }, func(tx core.Tx) error {
			_, _, err := tx.Get([]byte("other"))
			return err
		}, 2},
		{"the key, which is ignored", func(tx core.Tx) error { text(t, tx, "other"); return nil }, func(tx core.Tx) error {
			_, _, _ = tx.Get([]byte("other"))
			return nil
		}, 2},
		{"a range and then the key", func(tx core.Tx) error { return scan(tx, "a", "z") }, func(tx core.Tx) error {
			_, _, err := tx.Get([]byte("other"))
			return err
		}, 2},
		{"the key and then a range", func(tx core.Tx) error { text(t, tx, "other"); return nil }, func(tx core.Tx) error { return scan(tx, "a", "z") }, 2},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := openTest(t, Options{Dir: "db"}, vfs.NewMem())
			runs := 0
			err := s.Update(t.Context(), func(tx core.Tx) error {
				runs++
				if err := c.read(tx); err != nil {
					return err
				}
				if runs == 1 {
					err := s.Update(t.Context(), func(tx core.Tx) error { return tx.Put([]byte("other"), []byte("1")) })
					if err != nil {
						return err
					}
				}
				if err := c.more(tx); err != nil {
					return err
				}
				return tx.Put([]byte("mine"), nil)
			})
			if err != nil || runs != c.runs {
				t.Errorf("it ran %d times, want %d; error %v", runs, c.runs, err)
			}
		})
	}
}

// TestEachTrySeesOneMoment moves amounts between accounts whose sum stays: each try
// sees that sum, also one that is run again.
func TestEachTrySeesOneMoment(t *testing.T) {
	s := openTest(t, Options{Dir: "db"}, vfs.NewMem())
	const accounts, writers, moves, amount = 4, 8, 100, 1000
	name := func(i int) []byte { return fmt.Appendf(nil, "account/%d", i%accounts) }
	put := func(tx core.Tx, i, n int) error { return tx.Put(name(i), strconv.AppendInt(nil, int64(n), 10)) }
	err := s.Update(t.Context(), func(tx core.Tx) error {
		for i := range accounts {
			if err := put(tx, i, amount); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var tries atomic.Int64
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range moves {
				err := s.Update(t.Context(), func(tx core.Tx) error {
					tries.Add(1)
					has, err := balances(tx, (w+i)%2 == 0, accounts, name)
					if err != nil {
						return err
					}
					if sum := has[0] + has[1] + has[2] + has[3]; sum != accounts*amount {
						t.Errorf("the accounts have %v", has)
					}
					from, to := (w+i)%accounts, (w+i+1)%accounts
					if err := put(tx, from, has[from]-i); err != nil {
						return err
					}
					return put(tx, to, has[to]+i)
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	t.Logf("%d tries for %d moves", tries.Load(), writers*moves)
}

// balances reads the accounts one by one, or by a scan.
func balances(tx core.Tx, one bool, accounts int, name func(int) []byte) (has []int, err error) {
	note := func(value []byte) error {
		n, err := strconv.Atoi(string(value))
		has = append(has, n)
		return err
	}
	if !one {
		err = tx.Scan([]byte("account/"), []byte("account0"), func(_, value []byte) (bool, error) { return true, note(value) })
		return has, err
	}
	for i := range accounts {
		value, _, err := tx.Get(name(i))
		if err != nil {
			return nil, err
		}
		if err := note(value); err != nil {
			return nil, err
		}
	}
	return has, nil
}

// TestOnlyCommitsThatShowCount: who looks again after the count has grown finds what
// it counts.
func TestOnlyCommitsThatShowCount(t *testing.T) {
	s := openTest(t, Options{Dir: "db", Durability: Relaxed}, vfs.NewMem())
	before := s.Commits()
	e := s.history.begin()
	if s.history.add(e, &readSet{}, &writeSet{}, []string{"a"}) {
		t.Fatal("a conflict of the only one")
	}
	if n := s.Commits(); n != before {
		t.Errorf("%d commits, want %d before it shows", n, before)
	}
	s.history.apply(e)
	if n := s.Commits(); n != before+1 {
		t.Errorf("%d commits, want %d", n, before+1)
	}
}
