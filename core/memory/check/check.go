package check

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory/internal/bounds"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/core/memory/turn"
	"github.com/reflectory/reflectory/sdk"
)

// Derived are the prefixes of the keys that are derived from records and links.
func Derived() []string {
	prefixes := append(secondary(), record.CountPrefix, record.SumPrefix)
	for _, index := range others() {
		prefixes = append(prefixes, index.prefix)
	}
	return prefixes
}

// secondary are the prefixes of a memory's indices.
func secondary() []string {
	return []string{record.AgentPrefix, record.KindPrefix, record.StatePrefix, record.TagPrefix, record.TimePrefix, record.TitlePrefix}
}

// index is an index that is derived from records. stray reports whether an entry of it
// belongs to no record.
type index struct {
	prefix string
	stray  func(r core.Reader, key string) (bool, error)
}

// others are the indices of records other than memories.
func others() []index {
	return []index{
		{record.LinkToPrefix, strayEnd}, {record.PendingNamespacePrefix, strayPending}, {record.PendingSourcePrefix, strayPending},
		{record.DecisionMemoryPrefix, strayDecision}, {record.KnowledgeNamespacePrefix, strayKnowledge},
		{record.DreamNamespacePrefix, strayDream},
	}
}

// Run proves that records, indices, vectors,
// counts, links, approvals, decisions, knowledge and events agree.
func Run(ctx context.Context, r core.Reader, report func(core.Problem)) error {
	c := &checker{ctx: ctx, r: r, report: report}
	for _, pass := range []func() error{
		c.memories, c.strayIndices, c.counts, c.sums, c.vectors, c.tombstones, c.links, c.pendings,
		c.purges, c.decisions, c.promotions, c.knowledge, c.knowledgeTombstones, c.dreams, c.strayOthers, c.proofs,
	} {
		if err := pass(); err != nil {
			return err
		}
	}
	return nil
}

// checker is a check in progress.
type checker struct {
	ctx    context.Context
	r      core.Reader
	report func(core.Problem)

	// indexed counts the index entries that the records should have.
	indexed int64
}

// each calls fn for each pair of a prefix, until ctx ends.
func (c *checker) each(prefix string, fn func(key string, value []byte) error) error {
	start := []byte(prefix)
	return core.ScanPrefix(c.r, start, func(key, value []byte) (bool, error) {
		if err := c.ctx.Err(); err != nil {
			return false, err
		}
		return true, fn(string(key), value)
	})
}

func (c *checker) problem(key, format string, args ...any) {
	c.add(key, false, format, args...)
}

// derived reports a problem that a rebuild fixes.
func (c *checker) derived(key, format string, args ...any) {
	c.add(key, true, format, args...)
}

func (c *checker) add(key string, rebuildable bool, format string, args ...any) {
	c.report(core.Problem{
		Part: "memories", Key: strings.Trim(strconv.Quote(key), `"`), Message: fmt.Sprintf(format, args...), Rebuildable: rebuildable,
	})
}

// has reports whether a key exists.
func (c *checker) has(key []byte) (bool, error) {
	_, found, err := c.r.Get(key)
	return found, err
}

// memories checks each record, its index entries and its events.
func (c *checker) memories() error {
	return c.each(record.MemoryPrefix, func(key string, value []byte) error {
		m, err := record.Decode(key[len(record.MemoryPrefix):], value)
		if err != nil {
			c.problem(key, "%s", sdk.AsError(err).Message)
			return nil
		}
		c.bounds(key, m)
		if m.EmbeddingModel != "" {
			if found, err := c.has(record.VectorKey(m.ID)); err != nil {
				return err
			} else if !found {
				c.problem(key, "its vector is missing")
			}
		}
		for i, index := range record.IndexKeys(m) {
			c.indexed++
			value, found, err := c.r.Get(index)
			if err != nil {
				return err
			}
			if !found || i == 0 && string(value) != string(record.SizeValue(m)) {
				c.derived(string(index), "the index misses memory %s, or its size", m.ID)
			}
		}
		if err := c.elsewhere(key, m); err != nil {
			return err
		}
		life, err := c.replayed(key, m)
		if err != nil {
			return err
		}
		return c.origin(key, m, life)
	})
}

