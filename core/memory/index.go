package memory

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/search"
)

// written is a memory that a transaction wrote or removed, for the index. Of two of
// the same memory the one of the higher version is the newer.
type written struct {
	id, namespace string
	version       int64
	// memory is as it is now, and mustn't be changed; nil where it was removed.
	memory *core.Memory
	// vector is the memory's; without one it keeps the one that it has.
	vector []float32
	// supersededBy are the memories that supersede it, as far as the index may not
	// know of them.
	supersededBy []string
}

// change is what the index takes.
func (w *written) change() search.Change {
	change := search.Change{Namespace: w.namespace, ID: w.id, Version: w.version}
	if w.memory != nil && w.memory.State.Recallable() {
		doc := memoryDoc(w.memory, w.vector)
		doc.SupersededBy = w.supersededBy
		change.Doc = &doc
	}
	return change
}

// memoryDoc is what a memory is found by.
func memoryDoc(m *core.Memory, vector []float32) search.Doc {
	return search.Doc{
		ID: m.ID, AgentID: m.AgentID, Kind: m.Kind, State: m.State, Tags: m.Tags, Depth: m.ReflectionDepth,
		Q: m.Signals.Q, Uses: m.Signals.Uses(), Failures: m.Signals.Failures, Content: m.Content,
		Version: m.Version, Text: EmbeddedText(m), Model: m.EmbeddingModel, Vector: vector,
	}
}

// languages are what an index asks of a namespace's settings.
type languages struct{ memories *Memories }

// Languages implements [search.Source].
func (l languages) Languages(ctx context.Context, namespaces []string) ([]string, error) {
	list := make([]string, len(namespaces))
	err := l.memories.options.Store.View(ctx, func(r core.Reader) error {
		for i, namespace := range namespaces {
			g, err := l.memories.governance(r, namespace)
			if err != nil {
				return err
			}
			list[i] = cmp.Or(g.Language, core.DefaultLanguage)
		}
		return nil
	})
	return list, err
}

// memorySource reads memories for their index.
type memorySource struct {
	languages
	store core.Store
}

// Namespaces implements [search.Source].
func (s memorySource) Namespaces(ctx context.Context) (names []string, err error) {
	err = s.store.View(ctx, func(r core.Reader) error {
		from := []byte(countPrefix)
		return core.ScanPrefix(r, from, func(key, _ []byte) (bool, error) {
			names = append(names, string(key[len(countPrefix):]))
			return true, ctx.Err()
		})
	})
	return names, err
}

// Load implements [search.Source].
func (s memorySource) Load(ctx context.Context, namespace string, fn func(*search.Doc) error) error {
	return s.store.View(ctx, func(r core.Reader) error {
		ids, err := recallable(ctx, r, namespace)
		if err != nil {
			return err
		}
		var l lot
		for part := range slices.Chunk(ids, lotSize) {
			if err := l.load(r, part, fn); err != nil {
				return err
			}
		}
		return nil
	})
}

// recallable returns the ids of a namespace's memories that can be found, in order.
func recallable(ctx context.Context, r core.Reader, namespace string) (ids []string, err error) {
	for _, state := range core.MemoryStates() {
		if !state.Recallable() {
			continue
		}
		start := indexStart(statePrefix, namespace, string(state))
		err := core.ScanPrefix(r, start, func(key, _ []byte) (bool, error) {
			ids = append(ids, placeID(key[len(start):]))
			return true, ctx.Err()
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// An entry of knowledge changes when another takes its place, and goes when the memory
// that it was is erased.
const (
	knowledgeCreated    = 1
	knowledgeSuperseded = 2
	knowledgePurged     = 3
)

// knowledgeDoc is what an entry is found by. Its vector is the one of the memory
// that became it, whose title and content it has.
func knowledgeDoc(r core.Reader, k *core.Knowledge) (*search.Doc, error) {
	model, vector, err := readVector(r, k.PromotedFrom)
	if err != nil {
		return nil, err
	}
	m := &core.Memory{Title: k.Title, Content: k.Content}
	doc := &search.Doc{ID: k.ID, Version: knowledgeCreated, Text: EmbeddedText(m), Model: model, Vector: vector}
	if k.Summary != patternOf(m) {
		doc.Text += "\n" + k.Summary
	}
	return doc, nil
}

// knowledgeSource reads knowledge for its index.
type knowledgeSource struct {
	languages
	store core.Store
}

// Namespaces implements [search.Source].
func (s knowledgeSource) Namespaces(ctx context.Context) (names []string, err error) {
	err = s.store.View(ctx, func(r core.Reader) error {
		from, end := []byte(knowledgeNamespacePrefix), core.PrefixEnd([]byte(knowledgeNamespacePrefix))
		for {
			name, found, err := firstNamespace(r, from, end)
			if err != nil || !found {
				return err
			}
			names = append(names, name)
			from = core.PrefixEnd(knowledgeStart(name))
		}
	})
	return names, err
}

// firstNamespace is the namespace of the first key of the knowledge index in a range.
func firstNamespace(r core.Reader, from, end []byte) (name string, found bool, err error) {
	err = r.Scan(from, end, func(key, _ []byte) (bool, error) {
		rest := string(key[len(knowledgeNamespacePrefix):])
		name, _, found = strings.Cut(rest, "\x00")
		return false, nil
	})
	return name, found, err
}

// Load implements [search.Source].
func (s knowledgeSource) Load(ctx context.Context, namespace string, fn func(*search.Doc) error) error {
	return s.store.View(ctx, func(r core.Reader) error {
		start := knowledgeStart(namespace)
		return core.ScanPrefix(r, start, func(key, _ []byte) (bool, error) {
			k, err := readKnowledge(r, placeID(key[len(start):]))
			if err != nil || k.SupersededBy != "" {
				return err == nil, err
			}
			doc, err := knowledgeDoc(r, k)
			if isDamage(err) {
				return true, fn(nil)
			}
			if err != nil {
				return false, err
			}
			return true, fn(doc)
		})
	})
}

// Warm loads the indices in the background, as far as their memory lets, so that
// no recall has to wait for it: of the given namespaces, or of all where none
// is given. It is for a host that stays, and for a run that will recall; what
// recalls once needs its namespace at once. It returns at once, and only the first
// call does something; [Memories.Close] ends it.
func (m *Memories) Warm(namespaces ...string) {
	m.index.Warm(namespaces...)
	m.knowledge.Warm(namespaces...)
}

// Warmth says how much of the store the indices of memories and of knowledge hold.
func (m *Memories) Warmth() (memories, knowledge search.Progress) {
	return m.index.Progress(), m.knowledge.Progress()
}

// Close ends what [Memories.Warm] began and waits for it. It leaves the store
// open, and may be called again.
func (m *Memories) Close() {
	m.index.Close()
	m.knowledge.Close()
}
