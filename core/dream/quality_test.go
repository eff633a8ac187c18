//go:build quality

package dream_test

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestGuardQuality changes one fact of each of 10,000 sentences or more in each way that it can
// be: of data/locomo10.json or data/msc_personas_all.json of github.com/snap-research/LoCoMo.
func TestGuardQuality(t *testing.T) {
	file := os.Getenv("REFLECTORY_LOCOMO")
	if file == "" {
		t.Fatal("REFLECTORY_LOCOMO doesn't name the data: run make guard-quality DATA=…/locomo10.json")
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	ends := regexp.MustCompile(`[.!?]+\s+`)
	seen := map[string]bool{}
	var sentences []string
	for _, text := range textsOf(t, raw) {
		for _, s := range ends.Split(text, -1) {
			if s = strings.TrimSpace(s); len(strings.Fields(s)) >= 4 && !seen[s] {
				seen[s] = true
				sentences = append(sentences, s)
			}
		}
	}
	t.Logf("%d sentences", len(sentences))
	if len(sentences) < 10_000 {
		t.Fatalf("%d sentences", len(sentences))
	}
	checkMutations(t, sentences, 1, 0.9)
}

// textsOf are the texts of a file, in order: what is said in conversations, or what personas
// say of themselves, by the part of the set and the speaker.
func textsOf(t *testing.T, raw []byte) (texts []string) {
	t.Helper()
	var conversations []struct {
		Conversation map[string]json.RawMessage `json:"conversation"`
	}
	if json.Unmarshal(raw, &conversations) == nil {
		for _, c := range conversations {
			for _, name := range slices.Sorted(maps.Keys(c.Conversation)) {
				var turns []struct {
					Text string `json:"text"`
				}
				_ = json.Unmarshal(c.Conversation[name], &turns) // else it is a date, or a speaker's name
				for _, turn := range turns {
					texts = append(texts, turn.Text)
				}
			}
		}
		return texts
	}
	var personas map[string][]map[string]json.RawMessage
	if err := json.Unmarshal(raw, &personas); err != nil {
		t.Fatalf("neither conversations nor personas: %v", err)
	}
	for _, part := range slices.Sorted(maps.Keys(personas)) {
		for _, pair := range personas[part] {
			for _, speaker := range slices.Sorted(maps.Keys(pair)) {
				var says []string
				_ = json.Unmarshal(pair[speaker], &says) // else it is a number
				texts = append(texts, says...)
			}
		}
	}
	return texts
}
