package web

import (
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
)

// commandsOf are the commands that a page shows.
func commandsOf(root *html.Node) (list []string) {
	for _, n := range all(root, "div") {
		if class, _ := attr(n, "class"); class == "cmd" {
			list = append(list, textOf(n))
		}
	}
	return list
}

// TestEmptyPages_SayWhatToDo: a list without entries says what would be in it, and shows a command
// that makes the first entry. One that a filter leaves empty leads to the whole list.
func TestEmptyPages_SayWhatToDo(t *testing.T) {
	s := newSite(t)
	for at, want := range map[string][2]string{
		"/runs":            {"No workflow has run yet", "reflectory run workflow.yaml"},
		"/memory":          {"No memory yet", "reflectory memory observe"},
		"/knowledge":       {"No knowledge here", "reflectory memory list"},
		"/approvals":       {"Nothing waits for an approval", "reflectory governance set"},
		"/sessions":        {"No session yet", "reflectory memory recall"},
		"/jobs":            {"No job yet", "reflectory run --detach"},
		"/dream":           {"No pass was planned here", "reflectory dream plan"},
		"/dream/conflicts": {"Nothing here contradicts", "reflectory dream plan"},
		"/snapshots":       {"No turn here has a snapshot", "reflectory inject build"},
		"/plugins":         {"No plugin is installed here", "reflectory plugin add"},
		"/settings":        {"There is no token yet", "reflectory token new"},
		"/decisions":       {"No decision was recorded yet", "reflectory run"},
	} {
		root := s.tree(s.get(at), http.StatusOK)
		s.wellMade(at, s.get(at), root)
		commands := strings.Join(commandsOf(root), "\n")
		if text := textOf(root); !strings.Contains(text, want[0]) || !strings.HasPrefix(commands, want[1]) {
			t.Errorf("%s shows the commands %q: %.2000s", at, commands, text)
		}
	}
	for _, at := range []string{
		"/runs?status=passed", "/runs?workflow=none", "/memory?namespace=none", "/memory?state=open", "/sessions?owner=none", "/jobs?status=failed",
		"/decisions?point=gate", "/knowledge?namespace=none", "/snapshots?session=none", "/dream?namespace=none",
	} {
		root := s.tree(s.get(at), http.StatusOK)
		whole, _, _ := strings.Cut(at, "?")
		found := false
		for _, n := range all(root, "a") {
			to, _ := attr(n, "href")
			found = found || to == whole && textOf(n) == "Show everything"
		}
		if !found || !strings.Contains(textOf(root), " fits here.") || len(commandsOf(root)) != 0 {
			t.Errorf("%s doesn't lead to %s, or shows %q", at, whole, commandsOf(root))
		}
	}
}

// TestOverview_OfANewHostHasFirstSteps, until something has happened there; and it has none for
// somebody who only doesn't see what has.
func TestOverview_OfANewHostHasFirstSteps(t *testing.T) {
	for name, c := range map[string]struct {
		fill func(*site)
		at   string
		want bool
	}{
		"a new host":                    {func(*site) {}, "/", true},
		"of another period":             {func(*site) {}, "/?period=30d", true},
		"with a run":                    {func(s *site) { s.end(s.begin("w"), core.StatusPassed) }, "/", false},
		"with a running one":            {func(s *site) { s.begin("w") }, "/", false},
		"with a memory":                 {func(s *site) { s.Memory() }, "/", false},
		"with turns":                    {func(s *site) { s.Taught(core.OutcomeSuccess, 2) }, "/", false},
		"of a namespace":                {func(*site) {}, "/?namespace=none", false},
		"of one among several":          {func(s *site) { s.Memory() }, "/?namespace=none", false},
		"somebody who may not see runs": {func(s *site) { s.signInWith([]core.Scope{core.ScopeOperate}, operationtest.Here) }, "/", false},
	} {
		s := newSite(t)
		c.fill(s)
		root := s.tree(s.get(c.at), http.StatusOK)
		s.wellMade(c.at, s.get(c.at), root)
		if has := strings.Contains(textOf(root), "Begin here"); has != c.want {
			t.Errorf("%s: first steps: %t", name, has)
		}
		if c.want && len(commandsOf(root)) < len(beginnings()) {
			t.Errorf("%s: only the commands %q", name, commandsOf(root))
		}
	}
}
