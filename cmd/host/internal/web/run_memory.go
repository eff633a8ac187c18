package web

import (
	"cmp"
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
)

// given is a memory that a run was given, and the credit that it got for it.
type given struct {
	ID    string           `json:"id"`
	Title string           `json:"title,omitempty"`
	State core.MemoryState `json:"state,omitempty"`
	// Credit is what its turn's feedback did to it; nil if there was none.
	Credit *core.FeedbackItem `json:"credit,omitempty"`
}

// maxGiven is how many memories are listed.
const maxGiven = 12

func (d *runData) addGiven(id string) {
	if len(d.Given) < maxGiven && !slices.ContainsFunc(d.Given, func(g given) bool { return g.ID == id }) {
		d.Given = append(d.Given, given{ID: id})
	}
}

// given adds what is known of the memories that the run was given. Those that who asks may
// not see keep their ids only, as the events of the run have them.
func (d *runData) given(v *visit) {
	credits := d.credits(v)
	for i := range d.Given {
		g := &d.Given[i]
		g.Credit = credits[g.ID]
		m, err := call[operation.Memory](v, "memory_get", &operation.MemoryGet{ID: g.ID})
		if err != nil {
			continue // purged, or of a namespace that isn't theirs
		}
		g.Title, g.State = cmp.Or(m.Title, line(m.Content, 80)), m.State
	}
}

// credits is what feedback did to memories in the turns of the run. A session that others
// share isn't looked at: its turns don't say of which run they are.
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
