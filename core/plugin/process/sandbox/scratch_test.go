package sandbox

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/reflectory/reflectory/sdk"
)

func TestATemporaryFolderHasBounds(t *testing.T) {
	for name, test := range map[string]struct {
		fill    func(dir string) error
		refused bool
	}{
		"nothing":                  {func(string) error { return nil }, false},
		"some files":               {func(dir string) error { return fill(filepath.Join(dir, "a", "b"), 100, 1<<20) }, false},
		"many files":               {func(dir string) error { return fill(dir, MaxScratchFiles+1, 0) }, true},
		"many bytes":               {func(dir string) error { return fill(dir, 10, 64<<20) }, true},
		"a link to a large folder": {func(dir string) error { return os.Symlink("/usr", filepath.Join(dir, "usr")) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := &Cell{spec: Spec{Plugin: "p", Processes: 1}, folder: &folder{path: t.TempDir()}}
			if err := test.fill(c.Dir()); err != nil {
				t.Fatal(err)
			}
			err := c.Check(os.Getpid())
			if (err != nil) != test.refused || err != nil && sdk.ReasonOf(err) != "scratch_exhausted" {
				t.Errorf("got %v", err)
			}
		})
	}
}

// fill makes sparse files, which take no disk.
func fill(dir string, files int, size int64) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for n := range files {
		path := filepath.Join(dir, strconv.Itoa(n))
		err := os.WriteFile(path, nil, 0o600)
		if err == nil && size > 0 {
			err = os.Truncate(path, size)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
