package web

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/net/html"

	"github.com/reflectory/reflectory/core/host/operation"
)

// bareTerms are the headings and labels of a page that have the name of a term without the page
// explaining it, and terms that are explained on hover only. Every page that a test visits is checked.
func bareTerms(root *html.Node) (problems []string) {
	text := textOf(root)
	verbs := []string{"recall", "reflect"} // which pages use as such
	for _, n := range all(root, "th", "h2", "h3", "dt", "label", "caption") {
		if scope, _ := attr(n, "scope"); scope == "row" || len(all(n, "code")) > 0 {
			continue // it names data, or is a name of JSON as such
		}
		label := strings.ReplaceAll(strings.ToLower(textOf(n)), "retention score", "") // which are the words for ttl_score
		words := strings.FieldsFunc(label, func(r rune) bool { return !unicode.IsLetter(r) && r != '_' })
		for _, term := range operation.Terms() {
			if slices.Contains(words, term.Name) && !slices.Contains(verbs, term.Name) && !strings.Contains(text, term.Text) {
				problems = append(problems, fmt.Sprintf("%q has the bare name %s", textOf(n), term.Name))
			}
		}
	}
	for _, n := range all(root, "abbr") {
		if title, _ := attr(n, "title"); !strings.Contains(text, title) {
			problems = append(problems, fmt.Sprintf("%q is explained on hover only", textOf(n)))
		}
	}
	return problems
}

// TestTerms_BareOnesAreFound: the check of all pages finds names without an explanation.
func TestTerms_BareOnesAreFound(t *testing.T) {
	sentence := termFor("score").Text
	for page, want := range map[string]int{
		"<h2>Score</h2>":                          1,
		"<table><th>Best score</th></table>":      1,
		"<dt>ttl_score</dt>":                      1,
		"<label>Score from</label>":               1,
		"<h3>Omega and react</h3>":                2,
		"<h2>Scores</h2><p>score</p>":             0,
		"<h2>Score</h2><p>" + sentence:            0,
		"<h2>Recall</h2>":                         0,
		"<dt><code>score</code></dt>":             0,
		"<table><th scope=row>Score</th></table>": 0,
		"<caption>Retention score</caption>":      0,
		`<abbr title="A sentence.">word</abbr>`:   1,
		`<abbr title="It.">word</abbr><p>It.`:     0,
	} {
		root, err := html.Parse(strings.NewReader(page))
		if err != nil {
			t.Fatal(err)
		}
		if got := bareTerms(root); len(got) != want {
			t.Errorf("%s: %q", page, got)
		}
	}
}

// TestTerms_AreExplained: each of the gate's numbers has its word, on hover a sentence, and the
// sentence in the text, on the pages of a memory and of a decision.
func TestTerms_AreExplained(t *testing.T) {
	s := newSite(t)
	known := s.Promoted()
	s.Decision() // all that were made before are recorded then
	decision, memory := known.DecisionID, memoryURL(known.PromotedFrom)
	for target, names := range map[string][]string{decisionURL(decision): {"q", "react", "graph", "omega", "utility", "confidence"}, memory: {"react", "graph", "omega", "confidence", "ttl_score", "q"}, "/decisions?point=gate": {"confidence"}, "/decisions?point=retention": {"ttl_score"}} {
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
