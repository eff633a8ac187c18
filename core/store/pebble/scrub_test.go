package pebble

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	iofs "io/fs"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/sdk"
)

// secret is in a value and a key that are deleted, and nowhere else.
const secret = "a secret that has to go"

// TestScrub_LeavesNothingInAnyFile deletes a secret from stores that were used in
// several ways before, and looks for it in all files: as they are, and in what tables
// hold compressed.
func TestScrub_LeavesNothingInAnyFile(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	for _, c := range []struct {
		name string
		// before and after are how many other entries were written before the secret,
		// and between it and its end; reopened is whether the store was opened again.
		before, after int
		reopened      bool
	}{
		{"alone in the log", 0, 0, false},
		{"in one table", 0, 0, true},
		{"among others in the log", 10, 10, false},
		{"in a log that is used again", 10, 200, false},
		{"in tables", 200, 200, true},
		{"deep in many tables", 1000, 1500, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			fs := vfs.NewMem()
			s := openTest(t, smallTables(), fs)
			fillWith(t, s, "a", c.before)
			keep(t, s, secret)
			fillWith(t, s, "b", c.after)
			if c.reopened {
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				s = openTest(t, smallTables(), fs)
			}
			keep(t, s, "") // what is there now is overwritten
			forget(t, s)
			held, err := s.Scrub(t.Context())
			if held != "" || err != nil {
				t.Fatalf("held by %q, error %v", held, err)
			}
			checkGone(t, s, fs)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			checkFiles(t, fs, true)
			s = openTest(t, smallTables(), fs)
			checkFilled(t, s, "a", c.before)
			checkFilled(t, s, "b", c.after)
		})
	}
}

