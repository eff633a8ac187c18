package feed

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/codec"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/core/memory/knowledge"
	"github.com/reflectory/reflectory/core/memory/search"
)

// memoryDoc is the searchable form of a memory.
func memoryDoc(m *core.Memory, vector []float32) search.Doc {
	d := search.Doc{
		ID: m.ID, AgentID: m.AgentID, Kind: m.Kind, State: m.State, Tags: m.Tags, Depth: m.ReflectionDepth,
		Q: m.Signals.Q, Uses: m.Signals.Uses(), Window: m.Signals.Window, Content: m.Content,
		Text: m.Content, At: m.CreatedAt, Source: sourceOf(m.Metadata), Model: m.EmbeddingModel, Vector: vector,
	}
	if !strings.HasPrefix(m.Content, m.Title) {
		d.Title = m.Title
	}
	if m.OccurredAt != nil {
		d.At = *m.OccurredAt
	}
	return d
}

// sourceOf is the conversation, or else the source, that a memory's metadata name: "session",
// "session_id" or "source"; "" if they name none.
func sourceOf(metadata json.RawMessage) string {
	if !bytes.Contains(metadata, []byte(`"session`)) && !bytes.Contains(metadata, []byte(`"source"`)) {
		return ""
	}
	var named map[string]any
	if codec.Decode(metadata, &named) != nil {
		return ""
	}
	for _, name := range []string{"session", "session_id", "source"} {
		if s, ok := named[name].(string); ok && s != "" {
			return name[:2] + s
		}
	}
	return ""
}

// memorySource reads memories for their index.
type memorySource struct {
	namespaces
	// holds reports whether the index holds vectors of a model: others aren't read.
	holds func(model string) bool
	// has reports whether the index has memories in a state.
	has func(core.MemoryState) bool
}

// MemorySource is where the index of memories comes from, and where it is kept.
type MemorySource interface {
	search.Source
	search.Keeper
	// At is the source as a reader sees it.
	At(core.Reader) search.Source
}

// At implements [MemorySource].
func (s memorySource) At(r core.Reader) search.Source {
	s.at = r
	return s
}

// Memories reads memories for their index, with the vectors of the models that it holds.
func Memories(s *record.Records, holds func(model string) bool) MemorySource {
	return memorySource{namespaces{Records: s}, holds, core.MemoryState.Recallable}
}

// Archived reads archived memories for their index.
func Archived(s *record.Records, holds func(model string) bool) search.Source {
	return memorySource{namespaces{Records: s}, holds, func(state core.MemoryState) bool { return state == core.StateArchived }}
}

// Load implements [search.Source].
func (s memorySource) Load(ctx context.Context, namespace string, fn func(*search.Doc) error) (seq uint64, err error) {
	err = s.View(ctx, func(r core.Reader) error {
		head, err := journal.ReadHead(r, journal.NamespaceStream(namespace))
		if err != nil {
			return err
		}
		seq = head.Seq
		ids, err := s.ids(ctx, r, namespace)
		if err != nil {
			return err
		}
		return s.readDocs(r, namespace, ids, func(_ string, d *search.Doc) error { return fn(d) })
	})
	return seq, err
}

// ids returns the ids of a namespace's memories that the index has, in order.
func (s memorySource) ids(ctx context.Context, r core.Reader, namespace string) (ids []string, err error) {
	for _, state := range core.MemoryStates() {
		if !s.has(state) {
			continue
		}
		start := record.IndexStart(record.StatePrefix, namespace, string(state))
		err := core.ScanPrefix(r, start, func(key, _ []byte) (bool, error) {
			ids = append(ids, record.PlaceID(key[len(start):]))
			return true, ctx.Err()
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// knowledgeDoc is the searchable form of an entry. It has the vector, title and content
// of the memory that was promoted to it.
func knowledgeDoc(r core.Reader, k *core.Knowledge) (*search.Doc, error) {
	model, vector, err := record.ReadVector(r, k.PromotedFrom)
	if err != nil {
		return nil, err
	}
	m := &core.Memory{Title: k.Title, Content: k.Content}
	doc := &search.Doc{ID: k.ID, Title: k.Title, Text: k.Content, At: k.CreatedAt, Model: model, Vector: vector}
	if strings.HasPrefix(k.Content, k.Title) {
		doc.Title = ""
	}
	if k.Summary != knowledge.Pattern(m) {
		doc.Text += "\n" + k.Summary
	}
	return doc, nil
}

// findableKnowledge is the searchable form of an entry; nil if it doesn't hold any more, or
// belongs to another namespace.
func findableKnowledge(r core.Reader, namespace, id string) (*search.Doc, error) {
	k, err := knowledge.Read(r, id)
	if err != nil || !k.Holds() || k.Namespace != namespace {
		return nil, err
	}
	return knowledgeDoc(r, k)
}

// knowledgeSource reads knowledge for its index.
type knowledgeSource struct{ namespaces }

// Knowledge reads knowledge for its index.
func Knowledge(s *record.Records) search.Source { return knowledgeSource{namespaces{Records: s}} }

// Load implements [search.Source].
func (s knowledgeSource) Load(ctx context.Context, namespace string, fn func(*search.Doc) error) (seq uint64, err error) {
	err = s.View(ctx, func(r core.Reader) error {
		head, err := journal.ReadHead(r, journal.NamespaceStream(namespace))
		if err != nil {
			return err
		}
		seq = head.Seq
		start := record.KnowledgeStart(namespace)
		return core.ScanPrefix(r, start, func(key, _ []byte) (bool, error) {
			k, err := knowledge.Read(r, record.PlaceID(key[len(start):]))
			if err != nil || !k.Holds() {
				return err == nil, err
			}
			doc, err := knowledgeDoc(r, k)
			if record.IsDamage(err) {
				return true, fn(nil)
			}
			if err != nil {
				return false, err
			}
			return true, fn(doc)
		})
	})
	return seq, err
}
