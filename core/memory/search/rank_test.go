package search_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/lifecycle"
	"github.com/reflectory/reflectory/core/memory/search"
)

func near(a, b float64) bool { return math.Abs(a-b) < 1e-6 }

// The figures are worked out by hand.
func TestScoresSayWhatTheyAreMadeOf(t *testing.T) {
	corpus := one{
		doc("likeness", "alpha", 0.8, 0.6),
		with(doc("liked", "beta", 0.6, 0.8), func(d *search.Doc) { d.Q = 1 }),
		with(doc("first", "iota", 0.8, 0.6), func(d *search.Doc) { d.Depth = 1 }),
		with(doc("deep", "gamma", 0.8, 0.6), func(d *search.Doc) { d.Depth = 2 }),
		with(doc("deeper", "delta", 0.8, 0.6), func(d *search.Doc) { d.Depth = 9 }),
		doc("opposite", "epsilon", -1, 0),
		doc("words", "zeta eta"),
	}
	east := search.Query{Vector: []float32{1, 0}, Model: "m", Nearest: 20, Limit: 10}
	cases := []struct {
		name, id          string
		options           search.Options
		text              string
		similarity, fused float64
		rank              int
		boost, q, score   float64
	}{
		{name: "cosine and q", id: "likeness", similarity: 0.8, fused: 0.8, boost: 1, q: 0.5, score: 0.71},
		{name: "q lifts", id: "liked", similarity: 0.6, fused: 0.6, boost: 1, q: 1, score: 0.72},
		{name: "a first reflection", id: "first", options: search.Options{DepthBoost: 1.2}, similarity: 0.8, fused: 0.8, boost: 1.26, q: 0.5, score: 0.71 * 1.26},
		{name: "a reflection", id: "deep", options: search.Options{DepthBoost: 1.2}, similarity: 0.8, fused: 0.8, boost: 1.32, q: 0.5, score: 0.71 * 1.32},
		{name: "depth counts up to 3", id: "deeper", options: search.Options{DepthBoost: 1.2}, similarity: 0.8, fused: 0.8, boost: 1.38, q: 0.5, score: 0.71 * 1.38},
		{name: "boosts off", id: "deep", options: search.Options{DepthBoost: 1}, similarity: 0.8, fused: 0.8, boost: 1, q: 0.5, score: 0.71},
		{name: "another boost", id: "deep", options: search.Options{DepthBoost: 2}, similarity: 0.8, fused: 0.8, boost: 2.2, q: 0.5, score: 0.71 * 2.2},
		{name: "plain", id: "deep", options: search.Options{Plain: true}, similarity: 0.8, fused: 0.8, boost: 1, q: 0.5, score: 0.8},
		{name: "clamped", id: "opposite", options: search.Options{Plain: true}, similarity: 0, fused: 0, boost: 1, q: 0.5, score: 0},
		// "zeta eta" is the longest of the texts, so that its words count a little less
		// than once each: 1/(1+0.9·(0.6+0.4·2/(8/7))) of 1.9 is 0.8756.
		{name: "all words, no vector", id: "words", text: "eta zeta", similarity: -1, fused: 0.875576, rank: 1, boost: 1, q: 0.5, score: 0.7*0.875576 + 0.15},
		{name: "likeness where others have words", id: "likeness", text: "eta zeta", similarity: 0.8, fused: 0.4, boost: 1, q: 0.5, score: 0.43},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			q := east
			q.Text = c.text
			for _, f := range find(t, search.New(corpus, c.options), q) {
				if f.ID != c.id {
					continue
				}
				similarity := -1.0
				if f.Why.Similarity != nil {
					similarity = *f.Why.Similarity
				}
				if !near(similarity, c.similarity) || !near(f.Why.Fused, c.fused) || f.Why.LexicalRank != c.rank ||
					!near(f.Why.DepthBoost, c.boost) || f.Why.Q != c.q || !near(f.Score, c.score) {
					t.Errorf("similarity %v, score %v, why %+v", similarity, f.Score, f.Why)
				}
				return
			}
			t.Error("it wasn't found")
		})
	}
}

func TestEqualScoresComeByID(t *testing.T) {
	store := several{
		"ns":   {doc("c", "word", 1, 0), doc("a", "word", 1, 0)},
		"ns/1": {doc("b", "word", 1, 0), doc("d", "word", 1, 0)},
	}
	for _, q := range []search.Query{
		{Text: "word"}, {Vector: []float32{1, 0}, Model: "m"}, {Text: "word", Vector: []float32{1, 0}, Model: "m"},
	} {
		q.Filter.Namespace, q.Filter.Subtree, q.Nearest, q.Limit = "ns", true, 3, 3
		if got := ids(find(t, search.New(store, search.Options{}), q)); got != "a b c" {
			t.Errorf("%+v: got %q", q, got)
		}
	}
}

