package pebble

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Pebble writes the first and the last key of each table to its list of tables, a
// manifest, to which it appends, and keeps the previous list. It writes the whole list
// again with the first change after an open, and otherwise only when it has grown: so
// keys are scrubbed from it when the store is closed.

// names reports whether a list of tables contains one of the keys.
func (s *Store) names(keys [][]byte) (bool, error) {
	lists, err := s.lists()
	for _, name := range lists {
		data, err := readFile(s.fs, s.fs.PathJoin(s.options.Dir, name))
		if err != nil {
			return false, ioError("read "+name, err)
		}
		for _, key := range keys {
			if bytes.Contains(data, key) {
				return true, nil
			}
		}
	}
	return false, err
}

// lists are the lists of tables: the one in use, and the previous one.
func (s *Store) lists() ([]string, error) {
	names, err := s.fs.List(s.options.Dir)
	if err != nil {
		return nil, ioError("list "+s.options.Dir, err)
	}
	return slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, "MANIFEST-") }), nil
}

func readFile(fs vfs.FS, path string) ([]byte, error) {
	f, err := fs.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// rewriteList writes the list of tables again, and removes the earlier ones. The store
// must be closed, and its lock held; if the store can't be opened, the lock is released.
func (s *Store) rewriteList() error {
	o := s.options
	again, err := openLocked(context.Background(), o, s.fs, s.lock)
	if err != nil {
		s.keepsLock = true // the open released it
		return err
	}
	again.keepsLock = true
	err = again.flush() // the first change after the open writes the whole list
	if closed := again.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	inUse, err := pebble.Peek(o.Dir, s.fs)
	if err != nil {
		return ioError("look at "+o.Dir, err)
	}
	lists, err := s.lists()
	for _, name := range lists {
		if name != s.fs.PathBase(inUse.ManifestFilename) {
			_ = s.fs.Remove(s.fs.PathJoin(o.Dir, name))
		}
	}
	return err
}
