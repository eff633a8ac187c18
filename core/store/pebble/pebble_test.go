package pebble

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/store/storetest"
)

// openTest opens a store and closes it with the test.
func openTest(t testing.TB, o Options, fs vfs.FS) *Store {
	t.Helper()
	s, err := open(t.Context(), o, fs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) core.Store {
		return openTest(t, Options{Dir: t.TempDir()}, vfs.Default)
	})
}
