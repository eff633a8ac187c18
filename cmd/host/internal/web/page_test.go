package web

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// wellMade checks what holds for every page.
func (s *site) wellMade(target string, a *answer, root *html.Node) {
	s.T.Helper()
	wrong := func(format string, args ...any) {
		s.T.Helper()
		s.T.Errorf("%s: %s", target, fmt.Sprintf(format, args...))
	}
	if n := len(all(root, "h1")); n != 1 {
		wrong("it has %d h1", n)
	}
	if n := len(a.body); n > 150<<10 {
		wrong("it has %d bytes", n)
	}
	if at := strings.IndexFunc(a.body, unseen); at >= 0 {
		wrong("it has an unseen character at %q", a.body[max(0, at-40):at+10])
	}
	ids := map[string]bool{}
	for _, n := range all(root) {
		if id, has := attr(n, "id"); has {
			if ids[id] {
				wrong("two elements have the id %s", id)
			}
			ids[id] = true
		}
		for _, at := range n.Attr {
			if at.Key == "style" || strings.HasPrefix(at.Key, "on") {
				wrong("<%s> has the attribute %s", n.Data, at.Key)
			}
			if slices.Contains([]string{"href", "src", "action"}, at.Key) && !strings.HasPrefix(at.Val, "/") && !strings.HasPrefix(at.Val, "#") {
				wrong("<%s> leads to %q", n.Data, at.Val)
			}
		}
		switch n.Data {
		case "style", "iframe", "object", "embed", "base":
			wrong("it has <%s>", n.Data)
		case "script":
			if src, _ := attr(n, "src"); src != "/assets/reflectory.js" || n.FirstChild != nil {
				wrong("it has a script %q", src)
			}
		case "th":
			if strings.TrimSpace(textOf(n)) == "" {
				wrong("it has a th without text")
			}
		}
	}
	for _, n := range all(root, "input", "select", "textarea") {
		if kind, _ := attr(n, "type"); kind == "hidden" {
			continue
		}
		id, _ := attr(n, "id")
		if !slices.ContainsFunc(all(root, "label"), func(l *html.Node) bool { of, _ := attr(l, "for"); return id != "" && of == id }) {
			wrong("the field %s has no label", id)
		}
	}
	for _, n := range all(root, "a", "button") {
		label, _ := attr(n, "aria-label")
		if strings.TrimSpace(textOf(n)+label) == "" {
			wrong("<%s> has no text", n.Data)
		}
	}
}

// walk visits the pages that can be reached by links from some addresses, up to 60, checks
// each, and returns the addresses.
func (s *site) walk(from ...string) []string {
	s.T.Helper()
	seen, next := map[string]bool{}, from
	for len(next) > 0 {
		target := next[0]
		next = next[1:]
		first, _, _ := strings.Cut(strings.Trim(strings.Split(target, "?")[0], "/"), "/")
		if seen[target] || first != "" && !offered("/"+first) {
			continue
		}
		seen[target] = true
		a := s.get(target)
		if a.StatusCode != http.StatusOK {
			s.T.Errorf("%s answers %d: %.300s", target, a.StatusCode, a.body)
			continue
		}
		if !strings.HasPrefix(a.Header.Get("Content-Type"), "text/html") {
			continue
		}
		root := s.tree(a, http.StatusOK)
		s.wellMade(target, a, root)
		for _, n := range all(root, "a") {
			if href, _ := attr(n, "href"); strings.HasPrefix(href, "/") && len(seen)+len(next) < 60 {
				next = append(next, href)
			}
		}
	}
	var list []string
	for target := range seen {
		list = append(list, target)
	}
	slices.Sort(list)
	return list
}

// TestPages_AreWellMade: on an empty store every page that can be reached has one heading,
// labels, no script or style of its own, and links that answer.
func TestPages_AreWellMade(t *testing.T) {
	s := newSite(t)
	if visited := s.walk("/"); len(visited) < 10 {
		t.Errorf("only %v could be reached", visited)
	}
}
