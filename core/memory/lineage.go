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

// A lineage is where a memory comes from, and what was made from it. Both directions may
// lead to very many memories, since one observation may have a thousand reflections, so
// the search is breadth first and bounded: the farthest memories are left out.

const (
	// MaxLineageDepth is how many links a lineage follows at most, in either direction.
	MaxLineageDepth = 6
	// MaxLineageNodes is how many memories a lineage has at most.
	MaxLineageNodes = 500
)

// lineageRelations are the relations to what a memory was made from, or what it
// replaces.
var lineageRelations = []string{core.RelationReflectsOn, core.RelationSupersedes, core.RelationDerivedFrom, core.RelationConsolidatedFrom}

// Lineage is where a memory comes from, and what was made from it.
type Lineage struct {
	ID string `json:"id"`
	// Nodes are the memories by their distance, the requested one first.
	Nodes []LineageNode `json:"nodes"`
	// Links are the links between the nodes, and links to purged memories.
	Links []core.Link `json:"links"`
	// Truncated is whether the depth or the limits cut off part of the lineage.
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
	// Distance is how many links away the memory is: above 0 if the requested memory
	// comes from it, below 0 if it was made from the requested memory.
	Distance int `json:"distance"`
}

// Lineage follows the links of a memory up to a depth, from 1 to [MaxLineageDepth],
// within the namespaces for which reaches returns true. Other namespaces are treated as
// if they didn't exist.
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

// lineageWalk follows the links from a memory in one direction, and then in the other.
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

// follow adds a link, and the memory at its other end if that is new.
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

// link adds a link only once, since in a cycle both ends find it.
func (w *lineageWalk) link(l core.Link) {
	key := string(record.LinkKey(l.From, l.Relation, l.To))
	if !w.linked[key] {
		w.linked[key] = true
		w.out.Links = append(w.out.Links, l)
	}
}

// History returns journal entries about a memory, even if it was purged: the first ones
// after an entry (0 for the start), up to limit, and whether more follow.
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
