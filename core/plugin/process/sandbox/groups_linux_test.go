//go:build amd64 || arm64

package sandbox

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Folders stand for groups: either can be removed only while nothing is in it.
func TestGroupsThatWereLeftBehindAreRemoved(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	for name, age := range map[string]time.Duration{
		"reflectory-i1": time.Hour, "reflectory-i2/process": time.Hour, "reflectory-i3": time.Second, "reflectory-index": time.Hour, "user.slice": time.Hour,
	} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		for path := name; path != "."; path = filepath.Dir(path) {
			if err := os.Chtimes(filepath.Join(dir, path), now, now.Add(-age)); err != nil {
				t.Fatal(err)
			}
		}
	}
	removeEmpty(dir, now)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if diff := cmp.Diff([]string{"reflectory-i2", "reflectory-i3", "reflectory-index", "user.slice"}, left); diff != "" {
		t.Error(diff)
	}
	removeEmpty("", now) // where there are no groups
}
