// Package table keeps records that are declared once.
//
// A [Kind] says where its records are, what makes one valid, and which entries of which indices
// and which sums follow from it. From that follow the writes, which keep the indices; the check,
// which finds a damaged record, a missing entry, an entry that follows from nothing and a wrong
// sum; the rebuild, which makes indices and sums again; the purge of a memory that records quote;
// and the rows of the description of the store's format. An index that is added to a declaration
// is known to all of them.
//
// What else proves a record, such as an event or another record, is [Kind.Agrees]; what a part
// checks besides stays its own.
//
// It is internal to Reflectory: its API may change in any release.
package table

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// Kind is a kind of records. R is a record in memory.
type Kind[R any] struct {
	// Part is the part whose problems they are, such as "snapshots".
	Part string
	// Prefix begins the keys of the records; the id follows.
	Prefix string
	// Doc is the rest of the row of the format's description: how the key continues after its
	// prefix, a bar, and what the value is, such as "id | the outcome of a call".
	Doc string
	// Decode and Encode are for values that aren't plain JSON. An error of Decode says that the
	// value is damaged. Nil is JSON.
	Decode func(id string, value []byte) (*R, error)
	Encode func(rec *R) ([]byte, error)
	// Valid describes what is wrong with a record that was decoded; "" if nothing is. Nil means
	// that each is valid.
	Valid func(id string, rec *R) string
	// Exact is whether a record is damaged unless it is byte for byte as it would be written now:
	// anything else, such as an unknown field or a field that appears twice, might be misread.
	Exact bool
	// Agrees describes how a valid record differs from what proves it, such as an event or another
	// record; "" if it doesn't. Only a check and, for passing records, a rebuild ask. Nil means that
	// nothing else proves the records.
	Agrees func(r core.Reader, id string, rec *R) (wrong string, err error)
	// Strict is whether the check reports fields that the program doesn't write.
	Strict bool
	// Show renders a key for messages. Nil shows it as text.
	Show func(key []byte) string
	// Indices are the keys that follow from a record.
	Indices []Index[R]
	// Sums are the values that follow from several records.
	Sums []Sum[R]
	// Passing is whether the records matter for a short time only: exports leave them out, one
	// that is damaged counts as none, and a rebuild deletes it, and one that doesn't agree.
	Passing bool
}

// Index is an index of a kind. One of Entries, Quotes and QuotesFrom is set.
type Index[R any] struct {
	// Prefix begins its keys, and no other keys.
	Prefix string
	// Doc is as in [Kind].
	Doc string
	// Entries are the entries that follow from a record.
	Entries func(id string, rec *R) []Entry
	// Quotes are the memories whose texts a record may have: [Kind.Forget] finds the record by
	// them. In a key, a memory, a slash and the record's id follow the prefix; the value is empty.
	Quotes func(rec *R) []string
	// QuotesFrom are Quotes if other records have the texts, which are read; the part adds the
	// entries where it writes those. If its error is [Corrupt], the entries stay as they are: the
	// check of those records reports it.
	QuotesFrom func(r core.Reader, id string, rec *R) ([]string, error)
	// ID is the id of the record that an entry leads to; any text for a key that is no entry.
	// Nil is what follows the key's last slash.
	ID func(key, value []byte) string
}

// Entry is a key with its value, which may be empty.
type Entry struct{ Key, Value []byte }

// Sum is what follows from several records together, such as how many of them a user has.
type Sum[R any] struct {
	// Prefix begins its keys, and no other keys; a name follows, such as the user's.
	Prefix string
	// Doc is as in [Kind].
	Doc string
	// Of is the name of the sum that a record counts for; "" if it counts for none.
	Of func(id string, rec *R) string
	// Value is the right value for a name, from records of the kind, entries of its indices or
	// others; nil if there is no such sum. If its error is [Corrupt], the sum stays as it is.
	Value func(ctx context.Context, k *Kind[R], r core.Reader, name string) ([]byte, error)
	// Wrong is what a check says of a sum that is wrong, missing or too much.
	Wrong string
	// Differs, if it is set, says it instead, from the stored and the right value, which are nil
	// for none; "" if they agree.
	Differs func(stored, right []byte) string
}

// InValue is an [Index.ID] of entries whose value is the id.
func InValue(_, value []byte) string { return string(value) }

// AfterNumber is an [Index.ID] of entries in whose keys a number of 8 bytes follows the prefix,
// with a slash or another separator of sep bytes before the id.
func AfterNumber(prefix string, sep int) func(key, value []byte) string {
	skip := len(prefix) + 8 + sep
	return func(key, _ []byte) string { return string(key[min(skip, len(key)):]) }
}

