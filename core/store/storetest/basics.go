package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/sdk"
)

func readsOwnWrites(t *testing.T, s *suite) {
	s.put("a", "1", "b", "1")
	s.update(func(tx core.Tx) error {
		if err := errors.Join(tx.Put([]byte("a"), []byte("2")), tx.Delete([]byte("b")), tx.Put([]byte("c"), nil)); err != nil {
			return err
		}
		a, err := getText(tx, "a")
		_, b, errB := tx.Get([]byte("b"))
		c, cFound, errC := tx.Get([]byte("c"))
		if err := errors.Join(err, errB, errC); err != nil {
			return err
		}
		if a != "2" || b || !cFound || c == nil || len(c) != 0 {
			t.Errorf("inside: a=%q b found=%v c=%v found=%v", a, b, c, cFound)
		}
		return nil
	})
	s.want("a", "2")
	s.want("b", "(absent)")
	s.want("c", "")
}

func scansOwnWrites(t *testing.T, s *suite) {
	s.put("x/1", "old", "x/2", "old", "x/4", "old")
	s.update(func(tx core.Tx) error {
		if err := errors.Join(putAll(tx, "x/2", "new", "x/3", "new", "x/0", "new", "x/5", "new"), tx.Delete([]byte("x/4"))); err != nil {
			return err
		}
		s.wantScan(tx, "x/", "x0", "x/0=new", "x/1=old", "x/2=new", "x/3=new", "x/5=new")
		return nil
	})
}

func scanBounds(t *testing.T, s *suite) {
	s.put("y\x00", "0", "y", "1", "y\xff", "2", "z", "3")
	view(s, func(r core.Reader) error {
		s.wantScan(r, "y", "z", "y=1", "y\x00=0", "y\xff=2")
		s.wantScan(r, "y", "", "y=1", "y\x00=0", "y\xff=2", "z=3")
		s.wantScan(r, "z", "y")
		s.wantScan(r, "y", "y")
		s.wantScan(r, "zz", "")
		calls := 0
		err := r.Scan([]byte("y"), nil, func(_, _ []byte) (bool, error) { calls++; return calls < 2, nil })
		if err != nil || calls != 2 {
			t.Errorf("a stopped scan made %d calls, error %v", calls, err)
		}
		stop := errors.New("stop")
		if err := r.Scan(nil, nil, func(_, _ []byte) (bool, error) { return true, stop }); !errors.Is(err, stop) {
			t.Errorf("Scan returned %v, want fn's error", err)
		}
		return nil
	})
}

func scansWithinScans(t *testing.T, s *suite) {
	s.put("a/1", "1", "a/2", "2", "b/1", "3", "b/2", "4")
	view(s, func(r core.Reader) error {
		s.wantScan(r, "b/", "b0", "b/1=3", "b/2=4")
		var met []string
		err := r.Scan([]byte("a/"), []byte("a0"), func(key, value []byte) (bool, error) {
			s.wantScan(r, "b/", "b0", "b/1=3", "b/2=4")
			s.wantScan(r, "a/2", "c", "a/2=2", "b/1=3", "b/2=4")
			met = append(met, string(key)+"="+string(value))
			return true, nil
		})
		if want := "[a/1=1 a/2=2]"; err != nil || fmt.Sprint(met) != want {
			t.Errorf("the outer scan met %v, error %v, want %s", met, err, want)
		}
		s.wantScan(r, "a/", "b/2", "a/1=1", "a/2=2", "b/1=3")
		return nil
	})
}

func ownsValues(t *testing.T, s *suite) {
	key, value := []byte("key"), []byte("value")
	s.update(func(tx core.Tx) error {
		err := tx.Put(key, value)
		copy(key, "xxx")
		copy(value, "xxxxx")
		got, _, errGet := tx.Get([]byte("key"))
		if string(got) == "value" {
			copy(got, "yyyyy")
		}
		return errors.Join(err, errGet)
	})
	s.want("key", "value")
	view(s, func(r core.Reader) error {
		got, _, err := r.Get([]byte("key"))
		copy(got, "zzzzz")
		return err
	})
	s.want("key", "value")
}

