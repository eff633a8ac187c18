package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
)

// agentTurn makes a turn of a session of an agent, with feedback. What it used, if anything, is the
// memory that was recalled first.
func (s *site) agentTurn(subject, session, query string, f core.FeedbackRequest) {
	s.T.Helper()
	c := core.Caller{Subject: subject, Scopes: []core.Scope{core.ScopeMemoryRead, core.ScopeMemoryWrite}, Namespaces: []string{"**"}}
	out, err := s.Do(c, "memory_recall", &core.RecallRequest{Session: session, Query: query, RecallFilter: core.RecallFilter{Namespace: operationtest.Here}})
	s.Must(err)
	recalled := out.(*operation.Recalled)
	if len(f.Used) > 0 {
		f.Used[0] = recalled.Memories[0].ID
	}
	f.Session, f.Turn = session, recalled.Turn
	_, err = s.Do(c, "memory_feedback", &f)
	s.Must(err)
}

// agents has 180 turns of two subjects in three sessions.
func (s *site) agents() {
	s.T.Helper()
	s.Memory()
	outcomes := []core.Outcome{core.OutcomeSuccess, core.OutcomeSuccess, core.OutcomeFailure, core.OutcomePartial}
	for i := range 180 {
		at := [][2]string{{"ann", "ann-mail"}, {"ann", "ann-web"}, {"ben", "ben-1"}}[i%3]
		s.agentTurn(at[0], at[1], fmt.Sprint("harbour question ", i), core.FeedbackRequest{
			Outcome: outcomes[i%4], Used: make([]string, i%2), Summary: hostile[i%6], NextTurnHint: "look at the tides",
		})
	}
}

// TestSessions_ShowAnOperatorEverySubjectsTurns, in pages, with what each was offered and how it went;
// the Overview counts them, and their links answer.
func TestSessions_ShowAnOperatorEverySubjectsTurns(t *testing.T) {
	s := newSite(t)
	s.agents()
	for target, wants := range map[string][]string{
		"/sessions":                   {"ann-mail", "ann-web", "ben-1", "ben", operationtest.Here},
		"/sessions?owner=ben":         {"ben-1"},
		"/sessions?text=MAIL":         {"ann-mail"},
		"/sessions?namespace=nothing": {"No session fits here."},
		"/sessions/ben-1":             {"Owner ben", "harbour question 2", "failure", "used", "Hint look at the tides", hostile[2]},
		"/":                           {"Turns of agents", "180 turns, 50.0 % with success", "50 % of the memories recalled were used", "Turns by hour"},
	} {
		text := textOf(s.tree(s.get(target), http.StatusOK))
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q:\n%.2000s", target, want, text)
			}
		}
	}
	for target, foreign := range map[string]string{"/sessions?owner=ben": "ann-mail", "/sessions?text=MAIL": "ben-1", "/sessions/ben-1": "harbour question 1 "} {
		if text := textOf(s.tree(s.get(target), http.StatusOK)); strings.Contains(text, foreign) {
			t.Errorf("%s has %q", target, foreign)
		}
	}
	var pages, turns int
	for target := "/sessions/ann-web?format=json&limit=50"; target != ""; pages++ {
		var d struct {
			Session string `json:"session"`
			Items   []struct {
				Turn  int64  `json:"turn"`
				Query string `json:"query"`
			} `json:"items"`
			Next string `json:"next_page_token"`
		}
		s.Must(json.Unmarshal([]byte(s.get(target).body), &d))
		for _, turn := range d.Items {
			if turns++; turn.Turn != int64(turns) || turn.Query != fmt.Sprint("harbour question ", 3*turns-2) {
				t.Errorf("%s has %+v as turn %d", target, turn, turns)
			}
		}
		if target = ""; d.Next != "" {
			target = "/sessions/ann-web?format=json&limit=50&page_token=" + url.QueryEscape(d.Next)
		}
	}
	if pages != 2 || turns != 60 {
		t.Errorf("%d turns on %d pages", turns, pages)
	}
	var overview struct {
		Turns struct{ Ended, Success, Partial, Failure, Recalled, Used int64 } `json:"turns"`
	}
	s.Must(json.Unmarshal([]byte(s.get("/?format=json").body), &overview))
	if got := overview.Turns; got.Ended != 180 || got.Success != 90 || got.Partial != 45 || got.Failure != 45 || got.Recalled != 180 || got.Used != 90 {
		t.Errorf("the Overview counts %+v", got)
	}
	s.walk("/sessions", "/sessions/ben-1")
}

// TestSessions_OfOthersAreNotThere for a visitor without the scope operate, or of another tenant: the
// answer has the same bytes as for a session that doesn't exist.
func TestSessions_OfOthersAreNotThere(t *testing.T) {
	s := newSite(t)
	s.agentTurn("ann", "ann-mail", "harbour", core.FeedbackRequest{Outcome: core.OutcomeSuccess})
	for name, visitor := range map[string]struct {
		scopes     []core.Scope
		namespaces []string
	}{
		"another subject":       {[]core.Scope{core.ScopeMemoryRead, core.ScopeRun}, []string{"**"}},
		"an operator elsewhere": {core.Scopes(), []string{"other/**"}},
	} {
		s.signInWith(visitor.scopes, visitor.namespaces...)
		there, absent := s.get("/sessions/ann-mail"), s.get("/sessions/ann-none")
		if there.StatusCode != http.StatusNotFound || strings.ReplaceAll(there.body, "ann-mail", "ann-none") != absent.body {
			t.Errorf("%s gets %d\n%s\nand where there is none\n%s", name, there.StatusCode, there.body, absent.body)
		}
		if a := s.get("/sessions"); a.StatusCode != http.StatusOK || strings.Contains(a.body, "ann-mail") {
			t.Errorf("%s is listed it: %d", name, a.StatusCode)
		}
	}
	s.signInWith(core.Scopes(), operationtest.Here)
	if a := s.get("/sessions/ann-mail"); a.StatusCode != http.StatusOK || !strings.Contains(a.body, "harbour") {
		t.Errorf("the operator of its namespace gets %d", a.StatusCode)
	}
}

// TestSessions_StaySmall with the longest texts, and invisible characters are shown.
func TestSessions_StaySmall(t *testing.T) {
	s := newSite(t)
	for range maxTurns + coretest.Cases(1, maxTurns) { // more than a page
		s.agentTurn(strings.Repeat("<&", 64), longestID, "harbour "+longest(coretest.Cases(6_000, 60_000)), core.FeedbackRequest{
			Outcome: core.OutcomeFailure, Summary: longest(1800), NextTurnHint: longest(1800), CorrectiveAction: strings.Repeat("<\u202e", 900),
		})
	}
	for _, target := range []string{"/sessions", "/sessions?text=" + strings.Repeat("%3C", 2000), "/sessions/" + longestID} {
		a := s.get(target)
		if a.StatusCode != http.StatusOK || len(a.body) > 150<<10 {
			t.Errorf("%.60s answers %d with %d bytes", target, a.StatusCode, len(a.body))
		}
		if strings.ContainsRune(a.body, '\u202e') {
			t.Errorf("%.60s has a character that turns the text around", target)
		}
	}
}
