package memory

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/core/memory/lifecycle"
	"github.com/reflectory/reflectory/core/memory/search"
)

// describe sets how the results of a query did lately for its subject, once they have their handles.
func describe(list []core.Recalled, q *search.Query) {
	for i := range list {
		m := &list[i]
		lately := lifecycle.StandingOf(m.Signals.Window, q.Subject)
		if q.Own {
			lately = lifecycle.OwnStandingOf(m.Signals.Window, q.Subject)
		}
		m.Record = standing(m, lately)
		for _, id := range m.ContradictedBy {
			at := slices.IndexFunc(list, func(o core.Recalled) bool { return o.ID == id && o.Handle != "" })
			if at >= 0 {
				m.Record += ", contradicted by " + list[at].Handle
				break
			}
		}
		m.Record = strings.TrimPrefix(m.Record, unused+", ")
	}
}

// unused is the record of a memory without uses.
const unused = "new"

// standing says in a few words how a memory did lately.
func standing(m *core.Recalled, s lifecycle.Standing) string {
	switch {
	case m.Archived:
		return "archived"
	case 2*s.Failures > s.Uses:
		return fmt.Sprintf("failed %d of %d", s.Failures, s.Uses)
	case m.KnowledgeID != "":
		return "knowledge"
	case s.Uses > 0:
		return fmt.Sprintf("proven %d of %d", s.Uses-s.Failures, s.Uses)
	}
	return unused
}

// sources are the memories that a reflection is about.
func sources(r core.Reader, m *core.Memory) (ids []string, err error) {
	if m.ReflectionDepth == 0 {
		return nil, nil
	}
	links, err := record.LinksFrom(r, m.ID, core.RelationReflectsOn, core.MaxRelated)
	for i := range links {
		ids = append(ids, links[i].To)
	}
	return ids, err
}
