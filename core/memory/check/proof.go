package check

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory/internal/bounds"
	"github.com/reflectory/reflectory/core/memory/internal/record"
)

// proofs compares each record with its newest digest in the journal. It holds the digests
// of one stream at a time.
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

// digests returns the newest digest of each key in a stream. A removed record has none.
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
	key := record.TextKey(name)
	value, found, err := c.r.Get(key)
	switch {
	case err != nil:
		return err
	case !found:
		c.problem(string(key), "the record is gone, though no event removed it")
		return nil
	case !strings.HasPrefix(digest, record.KeyedPrefix):
		if digest != core.Digest(value) {
			c.problem(string(key), "the record isn't what its newest event says")
		}
		return nil
	}
	m, err := record.Read(c.r, strings.TrimPrefix(name, record.VectorPrefix))
	if record.IsLost(err) {
		return nil // reported where vectors are checked
	}
	if err == nil && digest != record.Keyed(m.Salt, string(value)) {
		c.problem(string(key), "the vector isn't what its newest event says")
	}
	return err
}

// unproven looks for records that no event proves. It collects their keys only if there
// are more records than events prove.
func (c *checker) unproven(proven int64) error {
	var stored int64
	for _, prefix := range record.ProvenPrefixes() {
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
	for _, prefix := range record.ProvenPrefixes() {
		err := c.each(prefix, func(key string, _ []byte) error {
			if !known[record.KeyText([]byte(key))] {
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

// Proven returns the records that a stream proves: those whose digests it has. Their ids
// belong to memories or tombstones; a link also names the memory that it ends at.
func Proven(ctx context.Context, r core.Reader, stream string) ([]core.Proven, error) {
	c := &checker{ctx: ctx, r: r}
	digests, err := c.digests(stream)
	if err != nil {
		return nil, err
	}
	list := make([]core.Proven, 0, len(digests))
	for _, name := range slices.Sorted(maps.Keys(digests)) {
		p := core.Proven{Key: record.TextKey(name)}
		if id, is := strings.CutPrefix(name, record.MemoryPrefix); is {
			p.Excludes = record.PurgedKey(id)
		}
		if id, is := strings.CutPrefix(name, record.PurgedPrefix); is {
			p.Excludes = record.MemoryKey(id)
		}
		if strings.HasPrefix(name, record.LinkPrefix) {
			_, _, to, _ := record.SplitLink(name)
			to = strings.TrimPrefix(to, bounds.PurgedMark)
			p.Needs = [][]byte{record.MemoryKey(to), record.PurgedKey(to)}
		}
		list = append(list, p)
	}
	return list, nil
}
