package memory

import (
	"context"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory/internal/bounds"
	"github.com/reflectory/reflectory/core/memory/internal/record"
)

// Where a memory comes from, and what came of it. Both ways may lead to very many, since
// one observation may be reflected on a thousand times, so the walk goes breadth first and
// is bounded: what is left out is the farthest.

const (
	// MaxLineageDepth is how many links a lineage goes at most, either way.
	MaxLineageDepth = 6
	// MaxLineageNodes is how many memories it has at most.
	MaxLineageNodes = 500
)

// lineageRelations are the links that say what a memory was made of, or of what it takes
// the place.
var lineageRelations = []string{core.RelationReflectsOn, core.RelationSupersedes, core.RelationDerivedFrom, core.RelationConsolidatedFrom}

// Lineage is where a memory comes from, and what came of it.
type Lineage struct {
	ID string `json:"id"`
	// Nodes are the memories by their distance, the one that was asked for first.
	Nodes []LineageNode `json:"nodes"`
	// Links are those between them, and those to what was purged.
	Links []core.Link `json:"links"`
	// Truncated is whether there is more than depth and bounds let it have.
	Truncated bool `json:"truncated,omitempty"`
}

// LineageNode is a memory in a lineage.
type LineageNode struct {
	ID        string           `json:"id"`
	Namespace string           `json:"namespace"`
	Title     string           `json:"title"`
	Kind      core.MemoryKind  `json:"kind"`
	State     core.MemoryState `json:"state"`
	Depth     int              `json:"reflection_depth"`
	// Distance is how many links away it is: above 0 for what the memory comes from,
	// below 0 for what came of it.
	Distance int `json:"distance"`
}

// Lineage follows the links of a memory up to a depth, from 1 to [MaxLineageDepth], within
// the namespaces that reaches says yes to. Others are as if there weren't any.
func (m *Memories) Lineage(ctx context.Context, id string, depth int, reaches func(namespace string) bool) (*Lineage, error) {
	var p bounds.Problems
	if depth < 1 || depth > MaxLineageDepth {
		p.Add("depth", "is %d, not from 1 to %d", depth, MaxLineageDepth)
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	var w *lineageWalk
	err := m.options.Store.View(ctx, func(r core.Reader) error {
		w = &lineageWalk{r: r, depth: depth, reaches: reaches, met: map[string]bool{}, linked: map[string]bool{}, out: &Lineage{ID: id, Nodes: []LineageNode{}, Links: []core.Link{}}}
		root, err := record.Read(r, id)
		if err != nil {
			return err
		}
		w.add(root, 0)
		for _, step := range []int{1, -1} {
			if err := w.walk(ctx, id, step); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return w.out, nil
}

// lineageWalk goes one way from a memory, and then the other.
type lineageWalk struct {
	r       core.Reader
	depth   int
	reaches func(string) bool
	met     map[string]bool
	linked  map[string]bool
	out     *Lineage
}

func (w *lineageWalk) add(m *core.Memory, distance int) {
	w.met[m.ID] = true
	w.out.Nodes = append(w.out.Nodes, LineageNode{m.ID, m.Namespace, m.Title, m.Kind, m.State, m.ReflectionDepth, distance})
}

// walk follows the links from a memory (step 1) or to it (step -1).
func (w *lineageWalk) walk(ctx context.Context, id string, step int) error {
	level := []string{id}
	for distance := step; len(level) > 0; distance += step {
		var next []string
		for _, id := range level {
			if err := ctx.Err(); err != nil {
				return err
			}
			from, to, err := readLinks(w.r, id)
			if err != nil {
				return err
			}
			links := from
			if step < 0 {
				links = to
			}
			for _, l := range links {
				if !slices.Contains(lineageRelations, l.Relation) {
					continue
				}
				end := l.To
				if step < 0 {
					end = l.From
				}
				added, err := w.follow(l, end, distance)
				if err != nil {
					return err
				}
				if added {
					next = append(next, end)
				}
			}
		}
		level = next
	}
	return nil
}

// follow takes a link, and the memory at its other end if that is new.
func (w *lineageWalk) follow(l core.Link, end string, distance int) (added bool, err error) {
	if w.met[end] {
		w.link(l)
		return false, nil
	}
	m, err := record.Read(w.r, end)
	if record.IsGone(err) {
		gone, err := record.ReadTombstone(w.r, strings.TrimPrefix(end, "purged:"))
		if err == nil && gone != nil && w.reaches(gone.Namespace) {
			w.link(l)
		}
		return false, err
	}
	if err != nil || !w.reaches(m.Namespace) {
		return false, err
	}
	if max(distance, -distance) > w.depth || len(w.out.Nodes) >= MaxLineageNodes {
		w.out.Truncated = true
		return false, nil
	}
	w.add(m, distance)
	w.link(l)
	return true, nil
}

// link takes a link, once: in a circle it is met from both ends.
func (w *lineageWalk) link(l core.Link) {
	key := string(record.LinkKey(l.From, l.Relation, l.To))
	if !w.linked[key] {
		w.linked[key] = true
		w.out.Links = append(w.out.Links, l)
	}
}

// History returns entries of the journal that are about a memory, also of one that was
// purged: the first so many after an entry, 0 for the first of all, and whether more follow.
func (m *Memories) History(ctx context.Context, id string, after uint64, limit int) (entries []journal.Entry, more bool, err error) {
	err = m.options.Store.View(ctx, func(r core.Reader) error {
		namespace := ""
		found, err := record.Read(r, id)
		if err == nil {
			namespace = found.Namespace
		} else if gone, gerr := record.ReadTombstone(r, id); gerr != nil || gone == nil {
			return err
		} else {
			namespace = gone.Namespace
		}
		entries, more, err = record.ReadHistoryAfter(r, namespace, id, after, limit)
		return err
	})
	return entries, more, err
}
