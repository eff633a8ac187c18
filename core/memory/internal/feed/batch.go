package feed

import (
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/core/memory/search"
)

// docBatchSize is how many memories are read at once for the index: few enough to hold
// their vectors, 1.5 KB each as a rule.
const docBatchSize = 512

// docBatch is memories that are read together for the index. Its buffers are used again
// for the next batch.
type docBatch struct {
	holds   func(model string) bool // whether vectors of a model are read; nil reads all
	has     func(core.MemoryState) bool
	docs    []search.Doc // without an id if there is no such memory
	vectors []float32
}

// readDocs calls fn with the memory of each of ids, which are in order: nil for one that
// can't be found, because it is missing, damaged, in another namespace or in a state that
// the index doesn't have.
func (s memorySource) readDocs(r core.Reader, namespace string, ids []string, fn func(id string, d *search.Doc) error) error {
	l := docBatch{holds: s.holds, has: s.has}
	for part := range slices.Chunk(ids, docBatchSize) {
		if err := l.read(r, namespace, part, fn); err != nil {
			return err
		}
	}
	return nil
}

func (l *docBatch) read(r core.Reader, namespace string, ids []string, fn func(id string, d *search.Doc) error) error {
	l.docs, l.vectors = slices.Grow(l.docs[:0], docBatchSize)[:len(ids)], l.vectors[:0]
	clear(l.docs)
	err := core.Prefetch(r, func() (reads core.Reads) {
		if len(ids) <= fewIDs {
			keysAhead(&reads, record.MemoryPrefix, ids)
			supersedersAhead(&reads, ids)
		}
		return reads
	})
	if err != nil {
		return err
	}
	err = readAll(r, record.MemoryPrefix, ids, func(i int, value []byte) {
		if m, err := record.Decode(ids[i], value); err == nil && m.Namespace == namespace && l.has(m.State) {
			l.docs[i] = memoryDoc(m, nil)
		}
	})
	if err != nil {
		return err
	}
	if err = l.readVectors(r, ids); err != nil {
		return err
	}
	err = superseders(r, ids, func(i int, by string) { l.docs[i].SupersededBy = append(l.docs[i].SupersededBy, by) })
	if err != nil {
		return err
	}
	for i := range l.docs {
		doc := &l.docs[i]
		if doc.ID == "" {
			doc = nil
		}
		if err := fn(ids[i], doc); err != nil {
			return err
		}
	}
	return nil
}

// readVectors reads the vectors of the batch that the index holds.
func (l *docBatch) readVectors(r core.Reader, ids []string) error {
	held := func(d search.Doc) bool { return d.ID != "" && d.Model != "" && (l.holds == nil || l.holds(d.Model)) }
	if !slices.ContainsFunc(l.docs, held) {
		return nil
	}
	if err := prefetch(r, record.VectorPrefix, ids); err != nil {
		return err
	}
	return readAll(r, record.VectorPrefix, ids, func(i int, value []byte) {
		if !held(l.docs[i]) {
			return
		}
		before := len(l.vectors)
		_, all, err := record.AppendVector(l.vectors, ids[i], value)
		if err != nil {
			l.docs[i].ID = ""
			return
		}
		l.vectors = all
		l.docs[i].Vector = all[before:]
	})
}

const (
	// maxPassed is how many records in a row a scan may skip. Beyond that, it is faster to
	// begin a new scan at the next record that is wanted.
	maxPassed = 16
	// fewIDs is how many records are looked up one by one: the memories that a turn
	// changed are scattered, and this many lookups take as long as one useless scan.
	fewIDs = 16
)

// prefetch reads what readAll looks up one by one.
func prefetch(r core.Reader, prefix string, ids []string) error {
	return core.Prefetch(r, func() (reads core.Reads) {
		if len(ids) > fewIDs {
			return reads
		}
		keysAhead(&reads, prefix, ids)
		return reads
	})
}

// readAll calls fn with the record under prefix of each of ids, which are in order, if
// there is one. Records written together are stored next to each other, where a scan
// takes a tenth of the time of separate lookups. The value is valid only during fn.
func readAll(r core.Reader, prefix string, ids []string, fn func(i int, value []byte)) error {
	if len(ids) <= fewIDs {
		for i, id := range ids {
			value, found, err := r.Get([]byte(prefix + id))
			if err != nil {
				return err
			}
			if found {
				fn(i, value)
			}
		}
		return nil
	}
	for i := 0; i < len(ids); {
		passed := 0
		end := prefix + ids[len(ids)-1] + "\x00"
		err := r.Scan([]byte(prefix+ids[i]), []byte(end), func(key, value []byte) (bool, error) {
			id := key[len(prefix):]
			for i < len(ids) && ids[i] < string(id) {
				i++
			}
			if i == len(ids) || ids[i] != string(id) {
				passed++
				return i < len(ids) && passed <= maxPassed, nil
			}
			fn(i, value)
			i++
			passed = 0
			return i < len(ids), nil
		})
		if err != nil {
			return err
		}
		if passed <= maxPassed {
			return nil // the scan reached the end
		}
	}
	return nil
}
