package table

import (
	"bytes"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

const (
	// MinPrefix is how much of an id is enough to find its record: the part of a UUID before its
	// first dash.
	MinPrefix = 8
	// MaxNamed is how many ids the error for the beginning of several names at most.
	MaxNamed = 10
)

// Find returns the id of the record whose id is begun, or of the only one whose id begins with
// it, if it has at least [MinPrefix] characters; "" if there is none. If there are several, the
// error is [Ambiguous]. what is what a record is called, such as "job".
func (k *Kind[R]) Find(r core.Reader, what, begun string) (string, error) {
	if _, found, err := r.Get(k.key(begun)); found || err != nil {
		return begun, err
	}
	if len(begun) < MinPrefix {
		return "", nil
	}
	ids, err := core.Suffixes(r, k.key(begun), MaxNamed+1)
	for i := range ids {
		ids[i] = begun + ids[i]
	}
	switch {
	case err != nil || len(ids) == 0:
		return "", err
	case len(ids) > 1:
		return "", Ambiguous(what, begun, ids)
	}
	return ids[0], nil
}

// Ambiguous is the error for the beginning of several ids: [sdk.Conflict], reason what and
// "_ambiguous". It names the first 10 of them.
func Ambiguous(what, begun string, ids []string) error {
	more := ""
	if len(ids) > MaxNamed {
		ids, more = ids[:MaxNamed], ", …"
	}
	return sdk.Errorf(sdk.Conflict, what+"_ambiguous", "%q matches several %ss: %s%s", begun, what, strings.Join(ids, ", "), more).
		WithHint("give more characters of the id").WithDetail(what+"_ids", ids)
}

// Scan calls fn with the records whose ids begin with begun, in the order of the ids and from the
// first after an id, which is "" for the first of all. A damaged record that is passing is nil.
func (k *Kind[R]) Scan(r core.Reader, begun, after string, fn func(id string, rec *R) (more bool, err error)) error {
	from := k.key(begun)
	if after != "" {
		from = append(k.key(after), 0)
	}
	return r.Scan(from, core.PrefixEnd(k.key(begun)), func(key, value []byte) (bool, error) {
		id := string(key[len(k.Prefix):])
		rec, err := k.Parse(id, value)
		if err != nil && (!k.Passing || !Corrupt(err)) {
			return false, err
		}
		return fn(id, rec)
	})
}

// Page returns the records that the entries of an index name, from a key on and before another: up
// to limit of those that fit. more is whether others follow.
func (k *Kind[R]) Page(r core.Reader, index string, from, to []byte, limit int, fits func(id string, rec *R) (bool, error)) (page []*R, more bool, err error) {
	at := k.index(index)
	err = r.Scan(from, to, func(key, value []byte) (bool, error) {
		key = bytes.Clone(key)
		rec, err := k.Named(r, key, at.id(key, value))
		if err != nil {
			return false, err
		}
		fit, err := fits(at.id(key, value), rec)
		if err != nil || !fit {
			return err == nil, err
		}
		if more = len(page) == limit; !more {
			page = append(page, rec)
		}
		return !more, nil
	})
	return page, more, err
}

// index is the index with a prefix.
func (k *Kind[R]) index(prefix string) *Index[R] {
	for i := range k.Indices {
		if k.Indices[i].Prefix == prefix {
			return &k.Indices[i]
		}
	}
	panic("table: " + k.Prefix + " has no index " + prefix)
}

// Named returns the record that an entry names. Without it, the error is [Corrupt].
func (k *Kind[R]) Named(r core.Reader, key []byte, id string) (*R, error) {
	rec, err := k.Get(r, id)
	if err == nil && rec == nil {
		err = k.Damaged(key, "it names a record that isn't there")
	}
	return rec, err
}
