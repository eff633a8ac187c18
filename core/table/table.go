// Package table keeps records that are declared once.
//
// A [Kind] says where its records are, what makes one valid, and which entries of which indices
// follow from it. From that follow the writes, which keep the indices; the check, which finds a
// damaged record, a missing entry and an entry that follows from nothing; and the rebuild, which
// makes the indices again. An index that is added to a declaration is known to all of them.
//
// What a part checks besides, such as the events that prove its records, stays its own.
package table

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// Kind is a kind of records. R is a record in memory.
type Kind[R any] struct {
	// Part is the part whose problems they are, such as "snapshots".
	Part string
	// Prefix begins the keys of the records; the id follows.
	Prefix string
	// Valid describes what is wrong with a record that was decoded; "" if nothing is. Nil means
	// that each is valid.
	Valid func(id string, rec *R) string
	// Indices are the keys that follow from a record.
	Indices []Index[R]
	// Passing is whether the records matter for a short time only: exports leave them out, one
	// that is damaged counts as none, and a rebuild deletes it.
	Passing bool
}

// Index is an index of a kind.
type Index[R any] struct {
	// Prefix begins its keys, and no other keys.
	Prefix string
	// Entries are the entries that follow from a record.
	Entries func(id string, rec *R) []Entry
	// ID is the id of the record that an entry leads to; any text for a key that is no entry.
	ID func(key, value []byte) string
}

// Entry is a key with its value, which may be empty.
type Entry struct{ Key, Value []byte }

// key is the key of a record.
func (k *Kind[R]) key(id string) []byte { return []byte(k.Prefix + id) }

// Get returns a record, nil if there is none. For a damaged record the error is [sdk.Internal],
// reason "record_corrupt".
func (k *Kind[R]) Get(r core.Reader, id string) (*R, error) {
	value, found, err := r.Get(k.key(id))
	if err != nil || !found {
		return nil, err
	}
	rec := new(R)
	wrong := ""
	if err := json.Unmarshal(value, rec); err != nil {
		wrong = "it can't be decoded: " + core.JSONProblem(err).Error()
	} else if k.Valid != nil {
		wrong = k.Valid(id, rec)
	}
	switch {
	case wrong == "":
		return rec, nil
	case k.Passing:
		return nil, nil
	}
	return nil, corrupt(describe(k.key(id)), wrong)
}

// corrupt is the error for a record that the program can't have written.
func corrupt(key, message string) error {
	return sdk.Errorf(sdk.Internal, "record_corrupt", "record %s: %s", core.Cut(key), message).
		WithHint("look for more of it with a check of the store").WithAction("store check").WithDetail("key", core.Cut(key))
}

// Corrupt reports whether an error says that a record is damaged.
func Corrupt(err error) bool { return sdk.ReasonOf(err) == "record_corrupt" }

// Put writes a record with its entries, and deletes the entries of the record that it replaces.
func (k *Kind[R]) Put(tx core.Tx, id string, rec *R) error {
	old, err := k.Get(tx, id)
	if err != nil && !Corrupt(err) {
		return err
	}
	if err := k.remove(tx, id, old, k.entries(id, rec)); err != nil {
		return err
	}
	return k.Add(tx, id, rec)
}

// Add is [Kind.Put] of a record that the store doesn't have: it reads nothing.
func (k *Kind[R]) Add(tx core.Tx, id string, rec *R) error {
	if err := putAll(tx, k.entries(id, rec)); err != nil {
		return err
	}
	value, err := core.EncodeJSON(rec)
	if err != nil {
		return sdk.Wrap("encode record "+describe(k.key(id)), err)
	}
	return tx.Put(k.key(id), value)
}

// Delete deletes a record with its entries, if there is one.
func (k *Kind[R]) Delete(tx core.Tx, id string) error {
	old, err := k.Get(tx, id)
	if err != nil && !Corrupt(err) {
		return err
	}
	if err := k.remove(tx, id, old, nil); err != nil {
		return err
	}
	return tx.Delete(k.key(id))
}

// entries are all entries that follow from a record.
func (k *Kind[R]) entries(id string, rec *R) (list []Entry) {
	for i := range k.Indices {
		list = append(list, k.Indices[i].Entries(id, rec)...)
	}
	return list
}

// remove deletes the entries of a record, which may be nil, but for those that stay.
func (k *Kind[R]) remove(tx core.Tx, id string, old *R, stay []Entry) error {
	if old == nil {
		return nil
	}
	for _, e := range k.entries(id, old) {
		if slices.ContainsFunc(stay, func(s Entry) bool { return bytes.Equal(s.Key, e.Key) }) {
			continue
		}
		if err := tx.Delete(e.Key); err != nil {
			return err
		}
	}
	return nil
}

