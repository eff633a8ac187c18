package memory

import (
	"context"
	"encoding/json"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/sdk"
)

const (
	knowledgePrefix          = "knowledge/"
	knowledgeNamespacePrefix = "knowledge-namespace/"
)

func knowledgeKey(id string) []byte { return []byte(knowledgePrefix + id) }

// knowledgeStart is where the index of a namespace's knowledge begins, the newest
// first.
func knowledgeStart(namespace string) []byte {
	return append([]byte(knowledgeNamespacePrefix+namespace), 0)
}

func knowledgeIndexKey(k *core.Knowledge) []byte {
	return append(knowledgeStart(k.Namespace), place(k.CreatedAt, k.ID)...)
}

// createKnowledge writes a new entry with its index.
func createKnowledge(t *tx, k *core.Knowledge) error {
	if err := t.Put(knowledgeIndexKey(k), nil); err != nil {
		return err
	}
	return putKnowledge(t, k)
}

// putKnowledge writes an entry, with a salt since it has content.
func putKnowledge(t *tx, k *core.Knowledge) error {
	salt, err := t.newSalt()
	if err != nil {
		return err
	}
	return t.write(k.Namespace, knowledgeKey(k.ID), core.MustJSON(struct {
		*core.Knowledge
		Salt string `json:"salt"`
	}{k, salt}))
}

func readKnowledge(r core.Reader, id string) (*core.Knowledge, error) {
	if !validID(id) {
		return nil, knowledgeNotFound(id)
	}
	value, found, err := r.Get(knowledgeKey(id))
	if err != nil {
		return nil, err
	}
	if !found {
		gone, err := tombstoneAt(r, knowledgePurgedKey(id))
		if err == nil && gone != nil {
			err = sdk.Errorf(sdk.NotFound, "knowledge_purged", "knowledge %s was purged at %s, with the memory that it was", id, gone.At.UTC().Format(time.RFC3339)).
				WithHint("only its events are left").WithAction("audit show", "stream", "namespace/"+gone.Namespace).
				WithDetail("knowledge_id", id).WithDetail("namespace", gone.Namespace)
		}
		if err == nil {
			err = knowledgeNotFound(id)
		}
		return nil, err
	}
	var k core.Knowledge
	if err := json.Unmarshal(value, &k); err != nil {
		return nil, damaged(knowledgePrefix+id, err)
	}
	return &k, nil
}

// KnowledgeNotFound is the refusal of an id that no knowledge has: sdk.NotFound, reason
// "knowledge_not_found".
func KnowledgeNotFound(id string) error { return knowledgeNotFound(id) }

func knowledgeNotFound(id string) error {
	return sdk.Errorf(sdk.NotFound, "knowledge_not_found", "there is no knowledge %q", cut(id)).
		WithHint("list what there is").WithAction("knowledge list", "namespace", nil).WithDetail("knowledge_id", cut(id))
}

// Knowledge returns an entry. One that isn't there is sdk.NotFound, reason
// "knowledge_not_found", or "knowledge_purged" where it was removed.
func (m *Memories) Knowledge(ctx context.Context, id string) (k *core.Knowledge, err error) {
	err = m.options.Store.View(ctx, func(r core.Reader) error {
		k, err = readKnowledge(r, id)
		return err
	})
	return k, err
}

// FindKnowledge returns the entry whose id is, or alone starts with, prefix, of
// at least [MinPrefix] characters. A prefix that fits several is sdk.Conflict,
// reason "id_ambiguous", and names them.
func (m *Memories) FindKnowledge(ctx context.Context, prefix string) (*core.Knowledge, error) {
	return find(ctx, m, prefix, lookup[core.Knowledge]{
		knowledgePrefix, "knowledge_not_found", sdk.NewAction("knowledge list", "namespace", nil), readKnowledge,
	})
}

// MaxKnowledgePage is how many entries [Memories.ListKnowledge] returns at most.
const MaxKnowledgePage = 1000

