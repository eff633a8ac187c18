package check

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory/internal/bounds"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/core/memory/turn"
	"github.com/reflectory/reflectory/core/table"
)

// kinds are the kinds of records with keys that are derived from them.
var kinds = table.Part{&record.Memories, &record.Links, &record.Pendings, &record.Decisions, &record.Knowledge, &record.Dreams, &record.Trials, &record.IndexHeads, &record.IndexWords, &record.IndexDocs}

// Derived are the prefixes of the keys that are derived from records and links.
func Derived() []string { return append(kinds.Derived(), record.SumPrefix) }

// Rows are the rows of its kinds in the description of the format.
func Rows() []string { return kinds.Rows() }

// Rebuild writes everything that is [Derived] again, from the records and links. A sum of a tenant
// that is missing is made again when it is needed.
func Rebuild(ctx context.Context, s core.Store) error {
	if err := kinds.Rebuild(ctx, s); err != nil {
		return err
	}
	return core.UpdateEach(ctx, s, record.SumPrefix, func(tx core.Tx, key string) error { return tx.Delete([]byte(key)) })
}

// Run proves that records, indices, vectors,
// counts, links, approvals, decisions, knowledge and events agree.
func Run(ctx context.Context, r core.Reader, report func(core.Problem)) error {
	c := &checker{ctx: ctx, r: r, report: report}
	for _, pass := range []func() error{
		func() error { return record.Memories.Check(ctx, r, report, c.memory) },
		c.sums, c.vectors, c.tombstones,
		func() error { return record.Links.Check(ctx, r, report, c.link) },
		func() error { return record.Pendings.Check(ctx, r, report, nil) },
		c.purges,
		func() error { return record.Decisions.Check(ctx, r, report, c.decided) },
		c.promotions,
		func() error { return record.Knowledge.Check(ctx, r, report, c.knowledge) },
		c.knowledgeTombstones,
		func() error { return record.Dreams.Check(ctx, r, report, nil) },
		func() error { return record.Trials.Check(ctx, r, report, c.trial) },
		func() error { return record.IndexHeads.Check(ctx, r, report, nil) },
		func() error { return record.IndexWords.Check(ctx, r, report, nil) },
		func() error { return record.IndexDocs.Check(ctx, r, report, nil) },
		c.undos, c.proofs,
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
		Part: record.Part, Key: strings.Trim(strconv.Quote(key), `"`), Message: fmt.Sprintf(format, args...), Rebuildable: rebuildable,
	})
}

// has reports whether a key exists.
func (c *checker) has(key []byte) (bool, error) {
	_, found, err := c.r.Get(key)
	return found, err
}

// memory checks a record's bounds, what its life has left under other keys, and its events.
func (c *checker) memory(id string, m *core.Memory, _ []byte) error {
	key := record.MemoryPrefix + id
	c.bounds(key, m)
	if m.EmbeddingModel != "" {
		if found, err := c.has(record.VectorKey(m.ID)); err != nil {
			return err
		} else if !found {
			c.problem(key, "its vector is missing")
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