func putAll(tx core.Tx, entries []Entry) error {
	for _, e := range entries {
		if err := tx.Put(e.Key, e.Value); err != nil {
			return err
		}
	}
	return nil
}

// describe is a key as text.
func describe(key []byte) string { return strings.Trim(strconv.Quote(string(key)), `"`) }

// Derived are the prefixes of the keys that exports leave out; see [core.Rebuilder].
func (k *Kind[R]) Derived() (list []string) {
	if k.Passing {
		list = append(list, k.Prefix)
	}
	for i := range k.Indices {
		list = append(list, k.Indices[i].Prefix)
	}
	return list
}

// Check reports damaged records, missing entries, and entries that follow from no record, in the
// order of the declaration. also, which may be nil, checks a valid record further: it gets the
// record's value.
func (k *Kind[R]) Check(ctx context.Context, r core.Reader, report func(core.Problem), also func(id string, rec *R, value []byte) error) error {
	problem := func(key []byte, rebuildable bool, message string) {
		report(core.Problem{Part: k.Part, Key: describe(key), Message: message, Rebuildable: rebuildable})
	}
	err := each(ctx, r, k.Prefix, func(key, value []byte) error {
		id := string(key[len(k.Prefix):])
		rec, err := k.Get(r, id)
		switch {
		case Corrupt(err):
			problem(key, false, sdk.AsError(err).Message)
			return nil
		case err != nil:
			return err
		case rec == nil:
			problem(key, true, "it isn't a record as the program writes it")
			return nil
		}
		for _, e := range k.entries(id, rec) {
			if stored, found, err := r.Get(e.Key); err != nil {
				return err
			} else if !found || !bytes.Equal(stored, e.Value) {
				problem(e.Key, true, "the index lacks "+describe(key)+", or says something else of it")
			}
		}
		if also == nil {
			return nil
		}
		return also(id, rec, value)
	})
	for i := 0; err == nil && i < len(k.Indices); i++ {
		index := &k.Indices[i]
		err = each(ctx, r, index.Prefix, func(key, value []byte) error {
			follows, err := k.follows(r, index, key, value)
			if err == nil && !follows {
				problem(key, true, "the index has an entry that follows from no record")
			}
			return err
		})
	}
	return err
}

// each calls fn for each key with a prefix. The key and the value are fn's.
func each(ctx context.Context, r core.Reader, prefix string, fn func(key, value []byte) error) error {
	return core.ScanPrefix(r, []byte(prefix), func(key, value []byte) (bool, error) {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		return true, fn(bytes.Clone(key), bytes.Clone(value))
	})
}

// follows reports whether an entry follows from the record that it leads to. It does if that
// record is damaged: it stays with it.
func (k *Kind[R]) follows(r core.Reader, index *Index[R], key, value []byte) (bool, error) {
	id := index.ID(key, value)
	rec, err := k.Get(r, id)
	if rec == nil || err != nil {
		if Corrupt(err) {
			return true, nil
		}
		return false, err
	}
	return slices.ContainsFunc(index.Entries(id, rec), func(e Entry) bool {
		return bytes.Equal(e.Key, key) && bytes.Equal(e.Value, value)
	}), nil
}

// Rebuild makes the indices agree with the records; see [core.Rebuilder]. Passing records that
// are damaged are deleted.
func (k *Kind[R]) Rebuild(ctx context.Context, s core.Store) error {
	for i := range k.Indices {
		index := &k.Indices[i]
		err := core.UpdateEach(ctx, s, index.Prefix, func(tx core.Tx, key string) error {
			value, _, err := tx.Get([]byte(key))
			if err != nil {
				return err
			}
			follows, err := k.follows(tx, index, []byte(key), bytes.Clone(value))
			if err != nil || follows {
				return err
			}
			return tx.Delete([]byte(key))
		})
		if err != nil {
			return err
		}
	}
	return core.UpdateEach(ctx, s, k.Prefix, func(tx core.Tx, key string) error {
		id := key[len(k.Prefix):]
		rec, err := k.Get(tx, id)
		switch {
		case Corrupt(err):
			return nil // the check reports it
		case err != nil:
			return err
		case rec == nil:
			return tx.Delete([]byte(key))
		}
		return putAll(tx, k.entries(id, rec))
	})
}