// KnowledgeFilter selects entries of a namespace.
type KnowledgeFilter struct {
	Namespace string
	// Superseded takes those too that another took the place of.
	Superseded bool
	// Limit is how many are returned: 0 is 100, and at most [MaxKnowledgePage].
	Limit int
	// After is where the page before ended; "" begins with the newest.
	After string
}

// ListKnowledge returns entries, the newest first, and where the next page
// begins: "" where there is none.
func (m *Memories) ListKnowledge(ctx context.Context, f KnowledgeFilter) (list []*core.Knowledge, next string, err error) {
	if err := f.check(); err != nil {
		return nil, "", err
	}
	err = m.options.Store.View(ctx, func(r core.Reader) error {
		list, next, err = listKnowledge(r, &f)
		return err
	})
	return list, next, err
}

func (f *KnowledgeFilter) check() error {
	var p problems
	p.check(core.CheckNamespace(f.Namespace))
	if f.Limit < 0 || f.Limit > MaxKnowledgePage {
		p.add("limit", "is %d, not from 0 to %d", f.Limit, MaxKnowledgePage)
	}
	if f.After != "" {
		p.id("after", f.After)
	}
	if f.Limit == 0 {
		f.Limit = 100
	}
	return p.err()
}

func listKnowledge(r core.Reader, f *KnowledgeFilter) (list []*core.Knowledge, next string, err error) {
	start := knowledgeStart(f.Namespace)
	from := start
	if f.After != "" {
		last, err := readKnowledge(r, f.After)
		if err != nil {
			return nil, "", err
		}
		from = append(knowledgeIndexKey(last), 0) // the first key after it
	}
	err = r.Scan(from, core.PrefixEnd(start), func(key, _ []byte) (bool, error) {
		k, err := readKnowledge(r, placeID(key[len(start):]))
		if err != nil || k.SupersededBy != "" && !f.Superseded {
			return err == nil, err
		}
		if len(list) == f.Limit {
			next = list[len(list)-1].ID
			return false, nil
		}
		list = append(list, k)
		return true, nil
	})
	return list, next, err
}

// Supersede lets an entry take the place of another of its namespace, which
// stays as it is but for the pointer. It is sdk.Conflict, reason "superseded",
// where another took its place before, or where the newer one was superseded
// itself; the same again changes nothing.
func (m *Memories) Supersede(ctx context.Context, id, by string) error {
	var p problems
	if id == by {
		p.add("by", "is %s itself", cut(id))
	}
	if err := p.err(); err != nil {
		return err
	}
	err := m.update(ctx, func(t *tx) error { return supersede(t, id, by) })
	return sdk.Wrap("supersede knowledge "+cut(id), err)
}

func supersede(t *tx, id, by string) error {
	old, err := readKnowledge(t, id)
	if err != nil || old.SupersededBy == by {
		return err
	}
	newer, err := readKnowledge(t, by)
	if err != nil {
		return err
	}
	for _, k := range []*core.Knowledge{old, newer} {
		if k.SupersededBy != "" {
			return sdk.Errorf(sdk.Conflict, "superseded", "knowledge %s was superseded by %s", k.ID, k.SupersededBy).
				WithHint("use what superseded it").WithDetail("knowledge_id", k.ID).WithDetail("superseded_by", k.SupersededBy)
		}
	}
	if old.Namespace != newer.Namespace {
		return sdk.Errorf(sdk.Invalid, "namespace_differs", "knowledge %s is of namespace %s, and %s of %s", id, old.Namespace, by, newer.Namespace).
			WithHint("an entry takes the place of one of its own namespace")
	}
	old.SupersededBy = by
	if err := putKnowledge(t, old); err != nil {
		return err
	}
	return t.record(old.Namespace, journal.KnowledgeSuperseded{KnowledgeID: id, By: by, AgentID: t.Caller().Label})
}
