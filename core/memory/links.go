package memory

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory/internal/bounds"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/core/work"
	"github.com/reflectory/reflectory/sdk"
)

const (
	// maxLinksShown is how many links of either direction [Memories.Links] returns.
	maxLinksShown = 1000
	// maxAncestors is how many memories are searched to keep reflects_on and supersedes
	// acyclic.
	maxAncestors = 10_000
)

// LinkRequest asks for a link between two memories.
type LinkRequest struct {
	From     string `json:"from"`
	Relation string `json:"relation"`
	To       string `json:"to"`
	// Metadata is a JSON object.
	Metadata json.RawMessage `json:"metadata,omitempty"`
}

// Link creates a link. If it already exists with the same metadata, the existing link is
// returned. A link from a memory to itself is refused ("link_self"), and so is a
// reflects_on or supersedes link that would close a cycle ("link_cycle"). A link doesn't
// change a memory's depth, which its sources determine when it is created.
func (m *Memories) Link(ctx context.Context, r *LinkRequest) (link *core.Link, err error) {
	defer m.follow(&ctx, work.Work{Kind: work.Update, Name: "link"}, &err)()
	if err := r.Check(); err != nil {
		return nil, err
	}
	metadata := new(bounds.Problems).Metadata(r.Metadata)
	err = m.records.Update(ctx, func(t *record.Tx) error {
		link = &core.Link{From: r.From, Relation: r.Relation, To: r.To, CreatedAt: t.Now().Round(0), Metadata: metadata}
		return m.link(t, link)
	})
	return link, err
}

// Check reports everything that is wrong with a request by itself.
func (r *LinkRequest) Check() error {
	var p bounds.Problems
	p.ID("from", r.From)
	p.ID("to", r.To)
	if !bounds.ValidRelation(r.Relation) {
		p.Add("relation", "%q isn't 1 to %d of a-z 0-9 _", bounds.Shorten(r.Relation), bounds.MaxRelationBytes)
	}
	if r.From == r.To && r.From != "" {
		p.Check(sdk.Errorf(sdk.Invalid, "link_self", "memory %s can't be linked to itself", bounds.Shorten(r.From)).WithHint("name another memory").WithDetail("field", "to"))
	}
	p.Metadata(r.Metadata)
	return p.Err()
}

// link writes a checked link. If the link exists, the stored link is used.
func (m *Memories) link(t *record.Tx, link *core.Link) error {
	from, err := record.Read(t, link.From)
	if err != nil {
		return err
	}
	to, err := record.Read(t, link.To)
	if err != nil {
		return err
	}
	if there, err := storedLink(t, link); there || err != nil {
		return err
	}
	if link.Relation == core.RelationReflectsOn || link.Relation == core.RelationSupersedes {
		if err := checkAcyclic(t, link); err != nil {
			return err
		}
	}
	if err := m.checkLinks(t, from); err != nil {
		return err
	}
	metadata, err := record.PutLink(t, from.Namespace, link)
	if err != nil {
		return err
	}
	event := journal.MemoryLinked{From: link.From, Relation: link.Relation, To: link.To, Metadata: metadata, AgentID: t.Caller().Label}
	if to.Namespace == from.Namespace {
		return t.Record(from.Namespace, event, from.ID, to.ID)
	}
	if err := t.Record(from.Namespace, event, from.ID); err != nil || link.Relation != core.RelationSupersedes {
		return err
	}
	// Readers of the other namespace's stream must learn that the memory isn't recalled
	// any more.
	return t.Record(to.Namespace, event, to.ID)
}

// storedLink reports whether a link already exists, and if so copies it.
func storedLink(r core.Reader, link *core.Link) (bool, error) {
	key := record.LinkKey(link.From, link.Relation, link.To)
	if _, found, err := r.Get(key); err != nil || !found {
		return false, err
	}
	stored, err := record.ReadLink(r, link.From, link.Relation, link.To)
	if err != nil {
		return false, err
	}
	if string(stored.Metadata) != string(link.Metadata) {
		return false, sdk.Errorf(sdk.Conflict, "link_exists", "memory %s is already linked to %s by %s, with other metadata", link.From, link.To, link.Relation).
			WithHint("a link doesn't change: use another relation")
	}
	*link = *stored
	return true, nil
}

