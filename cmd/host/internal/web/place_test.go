package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
)

// remembers writes a memory in a namespace.
func (s *site) remembers(namespace, text string) {
	s.T.Helper()
	_, err := s.Host.Memories.Observe(s.Ctx, &core.ObserveRequest{Namespace: namespace, Content: text})
	s.Must(err)
}

// signInAs opens a session of somebody who may read some namespaces.
func (s *site) signInAs(namespaces ...string) {
	s.T.Helper()
	s.signInWith([]core.Scope{core.ScopeMemoryRead, core.ScopeMemoryWrite}, namespaces...)
}

// signInWith is signInAs with these scopes.
func (s *site) signInWith(scopes []core.Scope, namespaces ...string) {
	s.T.Helper()
	token, err := s.Host.Access.Issue(s.Ctx, access.Request{Subject: "reader", Scopes: scopes, Namespaces: namespaces})
	s.Must(err)
	login, err := s.Host.Access.OpenSession(s.Ctx, string(token.Secret))
	s.Must(err)
	s.session.Value = string(login.Secret)
}

// TestPages_OpenWhereSomethingIs: a page whose address names no namespace shows what the
// visitor may see, wherever it is.
func TestPages_OpenWhereSomethingIs(t *testing.T) {
	const elsewhere = "other/place"
	harbours := func(s *site) {
		s.remembers(operationtest.Here, "The harbour of Kiel closes at six.")
		s.remembers(operationtest.Here, "The harbour of Emden closes at seven.")
		s.remembers(elsewhere, "The harbour of Husum closes at eight.")
	}
	for name, c := range map[string]struct {
		fill    func(*site)
		reaches []string // of somebody; nil for the operator
		at      string
		want    []string
		lacks   []string
	}{
		"memories of every namespace":             {harbours, nil, "/memory", []string{"Kiel", "Emden", "Husum", elsewhere}, nil},
		"with an empty field":                     {harbours, nil, "/memory?namespace=&subtree=", []string{"Kiel", "Husum"}, nil},
		"in a state":                              {harbours, nil, "/memory?state=open", []string{"Kiel", "Husum"}, nil},
		"of a kind":                               {harbours, nil, "/memory?kind=observation", []string{"Kiel", "Husum"}, nil},
		"by words":                                {harbours, nil, "/memory?q=harbour", []string{"Kiel", "Husum"}, nil},
		"of the namespace that was chosen":        {harbours, nil, "/memory?namespace=" + elsewhere, []string{"Husum", operationtest.Here}, []string{"Kiel"}},
		"none, of an empty one that was chosen":   {harbours, nil, "/memory?namespace=default", []string{"No memory fits here", elsewhere}, []string{"Kiel"}},
		"of the fullest that somebody may see":    {harbours, []string{operationtest.Here, elsewhere}, "/memory", []string{"Kiel", "Emden", elsewhere}, []string{"Husum"}},
		"of the only one that somebody may see":   {harbours, []string{elsewhere}, "/memory", []string{"Husum"}, []string{"Kiel", operationtest.Here}},
		"by words, in what somebody may see":      {harbours, []string{elsewhere}, "/memory?q=harbour", []string{"Husum"}, []string{"Kiel"}},
		"nothing, where somebody may see nothing": {harbours, []string{"third/**"}, "/memory", []string{"No memory yet"}, []string{"Kiel", "Husum"}},
		"nothing, in an empty store":              {func(*site) {}, nil, "/memory", []string{"No memory yet"}, nil},
		"plans":                                   {func(s *site) { harbours(s); s.Plan() }, nil, "/dream", []string{"planned"}, []string{"No pass was planned"}},
		"plans, of the namespace that has some": {func(s *site) {
			s.Plan()
			for range 40 {
				s.remembers(elsewhere, "The tide turns at "+s.Host.Config.IDs.NewID())
			}
		}, nil, "/dream", []string{"planned"}, []string{"No pass was planned"}},
		"no plans, where there are none":      {harbours, nil, "/dream", []string{"No pass was planned"}, nil},
		"conflicts":                           {func(s *site) { s.housekeep() }, nil, "/dream/conflicts", []string{"They differ in"}, []string{"Nothing here contradicts"}},
		"snapshots":                           {func(s *site) { s.Snapshot() }, nil, "/snapshots", []string{"Turn 1"}, []string{"No turn here"}},
		"snapshots that somebody may not see": {func(s *site) { s.Snapshot(); s.remembers(elsewhere, "x") }, []string{elsewhere}, "/snapshots", []string{"No turn here"}, []string{"Turn 1"}},
		"knowledge":                           {func(s *site) { s.Promoted() }, nil, "/knowledge", nil, []string{"No knowledge here"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			c.fill(s)
			if c.reaches != nil {
				s.signInAs(c.reaches...)
			}
			root := s.tree(s.get(c.at), http.StatusOK)
			s.wellMade(c.at, s.get(c.at), root)
			text := textOf(root)
			for _, want := range c.want {
				if !strings.Contains(text, want) {
					t.Errorf("lacks %q: %.3000s", want, text)
				}
			}
			for _, not := range c.lacks {
				if strings.Contains(text, not) {
					t.Errorf("has %q: %.3000s", not, text)
				}
			}
		})
	}
}

// TestMemories_PagesOfEveryNamespace: the next page goes on where the first one ended, also if
// the address names no namespace.
func TestMemories_PagesOfEveryNamespace(t *testing.T) {
	for _, reaches := range [][]string{nil, {"n/0", "n/1"}} {
		t.Run(fmt.Sprint(reaches), func(t *testing.T) {
			s := newSite(t)
			const most = maxRows + 10
			for i := range most {
				s.remembers(fmt.Sprintf("n/%d", i%2*i%3), fmt.Sprintf("The tide is %d.", i))
			}
			want := most
			if reaches != nil {
				s.signInAs(reaches...)
			}
			seen := map[string]bool{}
			for at := "/memory"; at != ""; {
				root := s.tree(s.get(at), http.StatusOK)
				at = ""
				for _, n := range all(root, "a") {
					href, _ := attr(n, "href")
					if strings.HasPrefix(href, "/memory/") {
						seen[href] = true
					}
					if rel, _ := attr(n, "rel"); rel == "next" {
						at = href
					}
				}
			}
			var shown struct {
				Filter struct{ Namespace string } `json:"filter"`
				Items  []core.Memory              `json:"items"`
			}
			s.Must(json.Unmarshal([]byte(s.get("/memory?"+url.Values{"limit": {"200"}}.Encode(), "Accept", "application/json").body), &shown))
			if reaches != nil {
				want = len(shown.Items)
				if shown.Filter.Namespace == "" {
					t.Error("the data doesn't name the namespace")
				}
			}
			if len(seen) != want || len(shown.Items) != want || want <= maxRows/2 {
				t.Errorf("%d of %d memories, %d as JSON", len(seen), want, len(shown.Items))
			}
		})
	}
}
