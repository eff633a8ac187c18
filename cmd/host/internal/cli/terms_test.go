package cli

import (
	"strings"
	"testing"
)

// TestTerms_AreExplainedOnHelpPages: what a command prints under a name of JSON has, on the command's
// page, the words for it.
func TestTerms_AreExplainedOnHelpPages(t *testing.T) {
	w := newPlainWorld(t)
	for command, words := range map[string][]string{
		"gate explain":   {"how much it helps (q)", "what tools say (react)", "where it is needed (graph)", "what others found (omega)", "all four together (utility)", "how sure the decision is (confidence)"},
		"gate run":       {"how sure the decision is (confidence)"},
		"memory explain": {"worth keeping (ttl_score)", "how much it helps (q)", "how sure the decision is (confidence)"},
		"memory get":     {"worth keeping (ttl_score)"},
		"memory recall":  {"how good it is (score)", "how much it helps (q)", "how turns went lately (bias)", "tool retrieve", "operation memory_recall"},
		"decisions list": {"worth keeping (ttl_score)", "how sure the decision is (confidence)"},
		"decisions show": {"what tools say (react)", "what others found (omega)", "how turns went lately (bias)", "never left out (anchor)"},
		"session list":   {"how turns went lately (bias)"},
		"session show":   {"how turns went lately (bias)"},
		"session reset":  {"how turns went lately (bias)"},
		"inject build":   {"never left out (anchor)"},
		"inject show":    {"never left out (anchor)"},
		"evidence omega": {"what others found (omega)"},
		"evidence tool":  {"what tools say (react)"},
		"evidence dag":   {"where it is needed (graph)"},
		"runs list":      {"how good it is (score)"},
		"runs show":      {"how good it is (score)"},
		"discover":       {"how good it is (score)"},
		"reflect":        {"reflectory memory reflect"},
		"memory reflect": {"reflectory reflect has a model"},
	} {
		page := strings.Join(strings.Fields(w.page(strings.Fields(command)...)), " ")
		for _, word := range words {
			if !strings.Contains(page, word) {
				t.Errorf("the page of %s lacks %q", command, word)
			}
		}
	}
	page, _ := w.ok("help", "terms")
	page = strings.Join(strings.Fields(page), " ")
	for _, word := range []string{"how much it helps (q)", "worth keeping (ttl_score)", "how turns went lately (bias)", "never left out (anchor)", "memory_recall", "memory reflect"} {
		if !strings.Contains(page, word) {
			t.Errorf("help terms lacks %q", word)
		}
	}
}
