package checkseval

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/reflectory/reflectory/sdk/jsonconfig"
)

const (
	// defaultSimilarity is the least similarity that passes by default: one word in five may differ.
	defaultSimilarity = .8
	// maxCompared is the longest text that is compared, in bytes: its words take thirty times as much
	// memory.
	maxCompared = 1 << 20
)

// similarity compares the text that is wanted with an output. Its result is in [0,1], and 1 for a text
// and itself. ok is false if it would take too long.
type similarity func(want, got string, spend func(cells int) bool) (score float64, ok bool)

func similarities() map[string]similarity {
	return map[string]similarity{"levenshtein": levenshtein, "rouge_l": rougeL, "token_f1": tokenF1}
}

// readSimilar reads a text, and how similar to it an output must be.
func readSimilar(o *jsonconfig.Object, key string, _ json.RawMessage) judge {
	s := o.Object(key)
	to, by, least := "", "levenshtein", defaultSimilarity
	if !s.Take("to", "text", &to) && !s.Has("to") {
		s.Report("to is missing: give the text to compare with")
	} else if len(to) > maxText {
		s.Report("to has %d bytes (limit %d)", len(to), maxText)
	}
	s.OneOf("by", &by, "levenshtein", "rouge_l", "token_f1")
	if s.Take("at_least", "a number", &least) && !(least >= 0 && least <= 1) {
		s.Report("at_least must be from 0 to 1")
	}
	s.Done()
	compare := similarities()[by]
	return func(in *input) result {
		text, ok := scalarText(in.value)
		if !ok {
			return in.fail(0, "is %s, not a text to compare", typeName(in.value))
		}
		if len(text) > maxCompared {
			return in.tooLarge(fmt.Sprintf("it has %d bytes, and at most %d are compared", len(text), maxCompared))
		}
		score, ok := compare(to, text, func(cells int) bool { return in.spend(1 + cells/cellsPerStep) })
		if !ok {
			return in.tooLarge(fmt.Sprintf("to compare %d with %d characters by %s would take too long", utf8.RuneCountInString(text), utf8.RuneCountInString(to), by))
		}
		if score < least {
			return in.fail(score, "is similar by %.3g (%s), and at least %.3g is wanted; the wanted text begins with %s%s", score, by, least, excerpt(to, 0), parting(to, text))
		}
		return result{score: score}
	}
}

// parting says where a text leaves the wanted one.
func parting(want, got string) string {
	if wrong := textDifference(want, got); wrong != "" {
		return "; the text " + wrong
	}
	return ""
}

// levenshtein is 1 − d ÷ n, where d is the Levenshtein distance (the fewest characters to insert, delete or
// replace) and n the length of the longer text, in characters.
func levenshtein(want, got string, spend func(int) bool) (float64, bool) {
	if want == got {
		return 1, true
	}
	rows, columns := utf8.RuneCountInString(want), utf8.RuneCountInString(got)
	if !spend(rows * columns) {
		return 0, false
	}
	a, b := []rune(want), []rune(got)
	row := make([]int, len(b)+1) // the distances of a's first i characters to each beginning of b
	for j := range row {
		row[j] = j
	}
	for i, r := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j, q := range b {
			replaced := diagonal
			if r != q {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, diagonal+1)
		}
	}
	return 1 - float64(row[len(b)])/float64(max(len(a), len(b))), true
}

// rougeL is ROUGE-L of one text (Lin 2004): the F1 of precision and recall of the longest common
// subsequence of words. Words are runs of letters and digits, in lower case and without stemming, as in
// Google's rouge_score; here letters of every script count.
func rougeL(want, got string, spend func(int) bool) (float64, bool) {
	isWord := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }
	split := func(text string) []string {
		return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !isWord(r) })
	}
	a, b := split(want), split(got)
	if len(a) == 0 || len(b) == 0 {
		return emptyScore(a, b), true
	}
	if !spend(len(a) * len(b)) {
		return 0, false
	}
	ids := map[string]int{}
	for _, w := range a {
		if ids[w] == 0 {
			ids[w] = len(ids) + 1
		}
	}
	row := make([]int, len(b)+1) // the longest subsequence of a's first words with each beginning of b
	numbers := make([]int, len(b))
	for j, w := range b {
		numbers[j] = ids[w]
	}
	for _, w := range a {
		diagonal, wanted := 0, ids[w]
		for j, id := range numbers {
			longest := max(row[j+1], row[j])
			if id == wanted {
				longest = diagonal + 1
			}
			diagonal = row[j+1]
			row[j+1] = longest
		}
	}
	return f1(row[len(b)], len(a), len(b)), true
}

// tokenF1 is the F1 of SQuAD's evaluation: of the words that both texts have, each as often as both have it,
// after lower case and without ASCII punctuation and the articles a, an, the.
func tokenF1(want, got string, _ func(int) bool) (float64, bool) {
	a, b := squadWords(want), squadWords(got)
	if len(a) == 0 || len(b) == 0 {
		return emptyScore(a, b), true
	}
	left := map[string]int{}
	for _, w := range a {
		left[w]++
	}
	both := 0
	for _, w := range b {
		if left[w] > 0 {
			left[w]--
			both++
		}
	}
	return f1(both, len(a), len(b)), true
}

func squadWords(text string) []string {
	const punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
	text = strings.Map(func(r rune) rune {
		if strings.ContainsRune(punctuation, r) {
			return -1
		}
		return r
	}, strings.ToLower(text))
	var out []string
	for _, w := range strings.Fields(text) {
		if w != "a" && w != "an" && w != "the" {
			out = append(out, w)
		}
	}
	return out
}

// emptyScore compares texts of which one has no words.
func emptyScore(a, b []string) float64 {
	if len(a) == len(b) {
		return 1
	}
	return 0
}

func f1(both, want, got int) float64 {
	return 2 * float64(both) / float64(want+got)
}