// origin checks a memory against the event that created it.
func (c *checker) origin(key string, m *core.Memory, life *turn.Replay) error {
	first, err := core.Suffixes(c.r, []byte(record.HistoryPrefix+m.ID+"/"), 1)
	if err != nil {
		return err
	}
	if len(first) == 0 || len(first[0]) != 8 {
		c.problem(key, "it has no event")
		return nil
	}
	seq := binary.BigEndian.Uint64([]byte(first[0]))
	e, found, err := journal.Get(c.r, journal.NamespaceStream(m.Namespace), seq)
	if journal.IsBroken(err) || err == nil && !found {
		c.problem(string(record.HistoryKey(m.ID, seq)), "the event that created it is gone or damaged")
		return nil
	}
	if err != nil {
		return err
	}
	return c.making(key, m, e, life)
}

// making checks a memory against the event that created it: its agent, kind and content as
// they were rewritten since, and for a reflection its depth and sources.
func (c *checker) making(key string, m *core.Memory, e journal.Entry, life *turn.Replay) error {
	// MemoryReflected has all that MemoryObserved has.
	var made journal.MemoryReflected
	if err := json.Unmarshal(e.Data, &made); err != nil {
		c.problem(key, "the event that created it can't be decoded")
		return nil
	}
	title, content, torn := made.Title, made.Content, life.Torn
	if first, last := life.Rewritten[0], life.Rewritten[1]; last != nil {
		torn = torn || life.FromStart && (first.TitleBefore != title || first.ContentBefore != content)
		title, content = last.Title, last.Content
	}
	if torn {
		c.problem(key, "a rewriting of its texts doesn't begin with what was there")
	}
	switch {
	case !e.Is(journal.MemoryObserved{}) && !e.Is(journal.MemoryReflected{}) || made.MemoryID != m.ID:
		c.problem(key, "its first event isn't its creation")
	case title != record.Keyed(m.Salt, m.Title) || content != record.Keyed(m.Salt, m.Content):
		c.problem(key, "its title or content isn't what its event says")
	case made.Depth != m.ReflectionDepth:
		c.problem(key, "its depth is %d, but its event says %d", m.ReflectionDepth, made.Depth)
	}
	for _, source := range made.SourceIDs {
		link, err := c.has(record.LinkKey(m.ID, core.RelationReflectsOn, source))
		if err != nil {
			return err
		}
		gone, err := c.has(record.LinkKey(m.ID, core.RelationReflectsOn, bounds.PurgedMark+source))
		if err != nil {
			return err
		}
		if !link && !gone {
			c.problem(string(record.LinkKey(m.ID, core.RelationReflectsOn, source)), "the link to its source is missing")
		}
	}
	return nil
}

// strayIndices looks for index entries that belong to no memory. It reads the memory of
// each entry only if there are more entries than there should be.
func (c *checker) strayIndices() error {
	found := int64(0)
	for _, prefix := range secondary() {
		if err := c.each(prefix, func(string, []byte) error { found++; return nil }); err != nil {
			return err
		}
	}
	if found == c.indexed {
		return nil
	}
	for _, prefix := range secondary() {
		if err := c.strays(index{prefix, strayIndex}); err != nil {
			return err
		}
	}
	return nil
}

// strayOthers looks for entries of the other indices that belong to no record.
func (c *checker) strayOthers() error {
	for _, index := range others() {
		if err := c.strays(index); err != nil {
			return err
		}
	}
	return nil
}

// strays looks for entries of an index that belong to no record.
func (c *checker) strays(in index) error {
	return c.each(in.prefix, func(key string, _ []byte) error {
		stray, err := in.stray(c.r, key)
		if stray {
			c.derived(key, "the index names a record that is missing or has changed")
		}
		return err
	})
}

// strayIndex reports whether an index entry belongs to no memory. A memory that can't be
// decoded has no entries.
func strayIndex(r core.Reader, key string) (bool, error) {
	id := record.IndexedID(key)
	if !bounds.ValidID(id) {
		return true, nil
	}
	m, err := record.Read(r, id)
	return strayOf(m, err, record.IndexKeys, key)
}

// strayOf reports whether a key isn't one of the index keys of a record, given the record
// as it was read.
func strayOf[R any](rec R, err error, keys func(R) [][]byte, key string) (bool, error) {
	switch {
	case record.IsLost(err):
		return true, nil
	case err != nil:
		return false, err
	}
	return !slices.ContainsFunc(keys(rec), func(k []byte) bool { return string(k) == key }), nil
}
