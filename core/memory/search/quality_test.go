//go:build quality

package search_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/embed"
	"github.com/reflectory/reflectory/core/memory/search"
	"github.com/reflectory/reflectory/core/memory/text"
)

// The measure is R@10 on LoCoMo (github.com/snap-research/LoCoMo,
// data/locomo10.json): each turn of a conversation is a memory, titled by its
// speaker; a question finds the turns that its answer rests on. Questions whose
// answer isn't in the conversation (category 5) are left out.
const (
	found      = 10
	multiHop   = 1
	noAnswer   = 5
	resamples  = 10_000
	sampleFile = "REFLECTORY_LOCOMO"
)

// The ways to find that are compared: BM25 of all words as they are, BM25 of stems
// without stop words, vectors alone, and recall.
const (
	plainWords   = "plain BM25"
	stemmedWords = "stemmed BM25"
	byVectors    = "vectors"
	byRecall     = "recall"
)

// What recall must reach on the half that nothing was fitted on.
const (
	leastFound    = .71
	leastMultiHop = .43
)

// TestRecallQuality compares the ways. The weights were fitted on every other
// conversation, from the first on; what counts are the figures of those between.
func TestRecallQuality(t *testing.T) {
	file := os.Getenv(sampleFile)
	if file == "" {
		t.Fatalf("%s doesn't name the data: run make recall-quality DATA=…/locomo10.json", sampleFile)
	}
	conversations := readConversations(t, file)
	for half, name := range []string{"fitted on", "not fitted on"} {
		all, hops := map[string][]float64{}, map[string][]float64{}
		for i, c := range conversations {
			if i%2 == half {
				c.measure(t, all, hops)
			}
		}
		fmt.Printf("R@%d, %d questions, %d of them multi-hop, %s\n", found, len(all[byRecall]), len(hops[byRecall]), name)
		for _, way := range []string{plainWords, stemmedWords, byVectors, byRecall} {
			fmt.Printf("  %-12s  %.4f, multi-hop %.4f\n", way, mean(all[way]), mean(hops[way]))
		}
		for _, base := range []string{plainWords, stemmedWords} {
			low, high := interval(all[byRecall], all[base])
			fmt.Printf("  recall − %s: %+.4f, 95%% of %d paired bootstrap samples in [%+.4f, %+.4f]\n",
				base, mean(all[byRecall])-mean(all[base]), resamples, low, high)
		}
		if half == 0 {
			continue
		}
		if got := mean(all[byRecall]); got < leastFound || got < mean(all[stemmedWords]) {
			t.Errorf("recall finds %.4f, want at least %v and what stemmed BM25 finds, %.4f", got, leastFound, mean(all[stemmedWords]))
		}
		if got := mean(hops[byRecall]); got < leastMultiHop {
			t.Errorf("of multi-hop questions recall finds %.4f, want at least %v", got, leastMultiHop)
		}
	}
}

// conversation is one of the data set.
type conversation struct {
	docs      []*search.Doc
	questions []question
}

type question struct {
	text     string
	evidence []string
	multiHop bool
}

func readConversations(t *testing.T, file string) []conversation {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var raw []struct {
		Conversation map[string]json.RawMessage `json:"conversation"`
		QA           []struct {
			Question string   `json:"question"`
			Evidence []string `json:"evidence"`
			Category int      `json:"category"`
		} `json:"qa"`
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		t.Fatal(err)
	}
	list := make([]conversation, len(raw))
	for i, r := range raw {
		c := &list[i]
		ids := c.readTurns(t, r.Conversation)
		for _, qa := range r.QA {
			q := question{text: qa.Question, multiHop: qa.Category == multiHop}
			for _, e := range strings.FieldsFunc(strings.Join(qa.Evidence, " "), func(r rune) bool { return strings.ContainsRune(" ;,", r) }) {
				if ids[e] && !slices.Contains(q.evidence, e) {
					q.evidence = append(q.evidence, e)
				}
			}
			if qa.Category != noAnswer && len(q.evidence) > 0 {
				c.questions = append(c.questions, q)
			}
		}
	}
	return list
}

