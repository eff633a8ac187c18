package postgres_test

import (
	"os"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/core/store/postgres"
	"github.com/reflectory/reflectory/core/store/postgres/postgrestest"
	"github.com/reflectory/reflectory/core/store/storetest"
)

// shared is the cluster of all tests. One that stops or changes it undoes that.
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