// ByNumber is an index in the order of a number, such as a time. Its keys are made by [NumberKey],
// without values. doc is its [Index.Doc].
func ByNumber[R any](prefix, doc string, number func(*R) uint64) Index[R] {
	return Index[R]{Prefix: prefix, Doc: doc, ID: AfterNumber(prefix, 1), Entries: func(id string, rec *R) []Entry {
		return []Entry{{Key: NumberKey(prefix, number(rec), id)}}
	}}
}

// NumberKey is a prefix, a number in 8 bytes, a slash and an id.
func NumberKey(prefix string, number uint64, id string) []byte {
	key := binary.BigEndian.AppendUint64([]byte(prefix), number)
	return append(append(key, '/'), id...)
}

// entries are the entries that follow from a record, which may be nil. If r is nil, those that
// other records decide are left out.
func (x *Index[R]) entries(r core.Reader, id string, rec *R) (list []Entry, err error) {
	var memories []string
	switch {
	case rec == nil:
	case x.Entries != nil:
		return x.Entries(id, rec), nil
	case x.Quotes != nil:
		memories = x.Quotes(rec)
	case r != nil:
		memories, err = x.QuotesFrom(r, id, rec)
	}
	for _, memory := range memories {
		list = append(list, Entry{Key: []byte(x.Prefix + memory + "/" + id)})
	}
	return list, err
}

// id is the id of the record that an entry leads to.
func (x *Index[R]) id(key, value []byte) string {
	if x.ID != nil {
		return x.ID(key, value)
	}
	return string(key[bytes.LastIndexByte(key, '/')+1:])
}

// key is the key of a record.
func (k *Kind[R]) key(id string) []byte { return []byte(k.Prefix + id) }

// show is a key as text.
func (k *Kind[R]) show(key []byte) string {
	if k.Show != nil {
		return k.Show(key)
	}
	return strings.Trim(strconv.Quote(string(key)), `"`)
}

// Get returns a record, nil if there is none. For a damaged record the error is [Corrupt].
func (k *Kind[R]) Get(r core.Reader, id string) (*R, error) {
	value, found, err := r.Get(k.key(id))
	if err != nil || !found {
		return nil, err
	}
	rec, err := k.Parse(id, value)
	if k.Passing && Corrupt(err) {
		return nil, nil
	}
	return rec, err
}

// Parse is [Kind.Get] of a record whose value was read. A damaged record that is passing is an
// error too.
func (k *Kind[R]) Parse(id string, value []byte) (rec *R, err error) {
	if k.Decode != nil {
		rec, err = k.Decode(id, value)
	} else if err = json.Unmarshal(value, &rec); err != nil {
		return nil, k.Damaged(k.key(id), "it can't be decoded: "+jsontext.Problem(err).Error())
	} else if rec == nil {
		return nil, k.Damaged(k.key(id), "it is null")
	}
	wrong := ""
	switch {
	case Corrupt(err):
		return nil, err
	case err != nil:
		wrong = err.Error()
	case k.Exact && !k.same(rec, value):
		wrong = "it isn't in the form that this program writes"
	case k.Valid != nil:
		wrong = k.Valid(id, rec)
	}
	if wrong != "" {
		return nil, k.Damaged(k.key(id), wrong)
	}
	return rec, nil
}

// Damaged is the error for a key that the program can't have written so: [sdk.Internal], reason
// "record_corrupt".
func (k *Kind[R]) Damaged(key []byte, wrong string) error {
	shown := core.Cut(k.show(key))
	return sdk.Errorf(sdk.Internal, "record_corrupt", "record %s: %s", shown, wrong).
		WithHint("look for more of it with a check of the store").WithAction("store check").WithDetail("key", shown)
}

// Corrupt reports whether an error says that a record is damaged.
func Corrupt(err error) bool { return sdk.ReasonOf(err) == "record_corrupt" }

// Each is [Kind.Scan] of all records whose ids begin with begun.
func (k *Kind[R]) Each(r core.Reader, begun string, fn func(id string, rec *R) error) error {
	return k.Scan(r, begun, "", func(id string, rec *R) (bool, error) { return true, fn(id, rec) })
}

// Put writes a record with its entries, and deletes the entries of the record that it replaces.
func (k *Kind[R]) Put(tx core.Tx, id string, rec *R) error {
	old, err := k.indexed(tx, id)
	if err != nil {
		return err
	}
	if err := k.Index(tx, id, old, rec); err != nil {
		return err
	}
	return k.write(tx, id, rec)
}

// Add is [Kind.Put] of a record that the store doesn't have: it reads nothing.
func (k *Kind[R]) Add(tx core.Tx, id string, rec *R) error {
	if err := k.Index(tx, id, nil, rec); err != nil {
		return err
	}
	return k.write(tx, id, rec)
}

func (k *Kind[R]) write(tx core.Tx, id string, rec *R) error {
	value, err := k.Value(id, rec)
	if err != nil {
		return err
	}
	return tx.Put(k.key(id), value)
}

