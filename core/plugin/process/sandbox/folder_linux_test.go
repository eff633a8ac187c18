package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestSweep_RemovesOnlyWhatIsAbandoned: a folder of our kind that no host has locked.
func TestSweep_RemovesOnlyWhatIsAbandoned(t *testing.T) {
	parent := t.TempDir()
	kept, err := newFolder(parent)
	if err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{
		"reflectory-i1": 0o700, "reflectory-i22/full/of": 0o700, "reflectory-i3": 0o000, // abandoned
		"reflectory-i4": 0o755, "reflectory-i5": 0o710, "reflectory-index": 0o700, "reflectory-i": 0o700, "other-i6": 0o700, "reflectory-i12345678901": 0o700,
	} {
		if err := os.MkdirAll(filepath.Join(parent, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(parent, name), mode); err != nil { //nolint:gosec // the modes of the cases
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(parent, "reflectory-i7"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("reflectory-index", filepath.Join(parent, "reflectory-i8")); err != nil {
		t.Fatal(err)
	}
	left := func() (names []string) {
		entries, err := os.ReadDir(parent)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	sweep(parent)
	others := []string{"other-i6", "reflectory-i", "reflectory-i12345678901", "reflectory-i4", "reflectory-i5", "reflectory-i7", "reflectory-i8", "reflectory-index"}
	if want := slices.Sorted(slices.Values(append([]string{kept.name()}, others...))); !slices.Equal(left(), want) {
		t.Errorf("left are %q, want %q", left(), want)
	}
	if err := kept.lock.Close(); err != nil { // its host is killed
		t.Fatal(err)
	}
	sweep(parent)
	if !slices.Equal(left(), others) {
		t.Errorf("after its host's end left are %q", left())
	}
}
