package pebble_test

import (
	"context"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/store/pebble"
)

func TestWritesOutliveClose(t *testing.T) {
	dir := t.TempDir()
	write := func(tx core.Tx) error { return tx.Put([]byte("k"), []byte("v")) }
	s := open(t, pebble.Options{Dir: dir})
	if err := s.Update(context.Background(), write); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, pebble.Options{Dir: dir})
	err := s.View(context.Background(), func(r core.Reader) error {
		value, found, err := r.Get([]byte("k"))
		if !found || string(value) != "v" {
			t.Errorf("got %q, %v; want the value written before Close", value, found)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// open opens a store and closes it after the test.
func open(t testing.TB, o pebble.Options) *pebble.Store {
	t.Helper()
	s, err := pebble.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}