// Value is the value of a record. If it can't be encoded, such as raw JSON that isn't JSON, that is
// the caller's mistake: [sdk.Invalid], reason "record_invalid".
func (k *Kind[R]) Value(id string, rec *R) ([]byte, error) {
	value, err := k.encode(rec)
	if err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "record_invalid", "record %s can't be encoded: %w", k.show(k.key(id)), err)
	}
	return value, nil
}

func (k *Kind[R]) encode(rec *R) ([]byte, error) {
	if k.Encode != nil {
		return k.Encode(rec)
	}
	return jsontext.Encode(rec)
}

// same reports whether a value is a record's.
func (k *Kind[R]) same(rec *R, value []byte) bool {
	own, err := k.encode(rec)
	return err == nil && bytes.Equal(own, value)
}

// Delete deletes a record with its entries, if there is one.
func (k *Kind[R]) Delete(tx core.Tx, id string) error {
	old, err := k.indexed(tx, id)
	if err != nil {
		return err
	}
	gone, err := k.entries(tx, id, old)
	if err != nil {
		return err
	}
	if err := replace(tx, gone, nil); err != nil {
		return err
	}
	return tx.Delete(k.key(id))
}

// DeleteAll deletes the records whose ids begin with begun, with their entries.
func (k *Kind[R]) DeleteAll(tx core.Tx, begun string) error {
	ids, err := core.Suffixes(tx, k.key(begun), math.MaxInt)
	for i := 0; err == nil && i < len(ids); i++ {
		err = k.Delete(tx, begun+ids[i])
	}
	return err
}

// indexed is the record that a write replaces; nil if no entries follow from it.
func (k *Kind[R]) indexed(r core.Reader, id string) (*R, error) {
	if len(k.Indices) == 0 {
		return nil, nil
	}
	rec, err := k.Get(r, id)
	return rec, unlessCorrupt(err)
}

// Index writes the entries of a record that its caller writes: those that the old record, nil for
// none, doesn't have. It deletes those that only the old record has. rec may be nil too.
func (k *Kind[R]) Index(tx core.Tx, id string, old, rec *R) error {
	before, err := k.entries(nil, id, old)
	if err != nil {
		return err
	}
	after, err := k.entries(nil, id, rec)
	if err != nil {
		return err
	}
	return replace(tx, before, after)
}

// entries are all entries that follow from a record: see [Index.entries].
func (k *Kind[R]) entries(r core.Reader, id string, rec *R) (list []Entry, err error) {
	for i := 0; err == nil && i < len(k.Indices); i++ {
		var more []Entry
		more, err = k.Indices[i].entries(r, id, rec)
		list, err = append(list, more...), unlessCorrupt(err)
	}
	return list, err
}

// IndexKeys are the keys of a record in the indices.
func (k *Kind[R]) IndexKeys(id string, rec *R) (keys [][]byte, err error) {
	list, err := k.entries(nil, id, rec)
	for _, e := range list {
		keys = append(keys, e.Key)
	}
	return keys, err
}

// replace deletes the entries whose keys are gone, and writes those that are new or changed.
func replace(tx core.Tx, before, after []Entry) error {
	had, has := valuesOf(before), valuesOf(after)
	for _, e := range before {
		if _, stays := has[string(e.Key)]; !stays {
			if err := tx.Delete(e.Key); err != nil {
				return err
			}
		}
	}
	for _, e := range after {
		if value, there := had[string(e.Key)]; !there || !bytes.Equal(value, e.Value) {
			if err := tx.Put(e.Key, e.Value); err != nil {
				return err
			}
		}
	}
	return nil
}

// valuesOf are the values of entries by their keys.
func valuesOf(entries []Entry) map[string][]byte {
	values := make(map[string][]byte, len(entries))
	for _, e := range entries {
		values[string(e.Key)] = e.Value
	}
	return values
}

// Forget calls fn for each record that quotes a memory, to remove the memory's text from it; nil
// deletes the record. The record's entry for the memory is removed.
func (k *Kind[R]) Forget(tx core.Tx, memory string, fn func(id string, rec *R) error) error {
	for i := range k.Indices {
		if k.Indices[i].Entries != nil {
			continue
		}
		prefix := []byte(k.Indices[i].Prefix + memory + "/")
		ids, err := core.Suffixes(tx, prefix, math.MaxInt)
		if err != nil {
			return err
		}
		for _, id := range ids {
			rec, err := k.Get(tx, id)
			if err == nil && rec != nil && fn != nil {
				err = fn(id, rec)
			} else if err == nil {
				err = k.Delete(tx, id)
			}
			if err == nil {
				err = tx.Delete(append(prefix[:len(prefix):len(prefix)], id...))
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
