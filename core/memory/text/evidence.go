package text

import (
	"maps"
	"slices"
	"strings"
)

// Who used a memory seldom says so, but a reply that follows it has what only the memory could have
// given: its rare words, names and numbers. Words of the question say nothing, since any reply repeats
// them, nor do words that several of the offered texts have.

// The bounds of what shows a use. They were fitted on answers whose authors had a known text in front of
// them, see the quality test.
const (
	// leastEvidence is how much only the text could have given, by rarity: 1 is a word that no other
	// text has.
	leastEvidence = 0.5
	// leastShare is which part of what only the text has, and leastOfBest which part of the best text's
	// evidence. An identifier or a number of namingDigits is enough without them, since a long text may
	// be used for one of them.
	leastShare, leastOfBest = 0.2, 0.7
	namingDigits            = 3
	// namingTexts is how many texts there are at least when an identifier or long number is weighed: it
	// is rare even where there are too few texts to show it.
	namingTexts = 50
)

// evidence is what a reply has of a text that was offered for it, and of nothing else that could have
// given it: the sum of the rarities of what they share, and which part of all that only this text has.
type evidence struct {
	weight, share float64
	// named is whether they share an identifier or a long number.
	named bool
}

// Uses is how strongly a reply to a question shows that each of the offered texts was used, from .5 to 1;
// 0 if it doesn't.
func Uses(reply, question string, offered []string, rarity Rarity) []float64 {
	list := compare(reply, question, offered, rarity)
	best := 0.0
	for _, e := range list {
		best = max(best, e.weight)
	}
	uses := make([]float64, len(list))
	for i, e := range list {
		if e.weight >= leastEvidence && (e.named || e.share >= leastShare && e.weight >= leastOfBest*best) {
			uses[i] = e.weight / (e.weight + leastEvidence)
		}
	}
	return uses
}

// compare compares a reply with each of the texts that were offered for a question.
func compare(reply, question string, offered []string, rarity Rarity) []evidence {
	var st stemmer
	language := LanguageOf("auto").of(slices.Concat(slices.Collect(indexed(question)), slices.Collect(indexed(reply))))
	terms := func(text string) map[string]word {
		found := map[string]word{}
		for w := range indexed(text) {
			if stops(language, w.text) {
				continue
			}
			key := folded(language, w.text)
			if stems := st.stems(language, w.text); len(stems) > 0 && !w.joined {
				key = stems[0]
			}
			if _, known := found[key]; !known {
				found[key] = w
			}
		}
		return found
	}
	asked, replied := terms(question), terms(reply)
	texts, in := make([]map[string]word, len(offered)), map[string]int{}
	for i, text := range offered {
		texts[i] = terms(text)
		for key := range texts[i] {
			in[key]++
		}
	}
	list := make([]evidence, len(offered))
	for i, of := range texts {
		whole := 0.0
		for _, key := range slices.Sorted(maps.Keys(of)) { // sorted, so that equal texts have equal sums
			if _, known := asked[key]; known || in[key] > 1 {
				continue
			}
			r := rarity(of[key].text, 0)
			named := names(of[key])
			if named {
				r = rarity(of[key].text, namingTexts)
			}
			whole += r
			if _, shared := replied[key]; shared {
				list[i].weight += r
				list[i].named = list[i].named || named
			}
		}
		if whole > 0 {
			list[i].share = list[i].weight / whole
		}
	}
	return list
}

// names is whether a word is hardly in two texts by chance.
func names(w word) bool {
	return w.joined || len(w.text) >= namingDigits && strings.Trim(w.text, "0123456789") == ""
}

// Rarity is how rare a word is, from 1 for a word that no text has down to 0 for one that all have. There
// are taken to be at least so many texts.
type Rarity func(word string, texts int) float64

// RarityIn is the rarity of words in some indices together.
func RarityIn(in ...*Index) Rarity {
	q := NewQuery("", in...)
	count := q.count
	return func(word string, texts int) float64 {
		q.count = max(count, texts)
		return q.rarity(q.having(word, nil)) / q.rarity(0)
	}
}
