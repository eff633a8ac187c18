package store

import (
	"bytes"
	"context"
	"strconv"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// Format is the version of the key layout and of the records that this program writes.
// FORMAT.md describes each version, and when the number is raised.
const Format = 2

const (
	metaPrefix   = "meta/"
	formatKey    = metaPrefix + "format"
	migrationKey = metaPrefix + "migration"
)

// Formats are the store formats that a program knows.
type Formats struct {
	// Newest is the format that it writes.
	Newest int
	// Steps convert a store from each earlier format that the program knows to the next, the
	// last one to Newest.
	Steps []Step
}

// oldest is the earliest format that the program knows.
func (f *Formats) oldest() int { return f.Newest - len(f.Steps) }

// step is the step to a format.
func (f *Formats) step(to int) Step { return f.Steps[to-1-f.oldest()] }

// Step converts a store from one format to the next, in one of two ways.
type Step struct {
	// Whole converts it in one transaction, for formats that were used only by stores of one
	// process.
	Whole func(core.Tx) error
	// Part converts the next keys, at most [PartKeys], from a position on, and returns the
	// position after them; "" is the first position, and as a result the end. Positions are
	// the step's own, such as keys.
	Part func(tx core.Tx, from string) (next string, err error)
}

// PartKeys is how many keys one transaction of a migration converts: few enough that it is
// short, and within a database's limit of locks.
const PartKeys = 1000

// Known are the formats that this program knows.
func Known() *Formats { return &Formats{Newest: Format} }

// Prepare makes a store ready for this program, and must have succeeded before anything
// else uses the store. It writes the format into an empty store, migrates a store of an
// older format that it knows, and refuses any other with sdk.Incompatible, reason
// "store_format_newer" or "store_format_older".
func Prepare(ctx context.Context, s core.Store) error { return Known().Prepare(ctx, s) }

// Prepare makes a store ready for a program that knows these formats. Several programs may
// do this at once, or one program may continue after another crashed: each step is done
// only once, since its transaction checks what was done before.
func (f *Formats) Prepare(ctx context.Context, s core.Store) error {
	return f.prepare(ctx, s, func(context.Context) (func(core.Tx) (bool, error), error) {
		return func(core.Tx) (bool, error) { return true, nil }, nil
	})
}

// prepare is Prepare that calls allow before it begins a migration. In the migration's
// first transaction it calls the function that allow returned, and migrates only if that
// returns true.
func (f *Formats) prepare(ctx context.Context, s core.Store, allow func(context.Context) (func(core.Tx) (bool, error), error)) error {
	for {
		var at int
		var under *migration
		err := s.View(ctx, func(r core.Reader) (err error) {
			if at, err = readFormat(r); err == nil {
				under, err = readMigration(r)
			}
			return err
		})
		switch {
		case err != nil:
			return sdk.Wrap("check the store's format", err)
		case at > f.Newest:
			return f.newer(at)
		case at > 0 && at < f.oldest():
			return sdk.Errorf(sdk.Incompatible, formatOlder, "the store has format %d, this program knows formats from %d", at, f.oldest()).
				WithHint("open it with the program that wrote it")
		case under != nil:
			err = f.migratePart(ctx, s, *under)
		case at == f.Newest:
			return nil
		case at == 0:
			err = f.migrate(ctx, s, at, nil)
		default:
			var allowed func(core.Tx) (bool, error)
			if allowed, err = allow(ctx); err == nil {
				err = f.migrate(ctx, s, at, allowed)
			}
		}
		if err != nil {
			return sdk.Wrap("migrate the store from format "+strconv.Itoa(at), err)
		}
	}
}

// Check refuses a store of another format than the program's: reason "store_format_newer".
// If several hosts share a store, each transaction that writes to it ends with this check,
// so that a host with an older program writes nothing after a migration.
func (f *Formats) Check(r core.Reader) error {
	at, err := readFormat(r)
	switch {
	case err != nil || at == f.Newest:
		return err
	case at > f.Newest:
		return f.newer(at)
	}
	return sdk.Errorf(sdk.Incompatible, formatOlder, "the store has format %d by now, this program writes format %d", at, f.Newest).
		WithHint("restart the program: the store was replaced by an earlier one")
}

// The reasons for refusing a store whose format the program doesn't know.
const (
	formatNewer = "store_format_newer"
	formatOlder = "store_format_older"
)

func (f *Formats) newer(at int) error {
	return sdk.Errorf(sdk.Incompatible, formatNewer, "the store has format %d, this program knows formats up to %d", at, f.Newest).
		WithHint("use a newer reflectory, or another store").
		WithDetail("store_format", at).WithDetail("program_format", f.Newest)
}

// migrate begins the step from the format at; 0 is an empty store. From its commit on, no
// host of an older program writes.
func (f *Formats) migrate(ctx context.Context, s core.Store, at int, allowed func(core.Tx) (bool, error)) error {
	next := at + 1
	if at == 0 {
		next = f.Newest
	}
	return s.Update(ctx, func(tx core.Tx) error {
		if now, err := readFormat(tx); err != nil || now != at {
			return err // another caller was faster
		}
		if at > 0 {
			if yes, err := allowed(tx); err != nil || !yes {
				return err
			}
			begin := func(tx core.Tx) error { return migration{To: next}.put(tx) }
			if whole := f.step(next).Whole; whole != nil {
				begin = whole
			}
			if err := begin(tx); err != nil {
				return err
			}
		}
		return tx.Put([]byte(formatKey), strconv.AppendInt(nil, int64(next), 10))
	})
}

// migration is the progress of a step in parts.
type migration struct {
	// To is the format that the store gets, and From the position of the next part.
	To   int    `json:"to"`
	From []byte `json:"from,omitempty"`
}

func (m migration) put(tx core.Tx) error {
	return tx.Put([]byte(migrationKey), jsontext.MustEncode(m))
}

// readMigration returns the step that is under way; nil if there is none.
func readMigration(r core.Reader) (*migration, error) {
	value, found, err := r.Get([]byte(migrationKey))
	if err != nil || !found {
		return nil, err
	}
	var m migration
	if err := jsontext.DecodeStrict(value, &m); err != nil || m.To < 2 {
		return nil, unknownFormat("its marker %s is %.20q", migrationKey, value)
	}
	return &m, nil
}

// migratePart does the next part of a step, unless another caller did.
func (f *Formats) migratePart(ctx context.Context, s core.Store, m migration) error {
	if m.To > f.Newest || m.To <= f.oldest() || f.step(m.To).Part == nil {
		return unknownFormat("its marker %s says that format %d isn't complete", migrationKey, m.To)
	}
	return s.Update(ctx, func(tx core.Tx) error {
		now, err := readMigration(tx)
		if err != nil || now == nil || now.To != m.To || !bytes.Equal(now.From, m.From) {
			return err // another caller was faster
		}
		next, err := f.step(m.To).Part(tx, string(m.From))
		if err != nil {
			return err
		}
		if next == "" {
			return tx.Delete([]byte(migrationKey))
		}
		return migration{To: m.To, From: []byte(next)}.put(tx)
	})
}

// readFormat returns the store's format, or 0 if the store is empty.
func readFormat(r core.Reader) (int, error) {
	value, found, err := r.Get([]byte(formatKey))
	if err != nil {
		return 0, err
	}
	if found {
		n, err := strconv.Atoi(string(value))
		if err != nil || n < 1 {
			return 0, unknownFormat("its marker %s is %.20q", formatKey, value)
		}
		return n, nil
	}
	err = r.Scan(nil, nil, func(key, _ []byte) (bool, error) {
		return false, unknownFormat("it has keys, such as %.80q, but no marker %s", key, formatKey)
	})
	return 0, err
}

func unknownFormat(format string, args ...any) error {
	return sdk.Errorf(sdk.Incompatible, "store_format_unknown", "not a store of this program: "+format, args...).
		WithHint("choose another data folder, or restore this one from a backup")
}