// Two of each list, and of these four the first three by reciprocal rank: what is
// second in both lists goes before what is first in one.
func TestCandidatesAreFusedByReciprocalRank(t *testing.T) {
	first, second := []float32{1, 0}, []float32{0.8, 0.6}
	cases := []struct {
		name   string
		corpus one
		want   string
	}{
		{"equal ranks by id", one{
			doc("n1", "nothing", first...), doc("n2", "nothing", second...), doc("w1", "word"), doc("w2", "word plus extra"),
		}, "n1 n2 w1"},
		{"in both lists", one{
			doc("n1", "nothing", first...), doc("z", "word plus extra", second...), doc("w1", "word"), doc("w3", "word plus extra long text"),
		}, "n1 w1 z"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			q := search.Query{Text: "word", Vector: first, Model: "m", Nearest: 2, Limit: 5}
			got := strings.Fields(ids(find(t, search.New(c.corpus, search.Options{}), q)))
			slices.Sort(got)
			if strings.Join(got, " ") != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// TestWhatIsNearComesFirst has candidates by their cosine: all with at least .65 of
// the best one's come before all others; the score orders within each group, and the cut comes last.
func TestWhatIsNearComesFirst(t *testing.T) {
	at := func(id string, cosine, q float64, uses, failed int64) *search.Doc {
		d := doc(id, id, float32(cosine), float32(math.Sqrt(1-cosine*cosine)))
		d.Q, d.Uses, d.Window = q, uses, window(uses, failed)
		return d
	}
	cases := []struct {
		name   string
		corpus one
		limit  int
		want   string
	}{
		{"q orders within the groups", one{at("a", .6, .5, 0, 0), at("b", .45, 1, 0, 0), at("c", .38, .5, 0, 0), at("d", .3, 1, 0, 0)}, 9, "b a d c"},
		{"a share of .65 is near", one{at("a", .8, 0, 0, 0), at("b", .6, 0, 0, 0), at("c", .52, 1, 0, 0), at("d", .5199, 1, 0, 0)}, 9, "c a b d"},
		{"the second isn't near for being it", one{at("a", .9, 0, 40, 40), at("b", .1, 0, 40, 40), at("c", .099, 1, 0, 0)}, 9, "a c"},
		{"what is near and was used isn't cut off", one{at("a", .6, 1, 9, 0), at("b", .59, 1, 9, 0), at("c", .58, .5, 1, 0), at("d", .57, .5, 0, 0)}, 2, "a b c"},
		{"what keeps failing sinks", one{at("a", .6, .5, 40, 40), at("b", .45, .5, 0, 0), at("c", .2, 1, 0, 0)}, 9, "b a c"},
		{"it may be cut off", one{at("a", .6, 0, 0, 0), at("b", .45, .5, 0, 0), at("c", .5, .5, 0, 0)}, 2, "c b"},
		{"one failure isn't the end", one{at("a", .9, .5, 1, 1), at("b", .4, .5, 0, 0)}, 9, "a b"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			q := search.Query{Vector: []float32{1, 0}, Model: "m", Nearest: 20, Limit: c.limit, Most: 5}
			if got := ids(find(t, search.New(c.corpus, search.Options{}), q)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestWhatFailsDoesntHideOthers: where all that is near keeps failing, or is passed over, what comes next is
// near too; but nothing unrelated.
func TestWhatFailsDoesntHideOthers(t *testing.T) {
	at := func(id string, cosine, q float64, w core.Window) *search.Doc {
		d := doc(id, id, float32(cosine), float32(math.Sqrt(1-cosine*cosine)))
		d.Q, d.Uses, d.Window = q, 1, w
		return d
	}
	passed := func(n int) core.Window { return core.Window(strings.Repeat("o"+lifecycle.Who("someone"), n)) }
	cases := []struct {
		name   string
		corpus one
		want   string
	}{
		{"two of two failed", one{at("a", .9, .1, window(2, 2)), at("b", .5, .9, window(2, 0)), at("c", .1, 1, "")}, "b a c"},
		{"one of one failed", one{at("a", .9, .3, window(1, 1)), at("b", .5, .9, window(2, 0))}, "a b"},
		{"two of three failed", one{at("a", .9, .3, window(3, 2)), at("b", .5, .9, window(2, 0))}, "a b"},
		{"eight times passed over", one{at("a", .9, .1, passed(8)), at("b", .5, 1, window(2, 0))}, "b a"},
		{"seven times passed over", one{at("a", .9, .1, passed(7)), at("b", .5, 1, window(2, 0))}, "a b"},
		{"another near one does well", one{at("a", .9, .1, window(2, 2)), at("b", .6, .2, ""), at("c", .5, 1, window(2, 0))}, "b a c"},
		{"all near ones fail", one{at("a", .9, .1, window(2, 2)), at("b", .6, .2, window(4, 4)), at("c", .5, 1, window(2, 0))}, "c a b"},
		{"the next ones fail too", one{at("a", .9, .1, window(2, 2)), at("b", .5, .1, window(2, 2)), at("c", .32, .9, window(2, 0))}, "c a b"},
		{"what is unrelated isn't near", one{at("a", .9, .1, window(2, 2)), at("b", .26, 1, window(2, 0))}, "a b"},
		{"what proved itself is near", one{at("a", .9, .1, ""), at("b", .5, 1, window(9, 0))}, "b a"},
		{"of two that proved themselves the wording decides", one{at("a", .9, .1, ""), at("b", .5, 1, window(9, 0)), at("c", .45, 1, window(9, 0))}, "a b c"},
		{"what proved itself on another subject isn't near", one{at("a", .9, .1, ""), at("b", .26, 1, window(9, 0))}, "a b"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			q := search.Query{Vector: []float32{1, 0}, Model: "m", Subject: "someone", Nearest: 20, Limit: 9, Most: 9}
			if got := ids(find(t, search.New(c.corpus, search.Options{}), q)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestOthersReportsDontChangeTheOrder: whatever another subject reports about a memory that hasn't proved itself,
// the order of those that helped the subject which asks twice or more stays, and so does which of them are found.
func TestOthersReportsDontChangeTheOrder(t *testing.T) {
	mine := func(outcomes string) (w core.Window) {
		for _, c := range outcomes {
			w += core.Window(string(c) + lifecycle.Who("someone"))
		}
		return w
	}
	for _, of := range []string{"", "f", "ff", "sf", "fff", "oooooooo", "ffoo", "s"} {
		orders := map[string]string{}
		for _, reports := range []string{"", "f", "ff", "fffff", "s", "ss", "sssss", "oooooooo", "sf", "ffsss"} {
			w := mine(of)
			for _, c := range reports {
				w += core.Window(string(c) + lifecycle.Who("another"))
			}
			corpus := one{}
			for _, m := range []struct {
				id     string
				cosine float64
				window core.Window
			}{{"a", .9, w}, {"b", .55, mine("sss")}, {"c", .5, mine("ssf")}, {"d", .26, mine("sssss")}, {"e", .24, mine("ssff")}} {
				d := doc(m.id, m.id, float32(m.cosine), float32(math.Sqrt(1-m.cosine*m.cosine)))
				d.Window, d.Uses = m.window, int64(len(m.window)/6)
				corpus = append(corpus, d)
			}
			q := search.Query{Vector: []float32{1, 0}, Model: "m", Subject: "someone", Nearest: 20, Limit: 9, Most: 9}
			order := strings.ReplaceAll(ids(find(t, search.New(corpus, search.Options{}), q)), "a", "")
			orders[strings.Join(strings.Fields(order), " ")] = reports
		}
		if len(orders) != 1 {
			t.Errorf("after %q of someone's own, another's reports lead to %v", of, orders)
		}
	}
}

// window is one of so many uses of one subject, of which the last ones failed.
func window(uses, failed int64) core.Window {
	entry := func(outcome string, n int64) string {
		return strings.Repeat(outcome+lifecycle.Who("someone"), int(n))
	}
	return core.Window(entry("s", uses-failed) + entry("f", failed))
}

// A failure that was the only use leaves two thirds, and what failed five times of five two sevenths.
func TestFailuresLowerTheScore(t *testing.T) {
	for _, c := range []struct {
		uses, failed int64
		factor       float64
	}{{0, 0, 1}, {5, 0, 1}, {1, 1, 2. / 3}, {4, 2, 2. / 3}, {5, 5, 2. / 7}} {
		corpus := one{with(doc("a", "word"), func(d *search.Doc) { d.Uses, d.Window = c.uses, window(c.uses, c.failed) })}
		got := find(t, search.New(corpus, search.Options{}), search.Query{Text: "word", Subject: "someone"})[0]
		want := (.7 + .3*got.Why.Q) * c.factor
		if c.uses-c.failed >= 3 && c.factor == 1 { // it proved itself
			want *= 1.2
		}
		if !near(got.Why.FailureFactor, c.factor) || !near(got.Score, want) || (got.Why.Q < .5) != (c.factor < 1) {
			t.Errorf("%d of %d uses failed: %+v, want factor %v", c.failed, c.uses, got, c.factor)
		}
		plain := find(t, search.New(corpus, search.Options{Plain: true}), search.Query{Text: "word"})[0]
		if plain.Score != 1 || plain.Why.FailureFactor != 1 {
			t.Errorf("plain: %+v", plain)
		}
	}
}
