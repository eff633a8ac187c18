package pebble

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/sdk"
)

// filled is a disk with a store of some tables and a log, and how many entries
// were acknowledged.
func filled(t *testing.T) (mem memDisk, acknowledged int64) {
	t.Helper()
	f := &failing{mem: newMemDisk()}
	return f.mem, f.fill(t, smallTables())
}

// TestEveryReadError makes the i-th read of the disk fail, only once or from then on,
// while a store is opened, read and written, until all reads succeed. No read may
// show less than what was acknowledged: it shows all or fails.
func TestEveryReadError(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	for _, lasting := range []bool{false, true} {
		t.Run(fmt.Sprintf("lasting=%t", lasting), func(t *testing.T) {
			opened, failed := 0, 0
			disk, before := filled(t)
			for i := int64(1); ; i += coretest.Heavy(int64(3), 1) {
				mem, acknowledged := memDisk{disk.CrashClone(vfs.CrashCloneCfg{})}, before
				f := &failing{mem: mem, of: errorfs.OpIsRead, at: i, lasting: lasting}
				s, err := open(t.Context(), smallTables(), errorfs.Wrap(mem, f))
				if err == nil {
					opened++
					acknowledged, err = f.use(t, s, acknowledged)
				}
				if err != nil {
					failed++
				}
				if sdk.ReasonOf(err) != "store_io" && err != nil {
					t.Errorf("read %d: error %v (%s)", i, err, sdk.ReasonOf(err))
				}
				checkCrowd(t, openTest(t, smallTables(), mem), []int64{acknowledged})
				if f.made.Load() < i {
					break // all reads succeeded
				}
			}
			if opened < 20 || failed < 20 {
				t.Errorf("%d stores were opened and %d failed", opened, failed)
			}
		})
	}
}

// use reads the store, adds more than a log takes, and reads it again. It returns
// how many entries are acknowledged and the last error.
func (f *failing) use(t *testing.T, s *Store, acknowledged int64) (int64, error) {
	_, err := f.read(t, s, acknowledged)
	for n := acknowledged + 20; err == nil && acknowledged < n; {
		if err = appendEntry(t, s, 0, int(acknowledged)); err == nil {
			acknowledged++
		}
	}
	_, readErr := f.read(t, s, acknowledged)
	if !f.lasting && readErr != nil && err != nil {
		t.Errorf("read %d failed once, and then it was %v and %v", f.at, err, readErr)
	}
	if err == nil {
		err = readErr
	}
	if closeErr := s.Close(); err == nil {
		err = closeErr
	}
	return acknowledged, err
}

// read counts the entries, of which all that are acknowledged must be there.
func (f *failing) read(t *testing.T, s *Store, acknowledged int64) (length int64, err error) {
	err = s.View(t.Context(), func(r core.Reader) error {
		return r.Scan(crowdKey(0, 0), crowdKey(0, 1<<31), func(_, _ []byte) (bool, error) {
			length++
			return true, nil
		})
	})
	if err != nil {
		return 0, err
	}
	if length < acknowledged {
		t.Errorf("read %d: %d entries are shown, %d were acknowledged", f.at, length, acknowledged)
	}
	return length, nil
}

// damage changes the first byte of the files of a kind, or removes them.
func damage(t *testing.T, fs vfs.FS, kind string, remove bool) {
	t.Helper()
	names, err := fs.List("db")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !strings.HasPrefix(name, kind) && !strings.HasSuffix(name, kind) {
			continue
		}
		path := fs.PathJoin("db", name)
		if remove {
			err = fs.Remove(path)
		} else {
			err = changeByte(fs, path)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func changeByte(fs vfs.FS, path string) error {
	file, err := fs.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	defer file.Close()
	first := make([]byte, 1)
	if _, err := file.ReadAt(first, 0); err != nil {
		return err
	}
	_, err = file.WriteAt([]byte{^first[0]}, 0)
	return err
}

func TestADamagedFileIsNamedAsSuch(t *testing.T) {
	cases := []struct {
		kind   string
		remove bool
		opens  bool
	}{
		{".log", false, false}, {"MANIFEST", false, false}, {".sst", true, false}, {"MANIFEST", true, false},
		{"marker.manifest", true, false}, {"marker.format", true, false},
		{".sst", false, true}, // tables are checked when they are read
	}
	for _, c := range cases {
		t.Run(fmt.Sprintf("%s,remove=%t", c.kind, c.remove), func(t *testing.T) {
			mem, _ := filled(t)
			damage(t, mem, c.kind, c.remove)
			s, err := open(t.Context(), smallTables(), mem)
			if (err == nil) != c.opens {
				t.Fatalf("open: %v", err)
			}
			if err == nil {
				_, err = new(failing).read(t, s, 0)
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
			e := sdk.AsError(err)
			if e.Reason != "store_corrupt" || !strings.Contains(e.Hint, "backup") || strings.Contains(e.Error(), "\n") {
				t.Errorf("error %v (%s), hint %q", err, e.Reason, e.Hint)
			}
		})
	}
}
