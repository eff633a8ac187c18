package web

import (
	"cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
)

// given is a memory that a run was given or wrote, and the credit that it got for the run.
type given struct {
	ID    string           `json:"id"`
	Title string           `json:"title,omitempty"`
	State core.MemoryState `json:"state,omitempty"`
	// Credit is what its turn's feedback did to the memory; nil if there was no feedback.
	Credit *core.FeedbackItem `json:"credit,omitempty"`
}

// maxGiven is how many memories of each kind are listed.
const maxGiven = 12

// memories adds the memories that the run was given and that it wrote.
func (d *runData) memories(v *visit, m *operation.RunMemories) {
	if m == nil {
		return
	}
	for _, id := range m.Given[:min(len(m.Given), maxGiven)] {
		d.Given = append(d.Given, v.given(id))
	}
	for _, id := range m.Written[:min(len(m.Written), maxGiven)] {
		d.Written = append(d.Written, v.given(id))
	}
	d.MoreGiven, d.MoreWritten = len(m.Given)-len(d.Given), len(m.Written)-len(d.Written)
	credits := d.credits(v)
	for i := range d.Given {
		d.Given[i].Credit = credits[d.Given[i].ID]
	}
}

// given is a memory of a run. Of a memory that the visitor may not see it has only the id, which
// is also in the events of the run.
func (v *visit) given(id string) given {
	g := given{ID: id}
	m, err := call[operation.Memory](v, "memory_get", &operation.MemoryGet{ID: id})
	if err == nil { // else it is purged, or in a namespace that the visitor doesn't reach
		g.Title, g.State = cmp.Or(m.Title, line(m.Content, 80)), m.State
	}
	return g
}

// credits is what feedback did to memories in the turns of the run. It also notes whether the session
// of the run has turns.
func (d *runData) credits(v *visit) map[string]*core.FeedbackItem {
	credits := map[string]*core.FeedbackItem{}
	s, err := call[operation.Session](v, "session_get", &operation.SessionGet{Session: d.Session, Paging: operation.Paging{Limit: 50}})
	if d.HasTurns = err == nil; err != nil {
		return credits // no turn yet, or not the visitor's
	}
	for _, turn := range s.Items {
		if turn.Feedback == nil || turn.RunID != d.Run.RunID {
			continue
		}
		for i := range turn.Feedback.Items {
			credits[turn.Feedback.Items[i].ID] = &turn.Feedback.Items[i]
		}
	}
	return credits
}
