package idempotency

import (
	"bytes"
	"context"
	"slices"
	"strconv"

	"github.com/reflectory/reflectory/core"
)

// Checker proves that the records and their indices agree. A rebuild makes the indices from
// the records, and drops records that can't be read: a call whose key is lost is done
// again, as it would be a day later. See FORMAT.md.
type Checker struct{}

var _ core.Rebuilder = Checker{}

// Derived implements [core.Rebuilder]. Exports leave all of it out.
func (Checker) Derived() []string { return []string{prefix, timePrefix, memoryPrefix} }

// Check implements [core.Checker].
func (Checker) Check(ctx context.Context, r core.Reader, report func(core.Problem)) error {
	for _, p := range (Checker{}).Derived() {
		err := core.ScanPrefix(r, []byte(p), func(key, _ []byte) (bool, error) {
			wrong, err := problem(r, bytes.Clone(key))
			if err == nil && wrong != "" {
				report(core.Problem{Part: "idempotency", Key: readable(key), Message: wrong, Rebuildable: true})
			}
			if err == nil {
				err = ctx.Err()
			}
			return true, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Rebuild implements [core.Rebuilder]: it deletes keys that agree with nothing, and puts
// readable records back into their indices. The indices come last, since an entry without a
// record is deleted too.
func (Checker) Rebuild(ctx context.Context, s core.Store) error {
	if err := core.UpdateEach(ctx, s, prefix, rebuildRecord); err != nil {
		return err
	}
	for _, p := range []string{timePrefix, memoryPrefix} {
		err := core.UpdateEach(ctx, s, p, func(tx core.Tx, key string) error {
			wrong, err := problem(tx, []byte(key))
			if err != nil || wrong == "" {
				return err
			}
			return tx.Delete([]byte(key))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// rebuildRecord indexes a record, or deletes a value that isn't a record.
func rebuildRecord(tx core.Tx, key string) error {
	digest := key[len(prefix):]
	r, err := read(tx, digest)
	if err != nil {
		return err
	}
	if r == nil {
		return tx.Delete([]byte(key))
	}
	return put(tx, digest, r)
}

// problem describes what is wrong with an existing key; "" if nothing is wrong.
func problem(r core.Reader, key []byte) (string, error) {
	digest, isRecord := bytes.CutPrefix(key, []byte(prefix))
	if isRecord {
		return recordProblem(r, string(digest))
	}
	in := timeDigest
	if bytes.HasPrefix(key, []byte(memoryPrefix)) {
		in = memoryDigest
	}
	found, err := read(r, in(key))
	if err != nil {
		return "", err
	}
	if found == nil || !slices.ContainsFunc(found.indices(in(key)), func(k []byte) bool { return bytes.Equal(k, key) }) {
		return "an index has an entry that fits no record", nil
	}
	return "", nil
}

func recordProblem(r core.Reader, digest string) (string, error) {
	found, err := read(r, digest)
	if err != nil {
		return "", err
	}
	if found == nil {
		return "it can't be decoded", nil
	}
	for _, key := range found.indices(digest) {
		if _, there, err := r.Get(key); err != nil {
			return "", err
		} else if !there {
			return "the record isn't in its indices", nil
		}
	}
	return "", nil
}

// indices are the keys by which a record is found.
func (r *record) indices(digest string) [][]byte {
	keys := [][]byte{timeKey(r.At, digest)}
	for _, id := range r.Memories {
		keys = append(keys, memoryKey(id, digest))
	}
	return keys
}

// readable is a key as text.
func readable(key []byte) string {
	if rest, ok := bytes.CutPrefix(key, []byte(timePrefix)); ok {
		return timePrefix + strconv.Quote(string(rest))
	}
	return string(key)
}