// readTurns makes documents of a conversation's turns and returns their ids. The
// caption of a picture is part of its turn.
func (c *conversation) readTurns(t *testing.T, sessions map[string]json.RawMessage) map[string]bool {
	t.Helper()
	ids := map[string]bool{}
	for n := range 100 {
		session := sessions[fmt.Sprintf("session_%d", n)]
		if session == nil {
			continue
		}
		var turns []struct {
			Speaker string `json:"speaker"`
			ID      string `json:"dia_id"`
			Text    string `json:"text"`
			Caption string `json:"blip_caption"`
		}
		if err := json.Unmarshal(session, &turns); err != nil {
			t.Fatal(err)
		}
		at := c.sessionTime(t, sessions[fmt.Sprintf("session_%d_date_time", n)])
		for i, turn := range turns {
			text := turn.Text
			if turn.Caption != "" {
				text += " [" + turn.Caption + "]"
			}
			ids[turn.ID] = true
			c.docs = append(c.docs, &search.Doc{
				ID: turn.ID, State: core.StateOpen, Q: 0.5, Title: turn.Speaker, Text: text,
				At: at.Add(time.Duration(i) * time.Second), Source: fmt.Sprint("session ", n),
			})
		}
	}
	return ids
}

// sessionTime is when a session was.
func (c *conversation) sessionTime(t *testing.T, raw json.RawMessage) time.Time {
	t.Helper()
	var written string
	if err := json.Unmarshal(raw, &written); err != nil {
		t.Fatal(err)
	}
	at, err := time.Parse("3:04 pm on 2 January, 2006", written)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// measure adds the share of the evidence that each way finds, question by question,
// and separately the share for multi-hop questions.
func (c *conversation) measure(t *testing.T, all, hops map[string][]float64) {
	t.Helper()
	texts := make([]string, len(c.docs))
	for i, d := range c.docs {
		texts[i] = d.Title + "\n" + d.Text
	}
	vectors, err := embed.Hashed{}.Embed(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	for i, d := range c.docs {
		d.Model, d.Vector = embed.Model, vectors[i]
	}
	x := search.New(one(c.docs), search.Options{})
	byID := func(a, b uint32) int { return cmp.Compare(c.docs[a].ID, c.docs[b].ID) }
	bm25 := map[string]*text.Index{plainWords: text.New(text.Language{}, byID), stemmedWords: text.New(text.LanguageOf("english"), byID)}
	for i := range c.docs {
		for _, x := range bm25 {
			x.Put(uint32(i), "", texts[i])
		}
	}
	for _, x := range bm25 {
		x.Settle()
	}
	for _, q := range c.questions {
		v, err := embed.Hashed{}.Embed(t.Context(), []string{q.text})
		if err != nil {
			t.Fatal(err)
		}
		note := func(way string, ids []string) {
			share := q.recall(ids)
			all[way] = append(all[way], share)
			if q.multiHop {
				hops[way] = append(hops[way], share)
			}
		}
		for way, x := range bm25 {
			var ids []string
			for _, hit := range x.Top(text.NewQuery(q.text, x), found, nil) {
				ids = append(ids, c.docs[hit.Doc].ID)
			}
			note(way, ids)
		}
		for way, words := range map[string]string{byVectors: "", byRecall: q.text} {
			query := search.Query{Text: words, Vector: v[0], Model: embed.Model, VectorWeight: embed.Hashed{}.Weight(), VectorsLast: true, Limit: found}
			query.Filter.Namespace = "ns"
			query.Nearest = search.Nearest
			results, err := x.Search(t.Context(), &query)
			if err != nil {
				t.Fatal(err)
			}
			ids := make([]string, len(results))
			for i, r := range results {
				ids[i] = r.ID
			}
			note(way, ids)
		}
	}
}

// recall is the share of the evidence that was found.
func (q *question) recall(ids []string) float64 {
	hits := 0
	for _, id := range ids {
		if slices.Contains(q.evidence, id) {
			hits++
		}
	}
	return float64(hits) / float64(len(q.evidence))
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// interval is where the middle 95 % of the differences lie when questions are
// drawn again and again from those that there are.
func interval(a, b []float64) (low, high float64) {
	rnd := rand.New(rand.NewPCG(1, 2))
	differences := make([]float64, resamples)
	for i := range differences {
		for range a {
			q := rnd.IntN(len(a))
			differences[i] += (a[q] - b[q]) / float64(len(a))
		}
	}
	slices.Sort(differences)
	return differences[resamples*25/1000], differences[resamples*975/1000]
}
