package feed

import (
	"context"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/core/memory/knowledge"
	"github.com/reflectory/reflectory/core/memory/search"
)

// The indices learn from the journal which records changed, and read their present
// content from the store. A namespace's stream names each record that a transaction wrote
// there, because the journal proves records ([journal.RecordsWritten]). So the index of
// each process finds every change, whichever process and operation made it, and no
// operation has to know about indices. The one thing that a stream doesn't prove is the
// links that end at a memory: when a memory of another namespace supersedes one, an event
// in both streams says so.

// namespaces is what the sources of both indices share.
type namespaces struct {
	*record.Records
	at core.Reader // what is read; nil is a view for each call
}

// View runs fn on what the source reads.
func (n namespaces) View(ctx context.Context, fn func(core.Reader) error) error {
	if n.at != nil {
		return fn(n.at)
	}
	return n.Records.View(ctx, fn)
}

// Positions implements [search.Source].
func (n namespaces) Positions(ctx context.Context, namespace string, subtree bool) (list []search.Position, err error) {
	err = n.View(ctx, func(r core.Reader) error {
		add := func(h journal.StreamHead) (bool, error) {
			name := strings.TrimPrefix(h.Stream, journal.NamespaceStream(""))
			if name == core.EveryNamespace || h.Seq == 0 {
				return true, nil // settings only
			}
			g, err := n.Governance(r, name)
			if err == nil {
				list = append(list, search.Position{
					Namespace: name, Seq: h.Seq, Language: languageOf(g), MaxStaleness: g.MaxStaleness, MinP: g.MinP, PromptMinP: g.InjectionMinP, Cut: g.Cut,
				})
			}
			return true, core.JoinErrors(err, ctx.Err())
		}
		if namespace == "" {
			return journal.StreamsUnder(r, journal.NamespaceStream(""), add)
		}
		stream := journal.NamespaceStream(namespace)
		head, err := journal.ReadHead(r, stream)
		if err == nil {
			_, err = add(journal.StreamHead{Stream: stream, Head: head})
		}
		if err == nil && subtree {
			err = journal.StreamsUnder(r, stream+"/", add)
		}
		return err
	})
	return list, err
}

// languageOf is the language in which a namespace's words are read.
func languageOf(g *core.Governance) string {
	if g.Language == "" {
		return core.DefaultLanguage
	}
	return g.Language
}

// changes are the ids that a part of a namespace's stream says were changed. Each may
// have changed several times, and may be gone.
type changes struct {
	memories, vectors, knowledge map[string]bool
	// whole is whether anything may have changed, so that everything must be read.
	whole bool
}

// readChanges reads what changed in a namespace after a sequence number, and where the
// stream is now. For a stream that can't be read, everything may have changed: a search
// then reads all memories. The check of the journal reports what is wrong with the
// stream.
func readChanges(ctx context.Context, r core.Reader, namespace string, after uint64) (*changes, uint64, error) {
	c := &changes{memories: map[string]bool{}, vectors: map[string]bool{}, knowledge: map[string]bool{}}
	head, err := journal.Since(r, journal.NamespaceStream(namespace), after, func(e journal.Entry) error {
		c.noteEntry(&e)
		return ctx.Err()
	})
	if journal.IsGone(err) || journal.IsBroken(err) {
		c.whole, err = true, nil
	}
	return c, head.Seq, err
}

// noteEntry notes the changes that an entry reports.
func (c *changes) noteEntry(e *journal.Entry) {
	switch {
	case e.Is(journal.RecordsWritten{}):
		written, ok := journal.As[journal.RecordsWritten](e)
		c.whole = c.whole || !ok
		for i := range written.Records {
			c.record(written.Records[i].Key)
		}
	case e.Is(journal.MemoryLinked{}):
		linked, ok := journal.As[journal.MemoryLinked](e)
		c.whole = c.whole || !ok
		if linked.Relation == core.RelationSupersedes {
			c.memories[linked.To] = true
		}
	case e.Is(journal.NamespaceImported{}):
		c.whole = true // its stream may be of a store that didn't prove records
	}
}

// record notes that a record was written or removed.
func (c *changes) record(key string) {
	prefix, id, _ := strings.Cut(key, "/")
	switch prefix + "/" {
	case record.MemoryPrefix:
		c.memories[id] = true
	case record.VectorPrefix:
		c.vectors[id] = true
	case record.KnowledgePrefix:
		c.knowledge[id] = true
	}
}

// Changes implements [search.Source].
func (s memorySource) Changes(ctx context.Context, namespace string, after uint64, fn func(string, *search.Doc) error) (seq uint64, complete bool, err error) {
	err = s.View(ctx, func(r core.Reader) error {
		c, head, err := readChanges(ctx, r, namespace, after)
		if seq = head; err != nil || c.whole {
			return err
		}
		complete = true
		for id := range c.vectors {
			c.memories[id] = true
		}
		return s.readDocs(r, namespace, sorted(c.memories), fn)
	})
	return seq, complete, err
}

// Changes implements [search.Source].
func (s knowledgeSource) Changes(ctx context.Context, namespace string, after uint64, fn func(string, *search.Doc) error) (seq uint64, complete bool, err error) {
	err = s.View(ctx, func(r core.Reader) error {
		c, head, err := readChanges(ctx, r, namespace, after)
		if seq = head; err != nil || c.whole {
			return err
		}
		complete = true
		for id := range c.vectors { // an entry is found by the vector of the memory that was promoted to it
			p, err := knowledge.ReadPromotion(r, id)
			if record.IsDamage(err) || err == nil && p == nil {
				continue
			}
			if err != nil {
				return err
			}
			c.knowledge[p.KnowledgeID] = true
		}
		for _, id := range sorted(c.knowledge) {
			doc, err := findableKnowledge(r, namespace, id)
			if record.IsLost(err) {
				doc, err = nil, nil
			}
			if err == nil {
				err = fn(id, doc)
			}
			if err != nil {
				return err
			}
		}
		return ctx.Err()
	})
	return seq, complete, err
}

func sorted(ids map[string]bool) []string {
	list := make([]string, 0, len(ids))
	for id := range ids {
		list = append(list, id)
	}
	slices.Sort(list)
	return list
}
