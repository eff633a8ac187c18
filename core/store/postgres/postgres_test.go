package postgres_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/core/store/postgres"
	"github.com/reflectory/reflectory/core/store/postgres/postgrestest"
	"github.com/reflectory/reflectory/core/store/storetest"
)

// shared is the cluster of all tests. A test that stops or changes it undoes that.
var shared postgrestest.Shared

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }

// open opens a store that is closed with the test.
func open(t *testing.T, o postgres.Options) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) core.Store { return open(t, postgres.Options{URL: shared.Cluster(t).URL(t)}) })
}

// A host whose every commit comes after another host's commit of the same key gets its turn:
// before, such a host lost each time, until it gave up.
func TestUpdate_TurnOfASlowHost(t *testing.T) {
	url := shared.Cluster(t).URL(t)
	fast, slow := open(t, postgres.Options{URL: url}), open(t, postgres.Options{URL: url})
	count := func(s core.Store, name string) (runs int, err error) {
		err = s.Update(t.Context(), func(tx core.Tx) error {
			runs++
			old, _, err := tx.Get([]byte("n"))
			return errors.Join(err, tx.Put([]byte("n"), append(old, name...)))
		})
		return runs, err
	}
	ahead := 0
	slow.BeforeCommits(func() {
		ahead++
		if _, err := count(fast, "f"); err != nil {
			t.Error(err)
		}
	})
	for range 10 {
		// Two tries lose, and the third runs twice, the second time with its locks.
		if runs, err := count(slow, "s"); err != nil || runs > 4 {
			t.Errorf("the slow host needs %d runs: %v", runs, err)
		}
	}
	err := slow.View(t.Context(), func(r core.Reader) error {
		n, _, err := r.Get([]byte("n"))
		if text := string(n); strings.Count(text, "s") != 10 || strings.Count(text, "f") != ahead {
			t.Errorf("n = %q, want 10 s and %d f", text, ahead)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// The cache is small, so that keys come from it and from the database.
func TestModel(t *testing.T) {
	reference := mem.Open()
	if err := store.Prepare(t.Context(), reference); err != nil {
		t.Fatal(err)
	}
	o := postgres.Options{URL: shared.Cluster(t).URL(t), CacheBytes: 2 << 10}
	storetest.Model(t, reference, open(t, o), func(s core.Store) core.Store {
		if err := s.(*postgres.Store).Close(); err != nil {
			t.Fatal(err)
		}
		return open(t, o)
	})
}

// A view that reads ahead returns the same values as one that doesn't.
func TestView_Prefetch(t *testing.T) {
	s := open(t, postgres.Options{URL: shared.Cluster(t).URL(t)})
	err := s.Update(t.Context(), func(tx core.Tx) error {
		for i := range 40 {
			if err := tx.Put(fmt.Appendf(nil, "many/%02d", i), []byte("m")); err != nil {
				return err
			}
		}
		return errors.Join(tx.Put([]byte("few/a"), []byte("1")), tx.Put([]byte("few/b"), nil), tx.Put([]byte("key"), []byte("2")))
	})
	if err != nil {
		t.Fatal(err)
	}
	read := func(ahead bool) (text string, trips uint64) {
		before := s.Stats().RoundTrips
		err := s.View(t.Context(), func(r core.Reader) error {
			if ahead {
				err := core.Prefetch(r, func() core.Reads {
					return core.Reads{
						Keys:     [][]byte{[]byte("key"), []byte("none")},
						Prefixes: [][]byte{[]byte("few/"), []byte("many/"), []byte("nothing/")},
					}
				})
				if err != nil {
					return err
				}
			}
			for _, key := range []string{"key", "none"} {
				value, found, err := r.Get([]byte(key))
				if err != nil {
					return err
				}
				text += fmt.Sprintf("%s=%s %v\n", key, value, found)
			}
			for _, prefix := range []string{"few/", "nothing/", "many/"} {
				err := core.ScanPrefix(r, []byte(prefix), func(key, value []byte) (bool, error) {
					text += fmt.Sprintf("%s=%s %v\n", key, value, value != nil)
					return true, nil
				})
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return text, s.Stats().RoundTrips - before
	}
	plain, _ := read(false)
	ahead, trips := read(true)
	if plain != ahead || strings.Count(plain, "\n") != 44 {
		t.Errorf("read ahead:\n%s\nnot:\n%s", ahead, plain)
	}
	if trips != 3 { // and the two pages of many/
		t.Errorf("it took %d round trips", trips)
	}
}

// A new id may be written by another host first. Taking its keys as absent then costs one
// more run.
func TestFreshIDs_WrittenByAnother(t *testing.T) {
	url := shared.Cluster(t).URL(t)
	fresh := &postgres.FreshIDs{}
	a, b := open(t, postgres.Options{URL: url, Fresh: fresh}), open(t, postgres.Options{URL: url})
	id := fresh.Note(&core.SystemIDs{}).NewID()
	err := b.Update(t.Context(), func(tx core.Tx) error { return tx.Put([]byte("link/"+id+"/x"), nil) })
	if err != nil {
		t.Fatal(err)
	}
	runs := 0
	err = a.Update(t.Context(), func(tx core.Tx) error {
		runs++
		found, err := core.Suffixes(tx, []byte("link/"+id+"/"), 10)
		return errors.Join(err, tx.Put([]byte("found"), fmt.Append(nil, len(found))))
	})
	if err != nil || runs != 2 {
		t.Fatalf("it ran %d times: %v", runs, err)
	}
	err = a.View(t.Context(), func(r core.Reader) error {
		if value, _, err := r.Get([]byte("found")); err != nil || string(value) != "1" {
			t.Errorf("it found %s, %v", value, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
