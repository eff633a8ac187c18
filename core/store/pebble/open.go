package pebble

import (
	"context"
	"errors"

	pebbledb "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/sdk"
)

// Open opens the store in a directory, which one program at a time can, and
// brings it to this program's format. A store that is open elsewhere is
// sdk.Conflict, reason "store_locked", and names the holder; one of a newer
// format is sdk.Incompatible, reason "store_format_newer". The caller closes it.
func Open(o Options) (*Store, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return openOn(o.withDefaults(), vfs.Default)
}

// openOn opens a store on a file system.
func openOn(o Options, files vfs.FS) (*Store, error) {
	op := "open the store in " + o.Dir
	s, err := openRaw(o, files)
	if err != nil {
		return nil, sdk.Wrap(op, err)
	}
	if err := store.Prepare(context.Background(), s); err != nil {
		return nil, sdk.Wrap(op, errors.Join(err, s.Close()))
	}
	return s, nil
}

// openRaw opens the database whatever format its records have.
func openRaw(o Options, files vfs.FS) (*Store, error) {
	g := newGuard(files, o.Dir)
	if err := g.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, g.failure()
	}
	l, err := lock(files, o.Dir)
	if err != nil {
		return nil, described(g, err)
	}
	db, err := openDB(o, g, l)
	if err != nil {
		return nil, errors.Join(described(g, err), l.Close())
	}
	g.opened.Store(true)
	return newStore(o, g, l, db), nil
}

func openDB(o Options, g *guard, l *pebbledb.Lock) (*pebbledb.DB, error) {
	if err := writeHolder(g, &o); err != nil {
		return nil, err
	}
	db, err := pebbledb.Open(o.Dir, o.engine(g, l))
	if err == nil && g.frozen() {
		return nil, errors.Join(g.failure(), db.Close())
	}
	return db, err
}

// described makes an error of opening one of this project.
func described(g *guard, err error) error {
	var e *sdk.Error
	switch {
	case errors.As(err, &e):
		return e
	case g.frozen():
		return g.failure()
	case pebbledb.IsCorruptionError(err):
		return sdk.Errorf(sdk.Internal, "store_corrupt", "the files in %s are damaged: %w", g.dir, err).
			WithHint("restore the directory from a backup")
	}
	return sdk.Errorf(sdk.Unavailable, "store_io", "can't open the files in %s: %w", g.dir, err).
		WithHint("check that the directory is a store and that this user may read and write it")
}
