package web

import (
	"net/url"
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/memory"
)

// sessionPages are the pages of sessions and their turns.
func sessionPages() []page {
	return []page{
		{path: "/sessions", template: "sessions.html", nav: "/sessions", load: loadSessions},
		{path: "/sessions/{session}", template: "session.html", nav: "/sessions", load: loadSession},
	}
}

func sessionURL(name string) string { return "/sessions/" + url.PathEscape(name) }

// sessionsData is a page of the list of sessions.
type sessionsData struct {
	operation.Page[memory.Session]
	Filter operation.SessionList `json:"filter"`
	// All is whether the list has the sessions of all subjects.
	All  bool   `json:"-"`
	Next string `json:"-"`
}

func loadSessions(v *visit) (*content, error) {
	d := &sessionsData{Filter: operation.SessionList{
		Namespace: v.query("namespace"), Subtree: v.query("subtree") != "", Owner: v.query("owner"), Text: v.query("text"),
		Paging: operation.Paging{Limit: v.limit(maxRows), PageToken: v.query("page_token")},
	}, All: v.caller.Has(core.ScopeOperate)}
	found, err := call[operation.Page[memory.Session]](v, "session_list", &d.Filter)
	if err != nil {
		return nil, err
	}
	if d.Page = *found; d.NextPageToken != "" {
		d.Next = v.with("page_token", d.NextPageToken)
	}
	return &content{Title: "Sessions", Data: d}, nil
}

// sessionData is a session with a page of its turns.
type sessionData struct {
	*operation.Session
	Turns []shownTurn `json:"-"`
	Next  string      `json:"-"`
}

// shownTurn is a turn with links to what it is about.
type shownTurn struct {
	*memory.SessionTurn
	Offered []offeredMemory
	// More is how many other memories it was offered.
	More    int
	Outcome tag
	Texts   []turnText
	// Snapshot is the page of its prompt; "" if it has none that the visitor may see.
	Snapshot string
}

// offeredMemory is a memory that a turn was offered, and how it was used; "" if it wasn't.
type offeredMemory struct{ ID, Use string }

// turnText is what a turn's feedback says.
type turnText struct{ Name, Text string }

const (
	// maxTurns is how many turns a page of a session shows, and maxOffered how many memories of each,
	// so that a page of the longest texts has less than 150 KB.
	maxTurns   = 20
	maxOffered = 5
)

func loadSession(v *visit) (*content, error) {
	name := v.PathValue("session")
	s, err := call[operation.Session](v, "session_get", &operation.SessionGet{
		Session: name, Paging: operation.Paging{Limit: v.limit(maxTurns), PageToken: v.query("page_token")},
	})
	if err != nil {
		return nil, err
	}
	d := &sessionData{Session: s}
	prompts := s.Owner == v.caller.Subject || v.caller.Reaches(core.EveryNamespace)
	for i := range s.Items {
		d.Turns = append(d.Turns, turnShown(&s.Items[i], prompts))
	}
	if s.NextPageToken != "" {
		d.Next = v.with("page_token", s.NextPageToken)
	}
	return &content{Title: line(s.Session.Session, 60), Crumbs: []crumb{{"Sessions", "/sessions"}}, Data: d}, nil
}

// turnShown is a turn as its page shows it; prompts is whether the visitor may see its prompt.
func turnShown(turn *memory.SessionTurn, prompts bool) shownTurn {
	t := shownTurn{SessionTurn: turn, Outcome: tag{Text: "no feedback"}}
	uses := map[string]string{}
	if f := turn.Feedback; f != nil {
		t.Outcome = tagOf(f.Outcome)
		for _, item := range f.Items {
			if item.Used {
				uses[item.ID] = "used"
			}
			switch {
			case item.Inferred > 0:
				uses[item.ID] = "used, as the reply shows"
			case item.Assumed:
				uses[item.ID] = "used, as assumed"
			}
		}
	}
	ids := slices.Clone(turn.Memories) // the used ones first
	slices.SortStableFunc(ids, func(a, b string) int { return min(len(uses[b]), 1) - min(len(uses[a]), 1) })
	for _, id := range ids[:min(len(ids), maxOffered)] {
		t.Offered = append(t.Offered, offeredMemory{id, uses[id]})
	}
	t.More = len(turn.Memories) - len(t.Offered)
	r := turn.Reflection
	if r == nil {
		return t
	}
	if prompts && r.SnapshotID != "" {
		t.Snapshot = snapshotURL(r.SnapshotID)
	}
	for _, one := range []turnText{{"Failure", words(string(r.FailureClass))}, {"Summary", r.Summary}, {"Corrective action", r.CorrectiveAction}, {"Hint", r.NextTurnHint}} {
		if one.Text != "" {
			t.Texts = append(t.Texts, one)
		}
	}
	if r.Purged {
		t.Texts = append(t.Texts, turnText{"Texts", "purged, with a memory that the turn recalled"})
	}
	return t
}
