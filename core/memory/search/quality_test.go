//go:build quality

package search

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/text"
)

// docSource is a namespace of documents that don't change.
type docSource []*Doc

func (s docSource) Positions(context.Context, string, bool) ([]Position, error) {
	return []Position{{Namespace: "ns", Seq: 1, Language: "auto", Cut: core.DefaultCut}}, nil
}

func (s docSource) Load(_ context.Context, _ string, fn func(*Doc) error) (uint64, error) {
	for _, d := range s {
		if err := fn(d); err != nil {
			return 0, err
		}
	}
	return 1, nil
}

func (s docSource) Changes(context.Context, string, uint64, func(string, *Doc) error) (uint64, bool, error) {
	return 1, true, nil
}

// Recall is measured by the share of the evidence that is found: among the first ten (R@10) and first (R@1).
const (
	ten       = 10
	resamples = 2_000
)

// figures are the shares of each question, by recall and by plain BM25 of all words as they are.
type figures struct{ recall, plain, first, plainFirst []float64 }

// measure asks the questions that are wanted.
func measure(t *testing.T, list []corpus, wanted func(q *question) bool) (f figures) {
	t.Helper()
	for i := range list {
		c := &list[i]
		x := New(docSource(c.docs), Options{})
		plain := newBM25(c.docs)
		for n := range c.questions {
			q := &c.questions[n]
			if len(q.evidence) == 0 || !wanted(q) {
				continue
			}
			var found []string
			for _, r := range recall(t, x, q.text, ten) {
				found = append(found, r.ID)
			}
			plainly := plain.top(q.text, ten)
			f.recall, f.first = append(f.recall, q.share(found)), append(f.first, q.share(found[:min(1, len(found))]))
			f.plain, f.plainFirst = append(f.plain, q.share(plainly)), append(f.plainFirst, q.share(plainly[:min(1, len(plainly))]))
		}
	}
	return f
}

// bm25 is BM25 of words as they are, with the usual k1 of 1.2 and b of 0.75.
type bm25 struct {
	docs    []*Doc
	words   []map[string]float64 // of each document, how often it has them
	lengths []float64
	have    map[string]float64 // how many documents have a word
	mean    float64
}

func newBM25(docs []*Doc) *bm25 {
	x := &bm25{docs: docs, have: map[string]float64{}}
	for _, d := range docs {
		words, length := map[string]float64{}, 0.0
		for w := range text.Words(d.Title + "\n" + d.Text) {
			if words[w]++; words[w] == 1 {
				x.have[w]++
			}
			length++
		}
		x.words, x.lengths, x.mean = append(x.words, words), append(x.lengths, length), x.mean+length/float64(len(docs))
	}
	return x
}

