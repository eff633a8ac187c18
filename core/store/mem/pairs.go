package mem

import (
	"bytes"
	"iter"

	"github.com/RaduBerinde/btreemap"
)

// pairs are keys with their values, in the order of the keys.
type pairs = btreemap.BTreeMap[[]byte, []byte]

// degree is half of the most pairs in a node of the tree.
const degree = 8

func newPairs() *pairs { return btreemap.New[[]byte, []byte](degree, bytes.Compare) }

// span is a range of keys: from <= key < to; an empty to is the end.
type span struct{ from, to []byte }

// of returns the pairs in the span.
func (s span) of(p *pairs) iter.Seq2[[]byte, []byte] {
	end := btreemap.Max[[]byte]()
	if len(s.to) > 0 {
		end = btreemap.LT(s.to)
	}
	return p.Ascend(btreemap.GE(s.from), end)
}

// same reports whether two trees have the same pairs in the span.
func (s span) same(a, b *pairs) bool {
	next, stop := iter.Pull2(s.of(b))
	defer stop()
	for key, value := range s.of(a) {
		k, v, more := next()
		if !more || !bytes.Equal(k, key) || !bytes.Equal(v, value) {
			return false
		}
	}
	_, _, more := next()
	return !more
}

// write sets the value of a key; a nil value deletes it.
type write struct{ key, value []byte }

func (w write) apply(p *pairs) {
	if w.value == nil {
		p.Delete(w.key)
	} else {
		p.ReplaceOrInsert(w.key, w.value)
	}
}

// after is the first key that follows key.
func after(key []byte) []byte { return append(bytes.Clone(key), 0) }
