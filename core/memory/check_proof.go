package memory

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
)

// proofs checks each record against the newest digest that the journal has of it. It
// holds the digests of one stream at a time.
func (c *checker) proofs() error {
	var records int64
	err := c.provingStreams(func(stream string) error {
		digests, err := c.digests(stream)
		if err != nil {
			return err
		}
		for _, key := range slices.Sorted(maps.Keys(digests)) {
			records++
			if err := c.proven(key, digests[key]); err != nil {
				return err
			}
		}
		return c.ctx.Err()
	})
	if err != nil {
		return err
	}
	return c.unproven(records)
}

// provingStreams calls fn for each stream that proves records.
func (c *checker) provingStreams(fn func(stream string) error) error {
	err := journal.Streams(c.r, func(s journal.StreamHead) (bool, error) {
		if !strings.HasPrefix(s.Stream, journal.NamespaceStream("")) && !strings.HasPrefix(s.Stream, journal.SessionStream("")) {
			return true, nil
		}
		return true, fn(s.Stream)
	})
	if journal.IsBroken(err) {
		return nil // reported by the journal's own check
	}
	return err
}

// digests are the newest ones that a stream has, by key. What was removed has none.
func (c *checker) digests(stream string) (map[string]string, error) {
	newest := map[string]string{}
	err := journal.Read(c.r, stream, func(e journal.Entry) error {
		written, _ := journal.As[journal.RecordsWritten](&e)
		for _, r := range written.Records {
			if newest[r.Key] = r.Digest; r.Digest == "" {
				delete(newest, r.Key)
			}
		}
		return c.ctx.Err()
	})
	if journal.IsBroken(err) {
		err = nil // reported by the journal's own check
	}
	return newest, err
}

// proven checks a record against its digest.
func (c *checker) proven(name, digest string) error {
	key := textKey(name)
	value, found, err := c.r.Get(key)
	switch {
	case err != nil:
		return err
	case !found:
		c.problem(string(key), "the record is gone, though no event removed it")
		return nil
	case !strings.HasPrefix(digest, keyedPrefix):
		if digest != core.Digest(value) {
			c.problem(string(key), "the record isn't what its newest event says")
		}
		return nil
	}
	m, err := read(c.r, strings.TrimPrefix(name, vectorPrefix))
	if isLost(err) {
		return nil // reported where vectors are checked
	}
	if err == nil && digest != keyed(m.Salt, string(value)) {
		c.problem(string(key), "the vector isn't what its newest event says")
	}
	return err
}

// unproven looks for records that no event proves. Only where there are more records
// than there should be are the keys of all of them kept.
func (c *checker) unproven(proven int64) error {
	var stored int64
	for _, prefix := range provenPrefixes() {
		n, err := c.count(prefix)
		if err != nil {
			return err
		}
		stored += n
	}
	if stored <= proven {
		return nil
	}
	known := map[string]bool{}
	err := c.provingStreams(func(stream string) error {
		digests, err := c.digests(stream)
		for key := range digests {
			known[key] = true
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, prefix := range provenPrefixes() {
		err := c.each(prefix, func(key string, _ []byte) error {
			if !known[keyText([]byte(key))] {
				c.problem(key, "no event says that the record was written")
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Proven implements [core.Prover]: a stream proves the records whose digests it has. An
// id is a memory's or a tombstone's, and a link needs the memory that it ends at.
func (m *Memories) Proven(ctx context.Context, r core.Reader, stream string) ([]core.Proven, error) {
	c := &checker{ctx: ctx, r: r}
	digests, err := c.digests(stream)
	if err != nil {
		return nil, err
	}
	list := make([]core.Proven, 0, len(digests))
	for _, name := range slices.Sorted(maps.Keys(digests)) {
		p := core.Proven{Key: textKey(name)}
		if id, is := strings.CutPrefix(name, memoryPrefix); is {
			p.Excludes = purgedKey(id)
		}
		if id, is := strings.CutPrefix(name, purgedPrefix); is {
			p.Excludes = memoryKey(id)
		}
		if strings.HasPrefix(name, linkPrefix) {
			_, _, to, _ := splitLink(name)
			to = strings.TrimPrefix(to, purgedMark)
			p.Needs = [][]byte{memoryKey(to), purgedKey(to)}
		}
		list = append(list, p)
	}
	return list, nil
}
