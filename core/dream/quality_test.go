//go:build quality

package dream_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestGuardQuality changes one fact of each of 10,000 sentences of LoCoMo
// (github.com/snap-research/LoCoMo, data/locomo10.json) in each way that it can be.
func TestGuardQuality(t *testing.T) {
	file := os.Getenv("REFLECTORY_LOCOMO")
	if file == "" {
		t.Fatal("REFLECTORY_LOCOMO doesn't name the data: run make guard-quality DATA=…/locomo10.json")
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var conversations []struct {
		Conversation map[string]json.RawMessage `json:"conversation"`
	}
	if err := json.Unmarshal(raw, &conversations); err != nil {
		t.Fatal(err)
	}
	ends := regexp.MustCompile(`[.!?]+\s+`)
	seen := map[string]bool{}
	var sentences []string
	for _, c := range conversations {
		for _, session := range c.Conversation {
			var turns []struct {
				Text string `json:"text"`
			}
			if json.Unmarshal(session, &turns) != nil {
				continue // a date, or a speaker's name
			}
			for _, turn := range turns {
				for _, s := range ends.Split(turn.Text, -1) {
					if s = strings.TrimSpace(s); len(strings.Fields(s)) >= 4 && !seen[s] {
						seen[s] = true
						sentences = append(sentences, s)
					}
				}
			}
		}
	}
	t.Logf("%d sentences", len(sentences))
	if len(sentences) < 10_000 {
		t.Fatalf("%d sentences", len(sentences))
	}
	checkMutations(t, sentences, 1, 0.9)
}