// TestScrub_NamesTheReaderThatHoldsIt lets a View continue: it keeps what it sees, is
// named, and the secret goes when the store is closed.
func TestScrub_NamesTheReaderThatHoldsIt(t *testing.T) {
	fs := vfs.NewMem()
	synctest.Test(t, func(t *testing.T) {
		s, err := open(t.Context(), smallTables(), fs)
		if err != nil {
			t.Fatal(err)
		}
		keep(t, s, secret)
		err = s.View(t.Context(), func(r core.Reader) error {
			forget(t, s)
			held, err := s.Scrub(t.Context())
			if !strings.Contains(held, "a reader that began at 20") || err != nil {
				t.Errorf("held by %q, error %v", held, err)
			}
			value, _, err := r.Get([]byte("keep/value"))
			if string(value) != secret {
				t.Errorf("the reader sees %q", value)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	})
	checkFiles(t, fs, true)
}

func secretKeys() [][]byte {
	return [][]byte{[]byte("keep/value"), []byte("keep/key/" + secret), []byte("keep/never")}
}

// keep stores a value under both kinds of keys.
func keep(t *testing.T, s *Store, value string) {
	t.Helper()
	err := s.Update(t.Context(), func(tx core.Tx) error {
		if err := tx.Put([]byte("keep/key/"+secret), nil); err != nil {
			return err
		}
		return tx.Put([]byte("keep/value"), []byte(value))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// forget deletes them, as a purge does.
func forget(t *testing.T, s *Store) {
	t.Helper()
	if err := s.Update(t.Context(), func(tx core.Tx) error { return forgetIn(s, tx) }); err != nil {
		t.Fatal(err)
	}
}

func forgetIn(s *Store, tx core.Tx) error {
	return errors.Join(tx.Delete([]byte("keep/key/"+secret)), tx.Delete([]byte("keep/value")), s.MarkPurged(tx, "secret", secretKeys()))
}

// fillWith writes n entries of 1 KB that are hard to compress, before and after the
// secret's keys.
func fillWith(t *testing.T, s *Store, name string, n int) {
	t.Helper()
	rng := rand.NewChaCha8([32]byte{1})
	for i := range n {
		value := make([]byte, 1<<10)
		_, _ = rng.Read(value)
		key := fmt.Appendf(nil, "%c/%s/%04d", "az"[i%2], name, i)
		if err := s.Update(t.Context(), func(tx core.Tx) error { return tx.Put(key, value) }); err != nil {
			t.Fatal(err)
		}
	}
}

func checkFilled(t *testing.T, s *Store, name string, want int) {
	t.Helper()
	n := 0
	err := s.View(t.Context(), func(r core.Reader) error {
		return r.Scan(nil, nil, func(key, value []byte) (bool, error) {
			if bytes.Contains(key, []byte("/"+name+"/")) && len(value) == 1<<10 {
				n++
			}
			return true, nil
		})
	})
	if err != nil || n != want {
		t.Errorf("%d entries of %s, want %d, error %v", n, name, want, err)
	}
}

// checkGone looks for the secret in a store that is open, whose list of tables may
// name it until it is closed.
func checkGone(t *testing.T, s *Store, fs vfs.FS) {
	t.Helper()
	checkFiles(t, fs, !s.relist)
}

// checkFiles looks for the secret in all files.
func checkFiles(t *testing.T, fs vfs.FS, lists bool) {
	t.Helper()
	tables := 0
	for _, name := range filesOf(t, fs) {
		data, err := readFile(fs, fs.PathJoin("db", name))
		if errors.Is(err, iofs.ErrNotExist) {
			continue // Pebble removes what it replaced in the background
		}
		if err != nil {
			t.Fatal(err)
		}
		if holdsSecret(data) && (lists || !strings.HasPrefix(name, "MANIFEST-")) {
			t.Errorf("%s holds the secret", name)
		}
		if strings.HasSuffix(name, ".sst") {
			tables++
			checkTable(t, fs, fs.PathJoin("db", name), secret)
		}
	}
	if tables == 0 {
		t.Log("there are no tables")
	}
}

// holdsSecret also looks for the key that has it, as a mark has that.
func holdsSecret(data []byte) bool {
	key := base64.StdEncoding.EncodeToString([]byte("keep/key/" + secret))
	return bytes.Contains(data, []byte(secret)) || bytes.Contains(data, []byte(key))
}

// checkTable looks for the secret in all keys and values of a table, those that
// something newer hides among them.
func checkTable(t *testing.T, fs vfs.FS, name, secret string) {
	t.Helper()
	f, err := fs.Open(name)
	if errors.Is(err, iofs.ErrNotExist) {
		return // as above
	}
	if err != nil {
		t.Fatal(err)
	}
	readable, err := sstable.NewSimpleReadable(f)
	if err != nil {
		t.Fatal(err)
	}
	var o pebble.Options
	o.EnsureDefaults()
	r, err := sstable.NewReader(t.Context(), readable, o.MakeReaderOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	it, err := r.NewIter(block.NoTransforms, nil, nil, sstable.AssertNoBlobHandles)
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	for kv := it.First(); kv != nil; kv = it.Next() {
		value, _, err := kv.Value(nil)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(kv.K.UserKey, []byte(secret)) || bytes.Contains(value, []byte(secret)) || holdsSecret(value) {
			t.Errorf("%s holds %s", name, kv.K)
		}
	}
}

// TestScrub_EndsWhenTheDiskFails fails the disk once the tables are to be merged, while a
// key is in the memtable: the flush that Pebble waits for never succeeds.
func TestScrub_EndsWhenTheDiskFails(t *testing.T) {
	key := []byte("a")
	s, err := open(t.Context(), smallTables(), vfs.NewMem())
	if err != nil {
		t.Fatal(err)
	}
	err = s.Update(t.Context(), func(tx core.Tx) error { return tx.Put(key, nil) })
	if err == nil {
		err = s.flush()
	}
	if err == nil {
		err = s.Update(t.Context(), func(tx core.Tx) error { return tx.Delete(key) })
	}
	if err != nil {
		t.Fatal(err)
	}
	s.fuse.blow(errors.New("the disk failed"))
	if _, err := s.scrubTables(t.Context(), [][]byte{key}); sdk.ReasonOf(err) != "store_io" {
		t.Errorf("the scrub: %v", err)
	}
	_ = s.Close()
}
