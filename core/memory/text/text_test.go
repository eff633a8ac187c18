package text_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/memory/text"
	"github.com/reflectory/reflectory/core/memory/top"
)

func TestWords(t *testing.T) {
	long := strings.Repeat("é", 100)
	cases := []struct{ name, text, want string }{
		{"plain", "Go 1.26, it's HERE!", "go|1|26|it|s|here"},
		{"nothing", " \t\n—!", ""},
		{"marks stay with their letter", "nai\u0308ve हिन्दी", "naïve|हिन्दी"},
		{"compatibility forms", "ﬁle Ｇｏ ①", "file|go|1"},
		{"Greek and Russian", "ΑΘΗΝΑ Ёлка", "αθηνα|ёлка"},
		{"no spaces between words", "東京の天気", "東京|京の|の天|天気"},
		{"one character", "漢", "漢"},
		{"two scripts", "Go言語2", "go|言語|2"},
		{"Thai", "ภาษา", "ภา|าษ|ษา"},
		{"not UTF-8", "a\xffb", "a|b"},
		{"a huge word is cut at a character", long, strings.Repeat("é", 64)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := strings.Join(slices.Collect(text.Words(c.text)), "|"); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	for range text.Words("stop after one") {
		break
	}
}

// byNumber orders documents by their number.
func byNumber(a, b uint32) int { return cmp.Compare(a, b) }

func index(texts ...string) *text.Index {
	x := text.New(text.Language{}, byNumber)
	for i, s := range texts {
		x.Put(uint32(i), "", s)
	}
	x.Settle()
	return x
}

// docs is the order of what was found.
func docs(hits []top.Hit) string {
	var out []string
	for _, h := range hits {
		out = append(out, fmt.Sprint(h.Doc))
	}
	return strings.Join(out, " ")
}

func TestTop(t *testing.T) {
	corpus := []string{
		"the cat sat on the mat",
		"the dog sat on the log",
		"cats and dogs",
		"a cat, a cat, a cat in a very long story of many other things that go on and on",
		"the mat",
	}
	cases := []struct {
		name, query string
		k           int
		keep        func(uint32) bool
		want        string
	}{
		{"rare words count more", "the mat", 10, nil, "4 0 1"},
		{"a short text before a long one", "cat", 10, nil, "3 0"},
		{"the first k", "the", 2, nil, "0 1"},
		{"equal scores by order", "sat", 10, nil, "0 1"},
		{"no word", "zebra", 10, nil, ""},
		{"no query", "", 10, nil, ""},
		{"none wanted", "cat", 0, nil, ""},
		{"a filter", "the", 10, func(d uint32) bool { return d == 1 }, "1"},
		{"a word twice counts once", "mat mat the", 10, nil, "4 0 1"},
		{"case", "MAT", 10, nil, "4 0"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			x := index(corpus...)
			if got := docs(x.Top(text.NewQuery(c.query, x), c.k, c.keep)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// The figures are worked out by hand from the formula.
func TestScoreIsBM25(t *testing.T) {
	x := index("a b", "b c d e")
	q := text.NewQuery("a", x)
	got := x.Top(q, 1, nil)[0].Score
	idf := math.Log(1 + (2-1+0.5)/(1+0.5))
	want := idf * 1.9 / (1 + 0.9*(1-0.4+0.4*2/3))
	if math.Abs(got-want) > 1e-12 {
		t.Errorf("got %v, want %v", got, want)
	}
	if whole := q.Whole(); math.Abs(whole-idf) > 1e-12 {
		t.Errorf("Whole is %v, want %v", whole, idf)
	}
}

// TestHistoryLeavesNoTrace compares an index after many changes with one that
// was made at once.
func TestHistoryLeavesNoTrace(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	word := func() string { return string(rune('a' + rnd.IntN(20))) }
	x, now := text.New(text.Language{}, byNumber), map[uint32]string{}
	for range 2000 {
		doc := uint32(rnd.IntN(50))
		if rnd.IntN(3) == 0 {
			x.Remove(doc)
			delete(now, doc)
			continue
		}
		now[doc] = strings.Repeat(word()+" ", 1+rnd.IntN(3)) + word()
		x.Put(doc, "", now[doc])
	}
	fresh := text.New(text.Language{}, byNumber)
	for doc, s := range now {
		fresh.Put(doc, "", s)
	}
	x.Settle()
	fresh.Settle()
	if x.Len() != fresh.Len() || x.Len() != len(now) {
		t.Fatalf("%d documents, want %d", x.Len(), len(now))
	}
	for c := 'a'; c < 'a'+20; c++ {
		query := string(c) + " " + word()
		got, want := x.Top(text.NewQuery(query, x), 50, nil), fresh.Top(text.NewQuery(query, fresh), 50, nil)
		if !slices.Equal(got, want) {
			t.Errorf("%q: got %v, want %v", query, got, want)
		}
	}
	for doc := range now {
		x.Remove(doc)
	}
	if got := x.Top(text.NewQuery("a b c", x), 5, nil); len(got) != 0 || x.Len() != 0 {
		t.Errorf("an empty index finds %v", got)
	}
}

// Words that are rare in one part of what is searched, and not in all, weigh the
// same in each part.
func TestScoresFromSeveralIndicesCompare(t *testing.T) {
	whole := index("a x", "b y", "a z", "c a")
	left, right := index("a x", "b y"), index("a z", "c a")
	q, parts := text.NewQuery("a b", whole), text.NewQuery("a b", left, right)
	want := whole.Top(q, 4, nil)
	got := slices.Concat(left.Top(parts, 4, nil), right.Top(parts, 4, nil))
	for _, w := range want {
		part := slices.IndexFunc(got, func(h top.Hit) bool { return h.Score == w.Score })
		if part < 0 {
			t.Errorf("no part has %v: %v", w, got)
		}
	}
}

func FuzzWords(f *testing.F) {
	for _, s := range []string{"", "it's", "東京の", "a\xffb", "\u0301a", "น้ำ x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for w := range text.Words(s) {
			if w == "" || len(w) > 128 || strings.ContainsAny(w, " \n\t.,") {
				t.Errorf("%q is a word of %q", w, s)
			}
		}
	})
}
