package table

import (
	"bytes"
	"context"
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// Derived are the prefixes of the keys that exports leave out; see [core.Rebuilder].
func (k *Kind[R]) Derived() (list []string) {
	if k.Passing {
		list = append(list, k.Prefix)
	}
	for i := range k.Indices {
		list = append(list, k.Indices[i].Prefix)
	}
	for i := range k.Sums {
		list = append(list, k.Sums[i].Prefix)
	}
	return list
}

// Rows are the rows of the kind, its indices and its sums in the description of the format.
func (k *Kind[R]) Rows() (list []string) {
	row := func(prefix, doc string, derived bool) {
		mark := ""
		if derived {
			mark = "▵ "
		}
		list = append(list, "| "+mark+"`"+prefix+"` "+doc+" |")
	}
	row(k.Prefix, k.Doc, k.Passing)
	for i := range k.Indices {
		row(k.Indices[i].Prefix, k.Indices[i].Doc, true)
	}
	for i := range k.Sums {
		row(k.Sums[i].Prefix, k.Sums[i].Doc, true)
	}
	return list
}

// checking is a check of a kind under way.
type checking[R any] struct {
	*Kind[R]
	ctx    context.Context
	r      core.Reader
	report func(core.Problem)
	// right counts, by index, the entries that are as they should be.
	right []int
	// last are, by sum, the names that were looked at last.
	last []string
}

// Check reports damaged records, missing entries, entries that follow from no record, and wrong
// sums, in the order of the declaration. also, which may be nil, checks a valid record further: it
// gets the record's value.
func (k *Kind[R]) Check(ctx context.Context, r core.Reader, report func(core.Problem), also func(id string, rec *R, value []byte) error) error {
	c := &checking[R]{k, ctx, r, report, make([]int, len(k.Indices)), make([]string, len(k.Sums))}
	err := each(ctx, r, k.Prefix, func(key, value []byte) error {
		id := string(key[len(k.Prefix):])
		rec, err := k.Parse(id, value)
		if err != nil {
			return c.reportDamage(key, k.Passing, err)
		}
		if k.Agrees != nil {
			wrong, err := k.Agrees(r, id, rec)
			if err != nil {
				return err
			}
			if wrong != "" {
				c.problem(key, k.Passing, wrong)
			}
		}
		if err := jsontext.DecodeStrict(value, new(R)); k.Strict && err != nil {
			c.problem(key, false, "the record has a field that the program doesn't write: "+err.Error())
		}
		if err := c.record(key, id, rec); err != nil || also == nil {
			return err
		}
		return also(id, rec, value)
	})
	for i := 0; err == nil && i < len(k.Indices); i++ {
		err = c.index(i)
	}
	for i := 0; err == nil && i < len(k.Sums); i++ {
		sum := &k.Sums[i]
		err = each(ctx, r, sum.Prefix, func(key, value []byte) error { return c.sum(sum, key, value) })
	}
	return err
}

// sum checks a stored sum; value is nil if it is missing.
func (c *checking[R]) sum(sum *Sum[R], key, value []byte) error {
	right, err := sum.Value(c.ctx, c.Kind, c.r, string(key[len(sum.Prefix):]))
	if err != nil {
		return unlessCorrupt(err)
	}
	wrong := sum.Wrong
	if sum.Differs != nil {
		wrong = sum.Differs(value, right)
	} else if right != nil && value != nil && bytes.Equal(right, value) {
		wrong = ""
	}
	if wrong != "" {
		c.problem(key, true, wrong)
	}
	return nil
}

func (c *checking[R]) problem(key []byte, rebuildable bool, message string) {
	c.report(core.Problem{Part: c.Part, Key: c.show(key), Message: message, Rebuildable: rebuildable})
}

// reportDamage reports an error that says that a key is damaged, and returns any other error.
func (c *checking[R]) reportDamage(key []byte, rebuildable bool, err error) error {
	if !Corrupt(err) {
		return err
	}
	c.problem(key, rebuildable, sdk.AsError(err).Message)
	return nil
}

// unlessCorrupt is an error, unless it says that a record is damaged, which the check of that
// record reports.
func unlessCorrupt(err error) error {
	if Corrupt(err) {
		return nil
	}
	return err
}

// record checks that what follows from a record is there.
func (c *checking[R]) record(key []byte, id string, rec *R) error {
	for i := range c.Indices {
		list, err := c.Indices[i].entries(c.r, id, rec)
		if unlessCorrupt(err) != nil {
			return err
		}
		for _, e := range list {
			stored, found, err := c.r.Get(e.Key)
			switch {
			case err != nil:
				return err
			case found && bytes.Equal(stored, e.Value):
				c.right[i]++
			default:
				c.problem(e.Key, true, "the index lacks "+c.show(key)+", or says something else of it")
			}
		}
	}
	for i := range c.Sums {
		sum := &c.Sums[i]
		name := sum.Of(id, rec)
		if name == "" || name == c.last[i] {
			continue
		}
		c.last[i] = name
		at := []byte(sum.Prefix + name)
		if _, found, err := c.r.Get(at); err != nil {
			return err
		} else if !found {
			if err := c.sum(sum, at, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// index looks for entries that follow from no record. It reads the records only if there are more
// entries than those that do.
func (c *checking[R]) index(i int) error {
	index, there := &c.Indices[i], 0
	err := core.ScanPrefix(c.r, []byte(index.Prefix), func(_, _ []byte) (bool, error) {
		there++
		return true, c.ctx.Err()
	})
	if err != nil || there == c.right[i] {
		return err
	}
	_, err = c.strays(c.ctx, c.r, index, func(key []byte) {
		c.problem(key, true, "the index has an entry that follows from no record")
	})
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

// maxKnown is how many entries of records [Kind.strays] keeps, so that the index of a record with
// thousands of entries doesn't have it read thousands of times, and how many names of a sum
// [Kind.Rebuild] keeps.
const maxKnown = 10_000

// strays calls fn for the entries of an index that follow from no record, and returns how many
// entries there are. An entry that leads to a damaged record isn't called: it stays with it,
// so that a purge of a memory that the record may quote fails, and doesn't leave the text behind.
func (k *Kind[R]) strays(ctx context.Context, r core.Reader, index *Index[R], fn func(key []byte)) (n int, err error) {
	known, size := map[string]map[string][]byte{}, 0
	err = each(ctx, r, index.Prefix, func(key, value []byte) error {
		n++
		id := index.id(key, value)
		list, there := known[id]
		if !there {
			rec, err := k.Get(r, id)
			var entries []Entry
			if err == nil {
				entries, err = index.entries(r, id, rec)
			}
			if list = valuesOf(entries); err != nil {
				list = nil // damaged
			}
			if unlessCorrupt(err) != nil {
				return err
			}
			if size += len(list) + 1; size > maxKnown {
				clear(known)
				size = len(list) + 1
			}
			known[id] = list
		}
		if right, follows := list[string(key)]; list != nil && (!follows || !bytes.Equal(right, value)) {
			fn(key)
		}
		return nil
	})
	return n, err
}

// dropStrays deletes the entries of an index that follow from no record, and returns how many there
// are altogether.
func (k *Kind[R]) dropStrays(ctx context.Context, s core.Store, index *Index[R]) (n int, err error) {
	var gone [][]byte
	err = s.View(ctx, func(r core.Reader) (err error) {
		gone = nil
		n, err = k.strays(ctx, r, index, func(key []byte) { gone = append(gone, key) })
		return err
	})
	for keys := range slices.Chunk(gone, 500) {
		if err == nil {
			err = s.Update(ctx, func(tx core.Tx) error {
				for _, key := range keys {
					if err := tx.Delete(key); err != nil {
						return err
					}
				}
				return nil
			})
		}
	}
	return n, err
}

// Rebuild makes the indices and the sums agree with the records; see [core.Rebuilder]. Passing
// records that are damaged, or don't agree with what proves them, are deleted.
func (k *Kind[R]) Rebuild(ctx context.Context, s core.Store) error {
	empty := true // then there are no entries to compare with, as after an import
	for i := range k.Indices {
		n, err := k.dropStrays(ctx, s, &k.Indices[i])
		if err != nil {
			return err
		}
		empty = empty && n == 0
	}
	names := make([]map[string]bool, len(k.Sums))
	for i := range names {
		names[i] = map[string]bool{}
	}
	err := k.UpdateEach(ctx, s, func(tx core.Tx, id string, rec *R) error {
		if k.Passing && k.Agrees != nil {
			if wrong, err := k.Agrees(tx, id, rec); err != nil {
				return err
			} else if wrong != "" {
				return k.Delete(tx, id)
			}
		}
		for i := range k.Sums {
			if len(names[i]) <= maxKnown {
				names[i][k.Sums[i].Of(id, rec)] = true
			}
		}
		list, err := k.entries(tx, id, rec)
		for i := 0; err == nil && i < len(list); i++ {
			err = restore(tx, list[i], empty)
		}
		return err
	})
	for i := 0; err == nil && i < len(k.Sums); i++ {
		err = k.rebuildSum(ctx, s, &k.Sums[i], names[i])
	}
	return err
}

// rebuildSum makes a sum agree with the records. names are the names that records count for; if
// there are too many of them, the records are read again.
func (k *Kind[R]) rebuildSum(ctx context.Context, s core.Store, sum *Sum[R], names map[string]bool) error {
	again := func(tx core.Tx, name string) error {
		key := []byte(sum.Prefix + name)
		value, err := sum.Value(ctx, k, tx, name)
		switch {
		case err != nil:
			return unlessCorrupt(err)
		case value == nil:
			return tx.Delete(key)
		}
		return restore(tx, Entry{key, value}, false)
	}
	missing := func(tx core.Tx, name string) error {
		if name == "" {
			return nil
		}
		if _, found, err := tx.Get([]byte(sum.Prefix + name)); found || err != nil {
			return err
		}
		return again(tx, name)
	}
	err := core.UpdateEach(ctx, s, sum.Prefix, func(tx core.Tx, key string) error { return again(tx, key[len(sum.Prefix):]) })
	if err != nil {
		return err
	}
	if len(names) > maxKnown {
		return k.UpdateEach(ctx, s, func(tx core.Tx, id string, rec *R) error { return missing(tx, sum.Of(id, rec)) })
	}
	for name := range names {
		if err := s.Update(ctx, func(tx core.Tx) error { return missing(tx, name) }); err != nil {
			return err
		}
	}
	return nil
}

// restore writes an entry. Unless there is none at all, it looks first whether it is there.
func restore(tx core.Tx, e Entry, empty bool) error {
	if !empty {
		stored, found, err := tx.Get(e.Key)
		if err != nil || found && bytes.Equal(stored, e.Value) {
			return err
		}
	}
	return tx.Put(e.Key, e.Value)
}

// UpdateEach is [core.UpdateEach] with each record that isn't damaged. A passing record that is
// damaged is deleted.
func (k *Kind[R]) UpdateEach(ctx context.Context, s core.Store, fn func(tx core.Tx, id string, rec *R) error) error {
	return core.UpdateEach(ctx, s, k.Prefix, func(tx core.Tx, key string) error {
		id := key[len(k.Prefix):]
		rec, err := k.Get(tx, id)
		switch {
		case err != nil:
			return unlessCorrupt(err)
		case rec == nil:
			return tx.Delete([]byte(key))
		}
		return fn(tx, id, rec)
	})
}
