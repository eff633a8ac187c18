package cli

import (
	"html"
	"regexp"
	"strings"
	"testing"
)

// TestTerms_AreExplainedOnHelpPages: what a command prints under a name of JSON has, on the command's
// page, the words for it.
func TestTerms_AreExplainedOnHelpPages(t *testing.T) {
	w := newPlainWorld(t)
	for command, words := range map[string][]string{
		"gate explain":   {"how its turns ended (q)", "what tools say (react)", "where it is needed (graph)", "what the decision adds (omega)", "all four together (utility)", "how sure the decision is (confidence)"},
		"gate run":       {"how sure the decision is (confidence)"},
		"memory explain": {"how much it helps (ttl_score)", "how its turns ended (q)", "how sure the decision is (confidence)"},
		"memory get":     {"how much it helps (ttl_score)"},
		"memory recall":  {"how good it is (score)", "how its turns ended (q)", "how turns went lately (bias)", "tool retrieve", "operation memory_recall"},
		"decisions list": {"how much it helps (ttl_score)", "how sure the decision is (confidence)"},
		"decisions show": {"what tools say (react)", "what the decision adds (omega)", "how turns went lately (bias)", "never left out (anchor)"},
		"session list":   {"how turns went lately (bias)"},
		"session show":   {"how turns went lately (bias)"},
		"session reset":  {"how turns went lately (bias)"},
		"inject build":   {"never left out (anchor)"},
		"inject show":    {"never left out (anchor)"},
		"evidence omega": {"what the decision adds (omega)"},
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
	for _, word := range []string{"how its turns ended (q)", "how much it helps (ttl_score)", "how turns went lately (bias)", "never left out (anchor)", "memory_recall", "memory reflect"} {
		if !strings.Contains(page, word) {
			t.Errorf("help terms lacks %q", word)
		}
	}
}

// bareName finds a name of JSON in what commands print, except in parentheses after its words.
var bareName = regexp.MustCompile(`(?im)(^|[^(\w-])(q|ttl|ttl_score|bias|react|omega)\b`)

// TestTerms_OutputHasWords: what commands print for people has words for the numbers that JSON and
// formulas give short names. gate explain shows the policy's formulas, which have their names.
func TestTerms_OutputHasWords(t *testing.T) {
	w := newPlainWorld(t)
	seedKnowledge(t, w.env["REFLECTORY_DATA_DIR"], "known")
	for _, line := range []string{
		"memory observe --namespace n --id tide --content The-tide-turns-at-six",
		"memory recall --namespace n --session mine --turn 1 tide",
		"memory feedback --session mine --turn 1 --outcome success --used tide",
		"memory feedback --session mine --turn 1 --outcome success",
		"memory get tide",
		"memory explain tide",
		"memory explain known",
		"memory list --namespace n",
		"session list",
		"session show mine",
		"session reset mine",
		"session resume mine --window 1",
		"memory recall --namespace n tide",
	} {
		stdout, stderr := w.ok(strings.Fields(line)...)
		if found := bareName.FindString(stdout + stderr); found != "" {
			t.Errorf("%s prints the bare name %q:\n%s%s", line, found, stdout, stderr)
		}
	}
}

// TestTerms_HelpPagesIndentThem, the first line too.
func TestTerms_HelpPagesIndentThem(t *testing.T) {
	w := newPlainWorld(t)
	if page := w.page("memory", "get"); !strings.Contains(page, "how much it helps (ttl_score)\n      The retention score:") {
		t.Errorf("%s", page)
	}
}

// command finds the commands that a page shows.
var command = regexp.MustCompile(`<div class="cmd"[^>]*>([^<]*)</div>`)

// TestPages_CommandsExist: each command that an empty page shows is one of this program, with flags
// that it has.
func TestPages_CommandsExist(t *testing.T) {
	w := newPlainWorld(t)
	s := w.serve()
	seen := map[string]bool{}
	for _, at := range []string{"/", "/runs", "/memory", "/knowledge", "/approvals", "/sessions", "/jobs", "/dream", "/dream/conflicts", "/snapshots", "/plugins", "/settings", "/decisions", "/audit"} {
		_, body := s.get(at)
		for _, found := range command.FindAllStringSubmatch(body, -1) {
			seen[html.UnescapeString(found[1])] = true
		}
	}
	for line := range seen {
		var args []string
		for _, word := range regexp.MustCompile(`'[^']*'|"[^"]*"|\S+`).FindAllString(strings.TrimPrefix(line, "reflectory "), -1) {
			args = append(args, strings.Trim(word, `'"`))
		}
		c, rest, err := allCommands().Find(args)
		if err != nil || !c.Runnable() || c.ParseFlags(rest) != nil || c.ValidateArgs(c.Flags().Args()) != nil {
			t.Errorf("%s: %v, %v", line, err, c.ParseFlags(rest))
		}
	}
	if len(seen) < 10 {
		t.Errorf("only %d commands are shown", len(seen))
	}
}