// checkAcyclic refuses a link whose end leads back to its start by links of the same
// relation.
func checkAcyclic(r core.Reader, link *core.Link) error {
	// above maps each memory that was found to the memory whose link led to it.
	above := map[string]string{link.To: link.From}
	for queue := []string{link.To}; len(queue) > 0; queue = queue[1:] {
		links, err := record.LinksFrom(r, queue[0], link.Relation, maxAncestors)
		if err != nil {
			return err
		}
		for _, l := range links {
			if _, met := above[l.To]; met {
				continue
			}
			above[l.To] = queue[0]
			if l.To == link.From {
				return cycle(above, link)
			}
			queue = append(queue, l.To)
		}
		if len(above) > maxAncestors {
			return sdk.Errorf(sdk.Exhausted, "link_graph_too_large", "memory %s leads to more than %d others by %s, too many to keep links acyclic", link.To, maxAncestors, link.Relation).
				WithHint("use another relation, such as %s", core.RelationDerivedFrom)
		}
	}
	return nil
}

func cycle(above map[string]string, link *core.Link) error {
	path := []string{link.From}
	for id := above[link.From]; id != link.From; id = above[id] {
		path = append(path, id)
	}
	path = append(path, link.From)
	slices.Reverse(path)
	return sdk.Errorf(sdk.Conflict, "link_cycle", "the link would close a cycle of %s: %s", link.Relation, strings.Join(path, " → ")).
		WithHint("use another relation, such as %s", core.RelationRelatedTo).WithDetail("cycle", path)
}

// checkLinks refuses another link from a memory that has as many links as it may have.
func (m *base) checkLinks(t *record.Tx, from *core.Memory) error {
	g, err := m.records.Governance(t, from.Namespace)
	if err != nil {
		return err
	}
	most := g.Limits.MaxLinksPerMemory
	if most == 0 {
		return nil
	}
	n := int64(0)
	err = core.ScanPrefix(t, []byte(record.LinkPrefix+from.ID+"/"), func(_, _ []byte) (bool, error) {
		n++
		return n < most, nil
	})
	if err == nil && n >= most {
		err = linksFull(g, from.ID, from.Namespace)
	}
	return err
}

func linksFull(g *core.Governance, id, namespace string) error {
	most := g.Limits.MaxLinksPerMemory
	return beyond(g.SetBy["limits.max_links_per_memory"], namespace, "max_links_per_memory", most, "links_full", "memory %s can't have more links: max_links_per_memory is %d in namespace %s", id, most, namespace)
}

// Links returns the links that start at a memory and the links that end at it, the oldest
// first, at most 1,000 of each.
func (m *Memories) Links(ctx context.Context, id string) (from, to []core.Link, err error) {
	err = m.records.View(ctx, func(r core.Reader) error {
		if _, err := record.Namespace(r, id); err != nil {
			return err
		}
		from, to, err = readLinks(r, id)
		return err
	})
	return from, to, err
}

func readLinks(r core.Reader, id string) (from, to []core.Link, err error) {
	if from, err = record.LinksFrom(r, id, "", maxLinksShown); err == nil {
		err = markTombstones(r, from, func(l *core.Link) *string { return &l.To })
	}
	if err != nil {
		return nil, nil, err
	}
	ends, err := record.LinksTo(r, id, maxLinksShown)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range ends {
		l, err := record.ReadLink(r, e.From, e.Relation, id)
		if err != nil {
			return nil, nil, err
		}
		to = append(to, *l)
	}
	if err := markTombstones(r, to, func(l *core.Link) *string { return &l.From }); err != nil {
		return nil, nil, err
	}
	slices.SortFunc(from, compareLinks)
	slices.SortFunc(to, compareLinks)
	return from, to, nil
}

// compareLinks orders links by creation time.
func compareLinks(a, b core.Link) int {
	return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.From, b.From),
		cmp.Compare(a.Relation, b.Relation), cmp.Compare(a.Position, b.Position), cmp.Compare(a.To, b.To))
}

// markTombstones marks one end of links where it is a purged memory.
func markTombstones(r core.Reader, links []core.Link, end func(*core.Link) *string) error {
	for i := range links {
		id := end(&links[i])
		gone, err := record.ReadTombstone(r, *id)
		if err != nil {
			return err
		}
		if gone != nil {
			*id = bounds.PurgedMark + *id
		}
	}
	return nil
}