func largeValues(t *testing.T, s *suite) {
	large := bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
	s.update(func(tx core.Tx) error { return tx.Put([]byte("large"), large) })
	view(s, func(r core.Reader) error {
		got, _, err := r.Get([]byte("large"))
		if !bytes.Equal(got, large) {
			t.Errorf("a value of %d bytes came back with %d", len(large), len(got))
		}
		return err
	})
}

func limits(t *testing.T, s *suite) {
	try := func(key, value []byte) error {
		return s.store.Update(s.ctx, func(tx core.Tx) error { return tx.Put(key, value) })
	}
	s.wantCode(try(nil, nil), sdk.Invalid, "store_key_invalid")
	s.wantCode(try(make([]byte, store.MaxKeyBytes+1), nil), sdk.Invalid, "store_key_invalid")
	s.wantCode(try([]byte("k"), make([]byte, store.MaxValueBytes+1)), sdk.Exhausted, "store_value_too_large")
	if err := try(bytes.Repeat([]byte("k"), store.MaxKeyBytes), nil); err != nil {
		t.Errorf("the longest key: %v", err)
	}
	err := s.store.Update(s.ctx, func(tx core.Tx) error {
		chunk := make([]byte, store.MaxTxBytes/4)
		for i := range 5 {
			if err := tx.Put(fmt.Appendf(nil, "chunk/%d", i), chunk); err != nil {
				return err
			}
		}
		return nil
	})
	s.wantCode(err, sdk.Exhausted, "store_tx_too_large")
}

func rollsBackOnError(t *testing.T, s *suite) {
	s.put("a", "1")
	stop := errors.New("stop")
	err := s.store.Update(s.ctx, func(tx core.Tx) error {
		return errors.Join(putAll(tx, "a", "2", "b", "2"), stop)
	})
	if !errors.Is(err, stop) {
		t.Errorf("Update returned %v, want fn's error", err)
	}
	s.want("a", "1")
	s.want("b", "(absent)")
}

func rollsBackOnPanic(t *testing.T, s *suite) {
	func() {
		defer func() {
			if recover() != "boom" {
				t.Error("the panic didn't reach the caller")
			}
		}()
		_ = s.store.Update(s.ctx, func(tx core.Tx) error {
			_ = putAll(tx, "a", "1")
			panic("boom")
		})
	}()
	s.want("a", "(absent)")
	s.put("a", "2")
	s.want("a", "2")
}

func refusesUseAfterEnd(t *testing.T, s *suite) {
	var tx core.Tx
	var r core.Reader
	s.update(func(inner core.Tx) error { tx = inner; return nil })
	view(s, func(inner core.Reader) error { r = inner; return nil })
	_, _, errTx := tx.Get([]byte("a"))
	_, _, errView := r.Get([]byte("a"))
	for _, err := range []error{
		errTx, errView, tx.Put([]byte("a"), nil), tx.Delete([]byte("a")),
		r.Scan(nil, nil, func(_, _ []byte) (bool, error) { return false, nil }),
	} {
		s.wantCode(err, sdk.Internal, "tx_ended")
	}
	if _, ok := r.(core.Tx); ok {
		t.Error("a view's reader can be made a transaction")
	}
}

func cancellation(t *testing.T, s *suite) {
	ctx, cancel := context.WithCancel(s.ctx)
	err := s.store.Update(ctx, func(tx core.Tx) error {
		cancel()
		return putAll(tx, "a", "1")
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Update cancelled inside: %v", err)
	}
	ran := false
	err = s.store.Update(ctx, func(core.Tx) error { ran = true; return nil })
	if !errors.Is(err, context.Canceled) || ran {
		t.Errorf("Update cancelled before: %v, ran %v", err, ran)
	}
	err = s.store.View(ctx, func(core.Reader) error { ran = true; return nil })
	if !errors.Is(err, context.Canceled) || ran {
		t.Errorf("View cancelled before: %v, ran %v", err, ran)
	}
	s.want("a", "(absent)")
}

func view(s *suite, fn func(core.Reader) error) {
	s.t.Helper()
	if err := s.store.View(s.ctx, fn); err != nil {
		s.t.Fatalf("View: %v", err)
	}
}
