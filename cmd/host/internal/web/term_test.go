package web

import (
	"net/http"
	"strings"
	"testing"
)

// TestTerms_AreExplained: each of the gate's numbers has its word, on hover a sentence, and the
// sentence in the text, on the pages of a memory and of a decision.
func TestTerms_AreExplained(t *testing.T) {
	s := newSite(t)
	known := s.Promoted()
	decision, memory := known.DecisionID, memoryURL(known.PromotedFrom)
	for target, names := range map[string][]string{decisionURL(decision): {"q", "react", "graph", "omega", "utility", "confidence"}, memory: {"react", "graph", "omega", "confidence"}} {
		root := s.tree(s.get(target), http.StatusOK)
		s.wellMade(target, s.get(target), root)
		text := textOf(root)
		for _, name := range names {
			if term := termFor(name); !strings.Contains(text, term.Word) || !strings.Contains(text, term.Text) {
				t.Errorf("%s doesn't explain %s", target, name)
			}
		}
		for _, bare := range []string{"React", "Omega"} {
			if strings.Contains(text, bare) {
				t.Errorf("%s has the bare name %s", target, bare)
			}
		}
	}
	hovered := 0
	for _, n := range all(s.tree(s.get(memory), http.StatusOK), "abbr") {
		if title, _ := attr(n, "title"); title != "" {
			hovered++
		}
	}
	if hovered < 4 {
		t.Errorf("%d terms have a sentence on hover", hovered)
	}
}
