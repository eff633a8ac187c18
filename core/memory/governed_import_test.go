package memory_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/sdk"
)

// imported puts an export into an empty store of governed memories.
func imported(t *testing.T, text string) (*governed, error) {
	t.Helper()
	g := newGoverned(t, mem.Open(), nil)
	_, err := store.Import(t.Context(), g.store, strings.NewReader(text), g.parts(), nil)
	return g, err
}

// forged changes lines of an export, and gives it the end that fits. A change
// returns the line again, "" to leave it out.
func forged(text string, change func(line string) string) string {
	lines := strings.SplitAfter(text, "\n")
	var body strings.Builder
	body.WriteString(lines[0])
	n := 0
	for _, line := range lines[1 : len(lines)-2] {
		line = change(line)
		body.WriteString(line)
		n += strings.Count(line, "\n")
	}
	sum := sha256.Sum256([]byte(body.String()))
	return body.String() + fmt.Sprintf(`{"end":true,"records":%d,"digest":"sha256:%s"}`+"\n", n, hex.EncodeToString(sum[:]))
}

func TestAnImportRoundTripsEverything(t *testing.T) {
	g := newGoverned(t, empty(t), nil)
	g.script(t)
	text := g.export(t)
	again, err := imported(t, text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(text, again.export(t)); diff != "" {
		t.Errorf("exported again (-first +second):\n%s", diff)
	}
	again.sound(t)
}

// TestAnImportRefusesWhatNoDecisionMade forges exports so that they hold what the
// gate didn't decide, or what the journal doesn't tell.
func TestAnImportRefusesWhatNoDecisionMade(t *testing.T) {
	g := newGoverned(t, empty(t), nil)
	g.script(t)
	text := g.export(t)
	p, err := g.Knowledge.Promotion(t.Context(), "useful")
	must(t, err)
	cases := []struct{ name, key, from, to string }{
		{"knowledge without its decision", "gate-decision/" + p.Decision, "", ""},
		{"knowledge without its promotion", "promotion/useful", "", ""},
		{"a promotion without its knowledge", "knowledge/" + p.KnowledgeID, "", ""},
		{"a promoted memory without its pointer", "memory/useful", `"promoted_to"`, `"x"`},
		{"a memory that only says it is promoted", "memory/plain", `"state":"cooling"`, `"state":"promoted"`},
		{"knowledge of another decision", "knowledge/" + p.KnowledgeID, `"decision_id":"0`, `"decision_id":"1`},
		{"knowledge with another content", "knowledge/" + p.KnowledgeID, "content of useful", "forged"},
		{"knowledge with another pattern", "knowledge/" + p.KnowledgeID, `"reusable_pattern_summary":"`, `"reusable_pattern_summary":"forged `},
		{"knowledge with another title", "knowledge/" + p.KnowledgeID, `"title":"`, `"title":"forged `},
		{"a decision with another reason", "gate-decision/" + p.Decision, `"reason":"`, `"reason":"forged `},
		{"a memory with another content", "memory/plain", "content of plain", "forged"},
		{"a memory with another title", "memory/plain", `"title":"`, `"title":"forged `},
		{"a memory in another state", "memory/plain", `"state":"cooling"`, `"state":"active"`},
		{"a purge without its tombstone", "memory-purged/useless", "", ""},
		{"a purge without any decision", "gate-decision/", `"next_action":"purge"`, ""},
		{"a purge with another decision", "gate-decision/", `"next_action":"purge"`, `"next_action":"retain"`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			changed := 0
			text := forged(text, func(line string) string {
				if !strings.HasPrefix(line, `{"key":"`+c.key) || !strings.Contains(line, c.from) {
					return line
				}
				changed++
				if c.to == "" {
					return ""
				}
				return strings.Replace(line, c.from, c.to, 1)
			})
			if changed != 1 {
				t.Fatalf("%d lines were changed", changed)
			}
			if _, err := imported(t, text); sdk.ReasonOf(err) != "import_refused" {
				t.Errorf("imported with %v", err)
			}
		})
	}
}
