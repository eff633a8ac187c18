package turns

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

// sessionsOfGroup is how many sessions each group has at the same time.
const sessionsOfGroup = 2

// isolation: no prompt has a memory of another group, or what another session of the same
// group said about its turns; and no caller sees another caller's session or snapshots.
func isolation(t *testing.T, m *matrix) {
	groups := make([]*caller, m.Clients)
	for g := range groups {
		groups[g] = m.server.caller(t, fmt.Sprint("group-", g), false)
		groups[g].observe(t, fmt.Sprintf("The code of the vault is code-%d.", g))
	}
	name := func(n int) string { return fmt.Sprint("isolation-", n) }
	each(t, m.Clients*sessionsOfGroup, func(t *testing.T, n int) {
		group := n / sessionsOfGroup
		c, turns := groups[group], min(m.Turns, 12)
		for turn := range turns {
			p := c.build(t, object{"session": name(n), "query": "the code of the vault"})
			said := p.Text
			for _, own := range []string{fmt.Sprintf("code-%d.", group), fmt.Sprintf("note-%d-", n)} {
				if turn > 0 && !strings.Contains(said, own) {
					t.Errorf("turn %d isn't told %q:\n%s", p.Turn, own, p.Text)
				}
				said = strings.ReplaceAll(said, own, "")
			}
			if strings.Contains(said, "code-") || strings.Contains(said, "note-") {
				t.Errorf("turn %d of session %d is told what others said:\n%s", p.Turn, n, p.Text)
			}
			if p.Turn != int64(turn+1) {
				t.Errorf("turn %d is numbered %d", turn+1, p.Turn)
			}
			c.feedback(t, p, "success", object{"summary": fmt.Sprintf("This is note-%d-%d.", n, turn)})
		}
	})
	for n := range m.Clients * sessionsOfGroup {
		other := groups[(n/sessionsOfGroup+1)%m.Clients]
		other.refused(t, http.MethodGet, "/v1/sessions/"+name(n), nil, http.StatusNotFound, "session_not_found")
		other.refused(t, http.MethodPost, "/v1/sessions/"+name(n)+"/reset", object{}, http.StatusNotFound, "session_not_found")
		// The name begins a session of its own.
		own := other.build(t, object{"session": name(n), "query": "the code of the vault"})
		if own.Turn != 1 || strings.Contains(own.Text, "note-") || strings.Contains(own.Text, fmt.Sprintf("code-%d.", n/sessionsOfGroup)) {
			t.Errorf("%s has turn %d of session %d:\n%s", other.namespace, own.Turn, n, own.Text)
		}
		var seen struct{ Items []prompt }
		other.must(t, http.MethodGet, "/v1/snapshots?session="+name(n)+"&namespace="+url.QueryEscape(other.namespace), nil, &seen)
		if len(seen.Items) != 1 || seen.Items[0].ID != own.ID {
			t.Errorf("%s is listed snapshots of session %d", other.namespace, n)
		}
	}
}

// windows: while turns go on, a session is reset and resumed again and again. No turn number
// repeats or is left out, and a window sees its own turns alone.
func windows(t *testing.T, m *matrix) {
	c := m.server.caller(t, "windows", false)
	c.observe(t, "The ferry leaves at nine.")
	const session = "windows"
	turn := func(t *testing.T, summary string) *prompt {
		t.Helper()
		p := c.build(t, object{"session": session, "query": "when does the ferry leave?"})
		c.feedback(t, p, "success", object{"summary": summary})
		return p
	}
	turn(t, "The first window began.")
	var mu sync.Mutex
	numbers := map[int64]int{1: 1}
	each(t, m.Clients+2, func(t *testing.T, n int) {
		for range m.Turns / 2 {
			switch n {
			case 0:
				c.post(t, "/v1/sessions/"+session+"/reset", object{}, nil)
			case 1:
				c.post(t, "/v1/sessions/"+session+"/resume", object{"window": 1}, nil)
			default:
				p := turn(t, "It left.")
				mu.Lock()
				numbers[p.Turn]++
				mu.Unlock()
			}
		}
	})
	last := int64(1 + m.Clients*(m.Turns/2))
	if got := slices.Max(slices.Collect(maps.Keys(numbers))); got != last || int64(len(numbers)) != last {
		t.Errorf("%d turns have %d numbers, up to %d", last, len(numbers), got)
	}
	c.post(t, "/v1/sessions/"+session+"/reset", object{}, nil)
	if p := turn(t, "The last window began."); p.Turn != last+1 || strings.Contains(p.Text, "window began") || strings.Contains(p.Text, "It left.") {
		t.Errorf("turn %d begins a window with\n%s", p.Turn, p.Text)
	}
	c.post(t, "/v1/sessions/"+session+"/resume", object{"window": 1}, nil)
	p := turn(t, "It left.")
	if p.Turn != last+2 || strings.Contains(p.Text, "The last window began.") {
		t.Errorf("turn %d goes on in the first window with\n%s", p.Turn, p.Text)
	}
	if s := c.session(t, session); s.Window != 1 || s.Windows != int64(m.Turns/2+2) || s.NextTurn != last+3 {
		t.Errorf("the session is %+v", s)
	}
}

// hints: a wrong hint misleads the next turn, whose feedback corrects it. The turn after
// that gets only the correction, and the one after that gets no hint.
func hints(t *testing.T, m *matrix) {
	const wrong, right = "The depot closes at six.", "The depot closes at four, not at six."
	each(t, m.Clients, func(t *testing.T, n int) {
		c := m.server.caller(t, fmt.Sprint("hints-", n), false)
		session := fmt.Sprint("hints-", n)
		turn := func() *prompt { return c.build(t, object{"session": session, "query": "when does the depot close?"}) }
		failed := func(p *prompt, hint string) {
			c.feedback(t, p, "failure", object{"failure_class": "wrong_answer", "next_turn_hint": hint, "corrective_action": "Look at the door."})
		}
		failed(turn(), wrong)
		astray := turn()
		if got := astray.payload("hint"); got != "<hint>"+wrong+"</hint>" {
			t.Errorf("the second turn has the hint %q", got)
		}
		failed(astray, right)
		corrected := turn()
		if got := corrected.payload("hint"); got != "<hint>"+right+"</hint>" || strings.Contains(corrected.Text, wrong) {
			t.Errorf("the third turn is told\n%s", corrected.Text)
		}
		c.feedback(t, corrected, "success", nil)
		if p := turn(); p.payload("hint") != "" || p.RoleMix != nil {
			t.Errorf("the fourth turn is told\n%s", p.Text)
		}
		s := c.session(t, session)
		if r := s.Items[1].Reflection; r == nil || r.SnapshotID != astray.ID || r.FailureClass != "wrong_answer" || r.Hint != right {
			t.Errorf("the reflection on the second turn is %+v", r)
		}
	})
}
