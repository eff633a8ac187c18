package text_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/memory/text"
	"github.com/reflectory/reflectory/core/memory/top"
)

// TestTopIsExact compares with the scores of all documents, in texts whose words are
// as frequent as in a language. Many documents are the same, so that many scores are.
func TestTopIsExact(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	words := rand.NewZipf(rnd, 1.2, 2, 2000)
	const documents = 1000
	var texts []string
	for i := range documents {
		if i > 0 && rnd.IntN(4) == 0 {
			texts = append(texts, texts[rnd.IntN(i)])
			continue
		}
		texts = append(texts, sentence(words, 1+rnd.IntN(30)))
	}
	x := index(texts...)
	odd := func(doc uint32) bool { return doc%2 == 1 }
	few := func(doc uint32) bool { return doc%97 == 0 }
	for i := range 20 {
		query := sentence(words, 1+rnd.IntN(12))
		if i%3 == 0 { // a rare word among frequent ones
			query = fmt.Sprint("w0 w1 w2 w3 w", 100+rnd.IntN(500))
		}
		for _, k := range []int{0, 1, 5, 20, 500} {
			for name, keep := range map[string]func(uint32) bool{"all": nil, "odd": odd, "few": few} {
				q := text.NewQuery(query, x)
				if got, want := x.Top(q, k, keep), slowTop(x, q, documents, k, keep); !slices.Equal(got, want) {
					t.Fatalf("%q, the first %d of %s: got %v, want %v", query, k, name, got, want)
				}
			}
		}
	}
}

// sentence is of so many words.
func sentence(words *rand.Zipf, length int) string {
	var b strings.Builder
	for range length {
		fmt.Fprintf(&b, "w%d ", words.Uint64())
	}
	return b.String()
}

// slowTop scores all documents.
func slowTop(x *text.Index, q *text.Query, documents, k int, keep func(uint32) bool) []top.Hit {
	hits, scores := []top.Hit{}, x.Scores(q, nil)
	for doc := range uint32(documents) {
		if score := scores.Of[doc]; score > 0 && (keep == nil || keep(doc)) {
			hits = append(hits, top.Hit{Doc: doc, Score: score})
		}
	}
	slices.SortFunc(hits, func(a, b top.Hit) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Doc, b.Doc)) })
	return hits[:min(k, len(hits))]
}

// TestQuery_FindsWhatIsMisspelled: each word that differs from one of a document by a letter, which is one more, one less, another
// one, or two that changed places, and no word that differs by two letters far apart.
func TestQuery_FindsWhatIsMisspelled(t *testing.T) {
	const letters = "éqю"
	for _, word := range []string{"qwfpgj", "ščřžďť", "привет", "qwfp"} {
		x := index("unrelated", word, "zzzz", "qqqqqqqqqq")
		found := func(query string) bool {
			return slices.ContainsFunc(x.Top(text.NewQuery(query, x), 4, nil), func(h top.Hit) bool { return h.Doc == 1 })
		}
		runes := []rune(word)
		edits := map[string]bool{}
		for i := range len(runes) + 1 {
			for _, l := range letters {
				edits[string(runes[:i])+string(l)+string(runes[i:])] = true
				if i < len(runes) {
					edits[string(runes[:i])+string(l)+string(runes[i+1:])] = true
				}
			}
			if i < len(runes) && len(runes) > 4 {
				edits[string(runes[:i])+string(runes[i+1:])] = true
			}
			if i+1 < len(runes) {
				edits[string(runes[:i])+string(runes[i+1])+string(runes[i])+string(runes[i+2:])] = true
			}
		}
		for edit := range edits {
			if !found(edit) {
				t.Errorf("%q doesn't find %q", edit, word)
			}
		}
		if far := "x" + string(runes[1:len(runes)-1]) + "x"; found(far) {
			t.Errorf("%q finds %q", far, word)
		}
	}
}
