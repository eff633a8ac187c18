package gate

import (
	"bytes"
	"context"
	"strings"

	"github.com/reflectory/reflectory/core"
)

// Rebuild implements [core.Rebuilder].
func (Evidence) Rebuild(ctx context.Context, s core.Store) error {
	if err := deleteStray(ctx, s, indexPrefix, isIndexed); err != nil {
		return err
	}
	if err := rebuildIndex(ctx, s); err != nil {
		return err
	}
	if err := deleteStray(ctx, s, tallyPrefix, isTallied); err != nil {
		return err
	}
	return rebuildTallies(ctx, s)
}

// isIndexed reports whether a graph names the memory of an index key.
func isIndexed(r core.Reader, named naming, key []byte) (bool, error) {
	memory, workflow := splitIndex(key)
	names, err := named.by(r, workflow)
	return names[memory], err
}

// isTallied reports whether the memory of a tally has outcomes.
func isTallied(r core.Reader, _ naming, key []byte) (bool, error) {
	first, err := core.Suffixes(r, memoryTools(strings.TrimPrefix(string(key), tallyPrefix)), 1)
	return len(first) > 0, err
}

// deleteStray deletes the unwanted keys with a prefix, checking up to 1,000 in a
// transaction.
func deleteStray(ctx context.Context, s core.Store, prefix string, wanted func(core.Reader, naming, []byte) (bool, error)) error {
	for from := []byte(prefix); from != nil; {
		begin := from // fn may run again
		err := s.Update(ctx, func(tx core.Tx) error {
			keys, err := keysFrom(tx, begin, core.PrefixEnd([]byte(prefix)))
			if err != nil {
				return err
			}
			named := naming{}
			for _, key := range keys {
				keep, err := wanted(tx, named, key)
				if err != nil {
					return err
				}
				if !keep {
					if err := tx.Delete(key); err != nil {
						return err
					}
				}
			}
			from = nil
			if len(keys) == batch {
				from = append(keys[batch-1], 0)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// rebuildIndex writes the index of each graph, one in a transaction. A graph that can't
// be read is skipped.
func rebuildIndex(ctx context.Context, s core.Store) error {
	return each(ctx, s, dagPrefix, func(tx core.Tx, key []byte) (next []byte, err error) {
		workflow := strings.TrimPrefix(string(key), dagPrefix)
		kept, err := readDAG(tx, workflow)
		if err != nil && !isBroken(err) {
			return nil, err
		}
		for memory := range kept.Graph.Memories {
			if err := tx.Put(indexKey(memory, workflow), nil); err != nil {
				return nil, err
			}
		}
		return append(key, 0), nil
	})
}

// rebuildTallies writes the tally of each memory with outcomes, one in a transaction.
func rebuildTallies(ctx context.Context, s core.Store) error {
	return each(ctx, s, toolPrefix, func(tx core.Tx, key []byte) (next []byte, err error) {
		memory, _, ok := splitTool(key)
		if !ok {
			return append(key, 0), nil
		}
		next = core.PrefixEnd(memoryTools(memory))
		t, err := tallyOf(tx, memory)
		if isBroken(err) {
			return next, nil // a check reports it
		}
		if err != nil {
			return nil, err
		}
		return next, tx.Put(tallyKey(memory), core.MustJSON(t))
	})
}

// each calls fn with the first key of a prefix, and then with the first key from next on,
// each time in its own transaction.
func each(ctx context.Context, s core.Store, prefix string, fn func(tx core.Tx, key []byte) (next []byte, err error)) error {
	for from := []byte(prefix); from != nil; {
		begin := from // fn may run again
		err := s.Update(ctx, func(tx core.Tx) error {
			key, err := firstKey(tx, begin, core.PrefixEnd([]byte(prefix)))
			if from = nil; err != nil || key == nil {
				return err
			}
			from, err = fn(tx, key)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// firstKey is the first key from one on and before end; nil if there is none.
func firstKey(r core.Reader, from, end []byte) (first []byte, err error) {
	err = r.Scan(from, end, func(key, _ []byte) (bool, error) {
		first = bytes.Clone(key)
		return false, nil
	})
	return first, err
}

// keysFrom are the first 1,000 keys of a range.
func keysFrom(r core.Reader, from, end []byte) (keys [][]byte, err error) {
	err = r.Scan(from, end, func(key, _ []byte) (bool, error) {
		keys = append(keys, bytes.Clone(key))
		return len(keys) < batch, nil
	})
	return keys, err
}
