package web

import (
	"cmp"
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
)

// given is a memory that a run received, and the credit that the memory got.
type given struct {
	ID    string           `json:"id"`
	Title string           `json:"title,omitempty"`
	State core.MemoryState `json:"state,omitempty"`
	// Credit is what its turn's feedback did to the memory; nil if there was no feedback.
	Credit *core.FeedbackItem `json:"credit,omitempty"`
}

// maxGiven is how many memories are listed.
const maxGiven = 12

func (d *runData) addGiven(id string) {
	if len(d.Given) < maxGiven && !slices.ContainsFunc(d.Given, func(g given) bool { return g.ID == id }) {
		d.Given = append(d.Given, given{ID: id})
	}
}

// given adds the memories that the run received. For a memory that the caller may not see,
// it adds only the id, which is also in the events of the run.
func (d *runData) given(v *visit) {
	credits := d.credits(v)
	for i := range d.Given {
		g := &d.Given[i]
		g.Credit = credits[g.ID]
		m, err := call[operation.Memory](v, "memory_get", &operation.MemoryGet{ID: g.ID})
		if err != nil {
			continue // purged, or in a namespace that the caller doesn't reach
		}
		g.Title, g.State = cmp.Or(m.Title, line(m.Content, 80)), m.State
	}
}

// credits is what feedback did to memories in the turns of the run. A shared session is
// ignored, since its turns don't show to which run they belong.
func (d *runData) credits(v *visit) map[string]*core.FeedbackItem {
	credits := map[string]*core.FeedbackItem{}
	if len(d.Given) == 0 || d.Session != d.Run.RunID {
		return credits
	}
	s, err := call[operation.Session](v, "session_get", &operation.SessionGet{Session: d.Session, Paging: operation.Paging{Limit: 50}})
	if err != nil {
		return credits // no turn yet
	}
	for _, turn := range s.Items {
		if turn.Feedback == nil {
			continue
		}
		for i := range turn.Feedback.Items {
			credits[turn.Feedback.Items[i].ID] = &turn.Feedback.Items[i]
		}
	}
	return credits
}
