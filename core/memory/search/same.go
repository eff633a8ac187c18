package search

import (
	"cmp"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
)

// These functions decide which documents a search may return, apart from its filter: one
// of identical contents, and none that a recallable memory supersedes. Both are decided
// while candidates are chosen, so that copies and superseded documents don't take a
// candidate's place.

// joinSame notes that a document has its content.
func (c *contents) joinSame(n uint32) {
	content := c.docs[n].content
	if content == 0 {
		return
	}
	if twin, known := c.same[content]; known {
		c.docs[n].twin = twin
	}
	c.same[content] = n
}

// leaveSame undoes joinSame.
func (c *contents) leaveSame(n uint32) {
	content, twin := c.docs[n].content, c.docs[n].twin
	if content == 0 {
		return
	}
	switch last := c.same[content]; {
	case last != n:
		for c.docs[last].twin != n {
			last = c.docs[last].twin
		}
		c.docs[last].twin = twin
	case twin == none:
		delete(c.same, content)
	default:
		c.same[content] = twin
	}
}

// withContent calls fn with the documents that have a content, until it returns false.
func (c *contents) withContent(content uint64, fn func(n uint32) bool) {
	n, known := c.same[content]
	for known && n != none && fn(n) {
		n = c.docs[n].twin
	}
}

// supersede stores which memories supersede a document.
func (c *contents) supersede(id string, by []string) {
	if len(by) == 0 {
		delete(c.superseded, id)
		return
	}
	list := make([]string, len(by))
	for i := range by {
		list[i] = strings.Clone(by[i])
	}
	c.superseded[id] = list
}

// wants reports whether a search may return a document.
func (s *scan) wants(space int, n uint32) bool {
	c := s.contents[space]
	if !s.fits(space, n) {
		return false
	}
	content := c.docs[n].content
	if content == 0 || !s.repeated(content) {
		return true
	}
	first := s.group(content)[0]
	return first.space == space && first.number == n
}

// fits reports whether the filter selects a document, and it isn't superseded.
func (s *scan) fits(space int, n uint32) bool {
	c, f := s.contents[space], &s.query.Filter
	d := &c.docs[n]
	return (f.AgentID == "" || d.agent == f.AgentID) &&
		ofKind(f.Kinds, d.kind) &&
		(s.query.Among == nil || s.query.Among[d.id]) &&
		(len(f.States) == 0 || slices.Contains(f.States, d.state)) &&
		!slices.ContainsFunc(f.Tags, func(tag string) bool { return !slices.Contains(d.tags, tag) }) &&
		(f.From.IsZero() || d.at >= f.From.UnixMilli()) && (f.To.IsZero() || d.at < f.To.UnixMilli()) &&
		(f.AsOf.IsZero() || s.known(d.id)) &&
		(f.IncludeSuperseded || !s.superseded(c, d.id))
}

// known reports whether a memory was there at the time of the filter. If that can't be told, the search fails.
func (s *scan) known(id string) bool {
	known, err := s.query.Known(id)
	if err != nil {
		s.failed = err
	}
	return known
}

// ofKind reports whether a filter's kinds select one. Notifications report what a job did,
// and answer no query: they are found only if a filter names their kind.
func ofKind(kinds []core.MemoryKind, kind core.MemoryKind) bool {
	if len(kinds) == 0 {
		return kind != core.KindNotification
	}
	return slices.Contains(kinds, kind)
}

// superseded reports whether a recallable or purged memory supersedes another. Recallable ones of
// the same namespace are known here; for others it asks the query's Supersedes. If that fails,
// the search fails.
func (s *scan) superseded(c *contents, id string) bool {
	for _, by := range c.superseded[id] {
		if !s.query.Filter.AsOf.IsZero() && !s.known(by) {
			continue
		}
		if _, here := c.numbers[by]; here {
			return true
		}
		if s.query.Supersedes == nil {
			continue
		}
		supersedes, err := s.query.Supersedes(by)
		if err != nil {
			s.failed = err
		}
		if supersedes {
			return true
		}
	}
	return false
}

// repeated reports whether several documents of the searched spaces have a content.
func (s *scan) repeated(content uint64) bool {
	count := 0
	for _, c := range s.contents {
		c.withContent(content, func(uint32) bool {
			count++
			return count < 2
		})
	}
	return count > 1
}

// group are the documents with one content that match. The first represents them all: the
// most used, and of equally used ones the one with the first id.
func (s *scan) group(content uint64) []place {
	if known, ok := s.groups[content]; ok {
		return known
	}
	var list []place
	for space, c := range s.contents {
		c.withContent(content, func(n uint32) bool {
			if s.fits(space, n) {
				list = append(list, place{space, n})
			}
			return true
		})
	}
	slices.SortFunc(list, func(a, b place) int {
		x, y := s.doc(a), s.doc(b)
		return cmp.Or(cmp.Compare(y.uses, x.uses), cmp.Compare(x.id, y.id), cmp.Compare(a.space, b.space))
	})
	if s.groups == nil {
		s.groups = map[uint64][]place{}
	}
	s.groups[content] = list
	return list
}

func (s *scan) doc(p place) *doc { return &s.contents[p.space].docs[p.number] }

// sameAs are the ids of the documents that a candidate represents, in order, at most
// [core.MaxRelated].
func (s *scan) sameAs(c *candidate) (ids []string) {
	if c.doc.content == 0 || !s.repeated(c.doc.content) {
		return nil
	}
	for _, p := range s.group(c.doc.content)[1:] {
		ids = append(ids, s.doc(p).id)
	}
	slices.Sort(ids)
	return ids[:min(len(ids), core.MaxRelated)]
}
