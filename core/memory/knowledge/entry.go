package knowledge

import (
	"context"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/memory/internal/bounds"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/sdk"
)

// Create writes a new entry with its index.
func Create(t *record.Tx, k *core.Knowledge) error {
	if err := record.Knowledge.Index(t, k.ID, nil, k); err != nil {
		return err
	}
	return Put(t, k)
}

// Put writes an entry that has its index, with a salt since it has content.
func Put(t *record.Tx, k *core.Knowledge) error {
	salt, err := t.NewSalt()
	if err != nil {
		return err
	}
	return t.Write(k.Namespace, record.KnowledgeKey(k.ID), jsontext.MustEncode(struct {
		*core.Knowledge
		Salt string `json:"salt"`
	}{k, salt}))
}

// Read returns an entry. If there is none, the error is sdk.NotFound, reason
// "knowledge_not_found", or "knowledge_purged" if it was purged.
func Read(r core.Reader, id string) (*core.Knowledge, error) {
	if !bounds.ValidID(id) {
		return nil, NotFound(id)
	}
	k, err := record.Knowledge.Get(r, id)
	if err == nil && k == nil {
		var gone *record.Tombstone
		gone, err = record.TombstoneAt(r, record.KnowledgePurgedKey(id))
		if err == nil && gone != nil {
			err = sdk.Errorf(sdk.NotFound, "knowledge_purged", "knowledge %s was purged at %s, with the memory that it came from", id, gone.At.UTC().Format(time.RFC3339)).
				WithHint("only its events are left").WithAction("audit show", "stream", "namespace/"+gone.Namespace).
				WithDetail("knowledge_id", id).WithDetail("namespace", gone.Namespace)
		}
		if err == nil {
			err = NotFound(id)
		}
	}
	return k, err
}

// NotFound is the error for an id that no entry has: sdk.NotFound, reason
// "knowledge_not_found".
func NotFound(id string) error {
	return sdk.Errorf(sdk.NotFound, "knowledge_not_found", "there is no knowledge %q", bounds.Shorten(id)).
		WithHint("list the knowledge that exists").WithAction("knowledge list", "namespace", nil).WithDetail("knowledge_id", bounds.Shorten(id))
}

// MaxPage is how many entries [List] returns at most.
const MaxPage = 1000

// Filter selects entries of a namespace.
type Filter struct {
	Namespace string
	// Superseded includes the entries that another entry replaced, or that were demoted.
	Superseded bool
	// Since leaves out entries that were promoted before; the zero time selects all.
	Since time.Time
	// Limit is how many are returned: 0 is 100, and at most [MaxPage].
	Limit int
	// After is where the previous page ended; "" begins with the newest.
	After string
}

// List returns entries, the newest first, and where the next page begins; "" if there is
// none.
func List(ctx context.Context, s *record.Records, f Filter) (list []*core.Knowledge, next string, err error) {
	if err := f.check(); err != nil {
		return nil, "", err
	}
	err = s.View(ctx, func(r core.Reader) error {
		list, next, err = listKnowledge(r, &f)
		return err
	})
	return list, next, err
}

func (f *Filter) check() error {
	var p bounds.Problems
	p.Check(core.CheckNamespace(f.Namespace))
	if f.Limit < 0 || f.Limit > MaxPage {
		p.Add("limit", "is %d, not from 0 to %d", f.Limit, MaxPage)
	}
	if f.After != "" {
		p.ID("after", f.After)
	}
	if f.Limit == 0 {
		f.Limit = 100
	}
	return p.Err()
}

func listKnowledge(r core.Reader, f *Filter) (list []*core.Knowledge, next string, err error) {
	start := record.KnowledgeStart(f.Namespace)
	from := start
	if f.After != "" {
		last, err := Read(r, f.After)
		// A page ends with an entry of its namespace. Nothing is revealed about other
		// namespaces.
		if sdk.CodeOf(err) == sdk.NotFound || err == nil && last.Namespace != f.Namespace {
			err = NotFound(f.After)
		}
		if err != nil {
			return nil, "", err
		}
		from = append(record.KnowledgeIndexKey(last), 0) // the first key after it
	}
	err = r.Scan(from, core.PrefixEnd(start), func(key, _ []byte) (bool, error) {
		k, err := Read(r, record.PlaceID(key[len(start):]))
		if err == nil && k.CreatedAt.Before(f.Since) {
			return false, nil // the newest come first
		}
		if err != nil || !k.Holds() && !f.Superseded {
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

// Supersede marks an entry as replaced by another of its namespace. Only the pointer of
// the old entry changes. The error is sdk.Conflict, reason "superseded", if the entry has
// already been replaced by a third one, or if the newer one has been replaced itself.
// Repeating the same call changes nothing.
func Supersede(ctx context.Context, s *record.Records, id, by string) error {
	var p bounds.Problems
	if id == by {
		p.Add("by", "is the entry %s itself", bounds.Shorten(id))
	}
	if err := p.Err(); err != nil {
		return err
	}
	err := s.Update(ctx, func(t *record.Tx) error { return supersede(t, id, by) })
	return sdk.Wrap("supersede knowledge "+bounds.Shorten(id), err)
}

func supersede(t *record.Tx, id, by string) error {
	old, err := Read(t, id)
	if err != nil || old.SupersededBy == by {
		return err
	}
	newer, err := Read(t, by)
	if err != nil {
		return err
	}
	for _, k := range []*core.Knowledge{old, newer} {
		if k.SupersededBy != "" {
			return sdk.Errorf(sdk.Conflict, "superseded", "knowledge %s was superseded by %s", k.ID, k.SupersededBy).
				WithHint("use the entry that superseded it").WithDetail("knowledge_id", k.ID).WithDetail("superseded_by", k.SupersededBy)
		}
	}
	if old.Namespace != newer.Namespace {
		return sdk.Errorf(sdk.Invalid, "namespace_differs", "knowledge %s is in namespace %s, and %s is in %s", id, old.Namespace, by, newer.Namespace).
			WithHint("an entry can only supersede an entry of its own namespace")
	}
	old.SupersededBy = by
	if err := Put(t, old); err != nil {
		return err
	}
	return t.Record(old.Namespace, journal.KnowledgeSuperseded{KnowledgeID: id, By: by, AgentID: t.Caller().Label})
}