// top are the best documents for a query.
func (x *bm25) top(query string, k int) (ids []string) {
	const k1, b = 1.2, 0.75
	scores, count := make([]float64, len(x.docs)), float64(len(x.docs))
	for w := range text.Words(query) {
		rarity := math.Log(1 + (count-x.have[w]+0.5)/(x.have[w]+0.5))
		for i, words := range x.words {
			if times := words[w]; times > 0 {
				scores[i] += rarity * times * (k1 + 1) / (times + k1*(1-b+b*x.lengths[i]/x.mean))
			}
		}
	}
	order := make([]int, len(x.docs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	for _, i := range order[:min(k, len(order))] {
		if scores[i] > 0 {
			ids = append(ids, x.docs[i].ID)
		}
	}
	return ids
}

// share is the share of the evidence that was found.
func (q *question) share(ids []string) float64 {
	hits := 0
	for _, id := range ids {
		if slices.Contains(q.evidence, id) {
			hits++
		}
	}
	return float64(hits) / float64(len(q.evidence))
}

func every(*question) bool { return true }

func kindOf(kind string) func(q *question) bool {
	return func(q *question) bool { return q.kind == kind }
}

// row prints a figure with the interval of its mean, what it is to reach, and plain BM25's.
func row(t *testing.T, name string, values, plain []float64, reach float64) {
	t.Helper()
	low, high := interval(values)
	baseline := "–"
	if plain != nil {
		baseline = fmt.Sprintf("%.3f", mean(plain))
	}
	fmt.Printf("recall | %-52s | %.3f [%.3f, %.3f] | ≥ %.2f | %s\n", name, mean(values), low, high, reach, baseline)
	if mean(values) < reach {
		t.Errorf("%s: %.3f, want at least %v", name, mean(values), reach)
	}
	if plain != nil && mean(values) < mean(plain) {
		t.Errorf("%s: %.3f, and plain BM25 %.3f", name, mean(values), mean(plain))
	}
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// interval is where the middle 95 % of the means lie when questions are drawn again and again from
// those that there are.
func interval(values []float64) (low, high float64) {
	rnd := rand.New(rand.NewPCG(1, 2))
	means := make([]float64, resamples)
	for i := range means {
		for range values {
			means[i] += values[rnd.IntN(len(values))] / float64(len(values))
		}
	}
	slices.Sort(means)
	return means[resamples*25/1000], means[resamples*975/1000]
}

// half is every other conversation: the ranking was fitted on the first, the third and so on.
func half(list []corpus, from int) (part []corpus) {
	for i := from; i < len(list); i += 2 {
		part = append(part, list[i])
	}
	return part
}

// TestRecallQuality prints how much recall finds in the sets that are named.
func TestRecallQuality(t *testing.T) {
	if os.Getenv(locomoEnv) == "" {
		t.Fatalf("%s doesn't name the data: run make recall-quality DATA=…/locomo10.json", locomoEnv)
	}
	fmt.Println("recall | what | measured [95 %] | to reach | plain BM25")
	locomo := readLoCoMo(t)
	test := half(locomo, 1)
	all := measure(t, test, every)
	row(t, "LoCoMo, conversations not fitted on, R@10", all.recall, all.plain, .71)
	row(t, "the same, R@1", all.first, all.plainFirst, .40)
	hops, times := measure(t, test, kindOf(multiHop)), measure(t, test, kindOf(temporal))
	row(t, "the same, multi-hop, R@10", hops.recall, hops.plain, .43)
	row(t, "the same, temporal, R@10", times.recall, times.plain, .73)
	typos := measure(t, withTypos(locomo), every)
	row(t, "LoCoMo, one edit in every word, R@10", typos.recall, typos.plain, .55)
	names := measure(t, makeIdentifiers(), every)
	row(t, "identifiers asked in another case style, R@1", names.first, names.plainFirst, .97)
	if os.Getenv(realTalkEnv) != "" {
		real := measure(t, readRealTalk(t), every)
		row(t, "RealTalk, R@10", real.recall, real.plain, .57)
		row(t, "the same, R@1", real.first, real.plainFirst, .33)
	}
	if os.Getenv(xquadEnv) != "" {
		for _, l := range []struct {
			language string
			reach    float64
		}{{"ru", .90}, {"ar", .86}, {"el", .88}, {"ro", .91}, {"tr", .87}, {"de", .87}} {
			const articles = 48 // all
			f := measure(t, readXQuAD(t, l.language, articles), every)
			row(t, "XQuAD's sentences, "+l.language+", R@10", f.recall, f.plain, l.reach)
		}
	}
	if os.Getenv(cranfieldEnv) != "" {
		f := measure(t, readCranfield(t), every)
		row(t, "Cranfield, R@10", f.recall, f.plain, .45)
	}
}

// TestAbstention prints how often nothing is said to be relevant, rightly and wrongly, and how well P is
// calibrated. Neither set was fitted on.
func TestAbstention(t *testing.T) {
	if os.Getenv(locomoEnv) == "" {
		t.Fatalf("%s doesn't name the data: run make recall-quality DATA=…/locomo10.json", locomoEnv)
	}
	abstention(t, "LoCoMo", askAll(t, readLoCoMo(t), false))
	if os.Getenv(realTalkEnv) != "" {
		abstention(t, "RealTalk", askAll(t, readRealTalk(t), false))
	}
}

// abstention prints how often nothing is said to be relevant, at the least P of a recall.
func abstention(t *testing.T, set string, a asked) {
	t.Helper()
	const least = 0.15
	line := func(name string, list []answered, reach string) {
		if len(list) == 0 {
			return
		}
		values := nothing(list, least)
		low, high := interval(values)
		fmt.Printf("recall | %-52s | %.3f [%.3f, %.3f] | %s | 0\n", set+", "+name, mean(values), low, high, reach)
	}
	line("nothing where there is an answer", a.answerable, "≤ .05")
	line("nothing for another conversation's questions", a.crossed, "≥ .80")
	line("nothing where people are swapped", a.swapped, "≥ .80")
	line("nothing where there is none", slices.Concat(a.crossed, a.swapped), "≥ .80")
	fmt.Printf("recall | %-52s | %.3f | ≤ .05 | –\n", set+", P's calibration error, all questions", calibrationError(a.all()))
	fmt.Printf("recall | %-52s | %.3f | ≤ .05 | –\n", set+", P's calibration error, answerable ones", calibrationError(a.answerable))
}

// withTypos are the corpora with an edit in every word of the questions.
func withTypos(list []corpus) []corpus {
	r := rand.New(rand.NewPCG(3, 4))
	list = slices.Clone(list)
	for i := range list {
		list[i].questions = slices.Clone(list[i].questions)
		for n := range list[i].questions {
			words := strings.Fields(list[i].questions[n].text)
			for j := range words {
				words[j] = edited(r, words[j])
			}
			list[i].questions[n].text = strings.Join(words, " ")
		}
	}
	return list
}

// edited is a word with one letter more, one less, another one, or two that changed places.
func edited(r *rand.Rand, word string) string {
	letters := []rune(word)
	i, letter := r.IntN(len(letters)), rune('a'+r.IntN(26))
	switch kind := r.IntN(4); {
	case kind == 0:
		letters = slices.Insert(letters, i, letter)
	case kind == 1 && len(letters) > 1:
		letters = slices.Delete(letters, i, i+1)
	case kind == 2 && i+1 < len(letters):
		letters[i], letters[i+1] = letters[i+1], letters[i]
	default:
		letters[i] = letter
	}
	return string(letters)
}
