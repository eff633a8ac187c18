package storetest

import (
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// The moment of a view is its first read, or earlier.
func viewIsSnapshot(t *testing.T, s *suite) {
	s.put("a", "1", "b", "1")
	view(s, func(r core.Reader) error {
		if _, err := getText(r, "b"); err != nil {
			return err
		}
		s.put("a", "2", "c", "2")
		s.wantScan(r, "a", "d", "a=1", "b=1")
		a, err := getText(r, "a")
		if a != "1" {
			t.Errorf("a = %q in the snapshot, want 1", a)
		}
		return err
	})
	s.want("a", "2")
}

func txIsSnapshot(t *testing.T, s *suite) {
	s.put("a", "1", "b", "1")
	tries := 0
	s.update(func(tx core.Tx) error {
		if tries++; tries == 1 {
			s.put("a", "2", "b", "2")
		}
		a, err := getText(tx, "a")
		if err != nil {
			return err
		}
		b, err := getText(tx, "b")
		if a != b {
			t.Errorf("try %d saw a=%s and b=%s: half a transaction", tries, a, b)
		}
		return err
	})
}

func lostUpdate(t *testing.T, s *suite) {
	s.put("n", "1")
	tries := 0
	s.update(func(tx core.Tx) error {
		n, err := getText(tx, "n")
		if err != nil {
			return err
		}
		if tries++; tries == 1 {
			s.put("n", "10")
		}
		return putAll(tx, "n", n+"+1")
	})
	s.want("n", "10+1")
	if tries != 2 {
		t.Errorf("it ran %d times, want 2", tries)
	}
}

// writeSkew: of two doctors on call one may leave, and each leaves if the other is there.
func writeSkew(t *testing.T, s *suite) {
	s.put("ann", "on", "bob", "on")
	leave := func(me, other string, meanwhile func()) func(core.Tx) error {
		return func(tx core.Tx) error {
			state, err := getText(tx, other)
			if err != nil {
				return err
			}
			meanwhile()
			if state == "on" {
				return putAll(tx, me, "off")
			}
			return nil
		}
	}
	var once sync.Once
	s.update(leave("ann", "bob", func() {
		once.Do(func() { s.update(leave("bob", "ann", func() {})) })
	}))
	s.want("ann", "on")
	s.want("bob", "off")
}

func phantom(t *testing.T, s *suite) {
	s.put("room/1", "x")
	tries := 0
	s.update(func(tx core.Tx) error {
		pairs, err := scanAll(tx, "room/", "room0")
		if err != nil {
			return err
		}
		if tries++; tries == 1 {
			s.put("room/2", "y")
		}
		return putAll(tx, "count", strconv.Itoa(len(pairs)))
	})
	s.want("count", "2")
	s.update(func(tx core.Tx) error {
		pairs, err := scanAll(tx, "room/", "room0")
		if err != nil {
			return err
		}
		if tries++; tries == 3 {
			s.update(func(tx core.Tx) error { return tx.Delete([]byte("room/1")) })
		}
		return putAll(tx, "count", strconv.Itoa(len(pairs)))
	})
	s.want("count", "1")
}

func noPhantomPastStop(t *testing.T, s *suite) {
	s.put("q/1", "x", "q/5", "x")
	tries := 0
	s.update(func(tx core.Tx) error {
		var first string
		err := tx.Scan([]byte("q/"), []byte("q0"), func(key, _ []byte) (bool, error) {
			first = string(key)
			return false, nil
		})
		if tries++; tries == 1 {
			s.put("q/3", "y")
		}
		if err != nil {
			return err
		}
		return tx.Delete([]byte(first))
	})
	if tries != 1 {
		t.Errorf("a key after the last one read made it run %d times", tries)
	}
	tries = 0
	s.update(func(tx core.Tx) error {
		var first string
		err := tx.Scan([]byte("q/"), []byte("q0"), func(key, _ []byte) (bool, error) {
			first = string(key)
			return false, nil
		})
		if tries++; tries == 1 {
			s.put("q/2", "y")
		}
		if err != nil {
			return err
		}
		return tx.Delete([]byte(first))
	})
	s.want("q/2", "(absent)")
	s.want("q/3", "y")
}

func stopIsRead(t *testing.T, s *suite) {
	s.put("q/1", "x", "q/5", "x")
	tries := 0
	s.update(func(tx core.Tx) error {
		var first string
		err := tx.Scan([]byte("q/"), []byte("q0"), func(_, value []byte) (bool, error) {
			first = string(value)
			return false, nil
		})
		if tries++; tries == 1 {
			s.put("q/1", "y")
		}
		if err != nil {
			return err
		}
		return putAll(tx, "copy", first)
	})
	s.want("copy", "y")
}

func deletionConflicts(t *testing.T, s *suite) {
	s.put("a", "1")
	tries := 0
	s.update(func(tx core.Tx) error {
		a, err := getText(tx, "a")
		if err != nil {
			return err
		}
		if tries++; tries == 1 {
			s.update(func(tx core.Tx) error { return tx.Delete([]byte("a")) })
		}
		return putAll(tx, "copy", a+".")
	})
	s.want("copy", ".")
}

func absenceIsRead(t *testing.T, s *suite) {
	tries := 0
	s.update(func(tx core.Tx) error {
		_, found, err := tx.Get([]byte("a"))
		if err != nil {
			return err
		}
		if tries++; tries == 1 {
			s.put("a", "1")
		}
		return putAll(tx, "saw", strconv.FormatBool(found))
	})
	s.want("saw", "true")
}

func blindWrites(t *testing.T, s *suite) {
	tries := 0
	s.update(func(tx core.Tx) error {
		if tries++; tries == 1 {
			s.put("a", "inner")
		}
		return putAll(tx, "a", "outer")
	})
	s.want("a", "outer")
	if tries != 1 {
		t.Errorf("it ran %d times, want 1", tries)
	}
}

func endlessConflict(t *testing.T, s *suite) {
	tries := 0
	err := s.store.Update(s.ctx, func(tx core.Tx) error {
		if _, err := getText(tx, "a"); err != nil {
			return err
		}
		tries++
		s.put("a", strconv.Itoa(tries))
		return putAll(tx, "b", "1")
	})
	s.wantCode(err, sdk.Conflict, "tx_conflict")
	s.want("b", "(absent)")
	s.want("a", strconv.Itoa(tries))
}

func concurrentCounters(t *testing.T, s *suite) {
	const writers, rounds = 64, 8
	parallel(t, writers, func(int) error {
		for range rounds {
			err := s.store.Update(s.ctx, func(tx core.Tx) error {
				text, err := getText(tx, "n")
				if err != nil {
					return err
				}
				n, _ := strconv.Atoi(text)
				return putAll(tx, "n", strconv.Itoa(n+1))
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	s.want("n", strconv.Itoa(writers*rounds))
}

func concurrentWriters(t *testing.T, s *suite) {
	const writers, rounds = 16, 20
	parallel(t, writers, func(w int) error {
		for i := range rounds {
			err := s.store.Update(s.ctx, func(tx core.Tx) error {
				return putAll(tx, fmt.Sprintf("w/%02d/%03d", w, i), "x")
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	view(s, func(r core.Reader) error {
		pairs, err := scanAll(r, "w/", "w0")
		if len(pairs) != writers*rounds {
			t.Errorf("%d pairs are there, want %d", len(pairs), writers*rounds)
		}
		return err
	})
}

// parallel runs fn n times at once and waits for all.
func parallel(t *testing.T, n int, fn func(i int) error) {
	t.Helper()
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			if err := fn(i); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}
