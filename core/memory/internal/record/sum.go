package record

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
)

// Sums are what namespaces of one tenant hold with everything below them, by namespace. Only
// namespaces with a quota have a sum, from the first new memory that the quota is checked for:
// the sum is then made from the counts, and from then on each transaction that changes a count
// adds to it. All sums of a tenant are in one record, so a transaction reads one key to find
// that there are none.
type Sums map[string]Count

// ReadSums returns the stored sums of a tenant.
func ReadSums(r core.Reader, tenant string) (Sums, error) {
	value, found, err := r.Get(SumKey(tenant))
	if err != nil || !found {
		return Sums{}, err
	}
	var s Sums
	if err := json.Unmarshal(value, &s); err != nil {
		return nil, Damaged(SumPrefix+tenant, err)
	}
	return s, nil
}

// SumCounts adds up the stored counts of a namespace and of all namespaces below it, except those
// for which but is true. but may be nil.
func SumCounts(r core.Reader, namespace string, but func(namespace string) bool) (sum Count, err error) {
	add := func(of string) error {
		if but != nil && but(of) {
			return nil
		}
		c, err := ReadCount(r, of)
		sum.Memories, sum.Bytes = sum.Memories+c.Memories, sum.Bytes+c.Bytes
		return err
	}
	if err := add(namespace); err != nil {
		return sum, err
	}
	err = core.ScanPrefix(r, CountKey(namespace+"/"), func(key, _ []byte) (bool, error) {
		return true, add(string(key[len(CountPrefix):]))
	})
	return sum, err
}

// below reports whether a namespace is another one or below it.
func below(namespace, top string) bool {
	rest, found := strings.CutPrefix(namespace, top)
	return found && (rest == "" || rest[0] == '/')
}

// tenantSums are the sums of a tenant, with the transaction's changes.
func (t *Tx) tenantSums(tenant string) (*sums, error) {
	if s := t.sums[tenant]; s != nil {
		return s, nil
	}
	stored, err := ReadSums(t, tenant)
	if err != nil {
		return nil, err
	}
	if t.sums == nil {
		t.sums = map[string]*sums{}
	}
	t.sums[tenant] = &sums{of: stored}
	return t.sums[tenant], nil
}

// sums are the sums of a tenant in a transaction.
type sums struct {
	of      Sums
	changed bool
}

// addSums adds to the sums of a namespace and of those above it.
func (t *Tx) addSums(namespace string, memories, bytes int64) error {
	if memories == 0 && bytes == 0 {
		return nil
	}
	s, err := t.tenantSums(core.Tenant(namespace))
	if err != nil {
		return err
	}
	for top, c := range s.of {
		if below(namespace, top) {
			s.of[top] = Count{Memories: c.Memories + memories, Bytes: c.Bytes + bytes}
			s.changed = true
		}
	}
	return nil
}

// Sum returns what a namespace holds with everything below it, including the transaction's
// changes, and has it counted from now on. Everything below it must have the same tenant.
func (t *Tx) Sum(namespace string) (Count, error) {
	s, err := t.tenantSums(core.Tenant(namespace))
	if err != nil {
		return Count{}, err
	}
	if c, found := s.of[namespace]; found {
		return c, nil
	}
	sum, err := SumCounts(t, namespace, func(of string) bool { return t.counts[of] != nil })
	if err != nil {
		return sum, err
	}
	for of, c := range t.counts {
		if below(of, namespace) {
			sum.Memories, sum.Bytes = sum.Memories+c.Memories, sum.Bytes+c.Bytes
		}
	}
	s.of[namespace], s.changed = sum, true
	return sum, nil
}

// putSums writes the sums that changed.
func (t *Tx) putSums() error {
	for _, tenant := range slices.Sorted(maps.Keys(t.sums)) {
		if s := t.sums[tenant]; s.changed {
			if err := t.Put(SumKey(tenant), jsontext.MustEncode(s.of)); err != nil {
				return err
			}
		}
	}
	return nil
}
