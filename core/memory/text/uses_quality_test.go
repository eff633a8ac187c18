//go:build quality

package text_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/reflectory/reflectory/core/memory/text"
)

// usesFolder names a clone of github.com/alexa/alexa-with-dstc9-track1-dataset: questions of guests,
// the answers that people wrote with one known snippet in front of them, and all other snippets.
const usesFolder = "REFLECTORY_DSTC9"

// What inferred uses must reach on the part that nothing was fitted on. An answer may say no more than
// "Yes, we do", so that many uses can't be seen; what matters is that few are credited falsely.
const (
	leastPrecision = .9
	leastSeen      = .4
	mostByChance   = .1
)

// TestUsesQuality measures how often a use is seen, how often what is seen is wrong, and how often an
// answer to another question shows a use.
func TestUsesQuality(t *testing.T) {
	folder := os.Getenv(usesFolder)
	if folder == "" {
		t.Fatalf("%s doesn't name the data: run make uses-quality DATA=…", usesFolder)
	}
	measure := func(knowledge, labels string) (seen, precision, byChance float64) {
		s := readSnippets(t, filepath.Join(folder, knowledge))
		turns := s.turns(t, filepath.Join(folder, labels))
		right, wrong, chance := 0, 0, 0
		for i, turn := range turns {
			for j, strength := range text.Uses(turn.reply, turn.question, turn.offered, text.RarityIn(s.index)) {
				switch {
				case strength > 0 && j == 0:
					right++
				case strength > 0:
					wrong++
				}
			}
			other := turns[(i+len(turns)/2)%len(turns)].reply
			if slices.ContainsFunc(text.Uses(other, turn.question, turn.offered, text.RarityIn(s.index)), func(strength float64) bool { return strength > 0 }) {
				chance++
			}
		}
		n := float64(len(turns))
		seen, precision, byChance = float64(right)/n, float64(right)/float64(right+wrong), float64(chance)/n
		fmt.Printf("%s: of %d uses %.3f are seen, %.3f of those that are seen are right, another question's answer shows one in %.3f\n",
			labels, len(turns), seen, precision, byChance)
		return seen, precision, byChance
	}
	measure("data/knowledge.json", "data/val/labels.json") // what the bounds were fitted on
	seen, precision, byChance := measure("data_eval/knowledge.json", "data_eval/test/labels.json")
	if seen < leastSeen || precision < leastPrecision || byChance > mostByChance {
		t.Errorf("want at least %v seen, %v of them right, and at most %v by chance", leastSeen, leastPrecision, mostByChance)
	}
}

// snippets are the texts that answers rest on.
type snippets struct {
	list   []snippet
	places map[string]int // by domain, entity and number
	index  *text.Index
}

type snippet struct{ entity, question, answer string }

func readSnippets(t *testing.T, file string) *snippets {
	t.Helper()
	var raw map[string]map[string]struct {
		Docs map[string]struct{ Title, Body string }
	}
	readJSON(t, file, &raw)
	s := &snippets{places: map[string]int{}, index: text.New(text.LanguageOf("auto"), cmp.Compare[uint32])}
	for _, domain := range slices.Sorted(maps.Keys(raw)) {
		for _, entity := range slices.Sorted(maps.Keys(raw[domain])) {
			docs := raw[domain][entity].Docs
			for _, number := range slices.Sorted(maps.Keys(docs)) {
				doc := docs[number]
				s.places[domain+"/"+entity+"/"+number] = len(s.list)
				s.index.Put(uint32(len(s.list)), "", doc.Body)
				s.list = append(s.list, snippet{domain + "/" + entity, doc.Title, doc.Body})
			}
		}
	}
	s.index.Settle()
	return s
}

// reply is an answer with what its author was offered, the text that was used first.
type reply struct {
	question, reply string
	offered         []string
}

// offers is how many texts a turn offers.
const offers = 5

func (s *snippets) turns(t *testing.T, file string) (list []reply) {
	t.Helper()
	var labels []struct {
		Target    bool
		Response  string
		Knowledge []struct {
			Domain   string
			EntityID json.RawMessage `json:"entity_id"`
			DocID    int             `json:"doc_id"`
		}
	}
	readJSON(t, file, &labels)
	for _, label := range labels {
		if !label.Target {
			continue
		}
		k := label.Knowledge[0]
		place, known := s.places[fmt.Sprintf("%s/%s/%d", k.Domain, trimmed(k.EntityID), k.DocID)]
		if !known {
			t.Fatalf("%s has no snippet %s/%s/%d", file, k.Domain, k.EntityID, k.DocID)
		}
		used := s.list[place]
		turn := reply{question: used.question, reply: label.Response, offered: []string{used.answer}}
		// The other snippets of the same place that fit the question best.
		hits := s.index.Top(text.NewQuery(used.question, s.index), offers, func(doc uint32) bool {
			return int(doc) != place && s.list[doc].entity == used.entity
		})
		for _, hit := range hits[:min(len(hits), offers-1)] {
			turn.offered = append(turn.offered, s.list[hit.Doc].answer)
		}
		list = append(list, turn)
	}
	return list
}

func trimmed(id json.RawMessage) string {
	var s string
	if json.Unmarshal(id, &s) != nil {
		return string(id)
	}
	return s
}

func readJSON(t *testing.T, file string, v any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, v)
	}
	if err != nil {
		t.Fatal(err)
	}
}
