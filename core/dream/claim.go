package dream

import (
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core/memory/text"
)

// Two texts contradict each other only if they say different things about the same aspect
// of one subject. No measure of similarity can tell: "the staging database runs on Postgres
// 15" and "the analytics database runs on Postgres 16" share most of their words. So each
// sentence is read as a claim: its topic, a verb, and the phrases after the verb. Two claims
// contradict each other if all of it is the same but one value. The only grammar is lists of
// words: a sentence that is misread is misread in both texts in the same way, and a
// difference that isn't understood is no contradiction, since nobody misses a fact that was
// archived by mistake.

// claim is a sentence in parts.
type claim struct {
	// topic is what it is about: the words before the verb. "The timeout of the gateway" is
	// "gateway timeout".
	topic []word
	// verb is the base of the main verb, ":" in "Gateway timeout: 30 s", and "" if none was found.
	verb string
	// past is whether it says what happened, and negated whether it denies.
	past, negated bool
	// frequency is a word such as always or some: how often it holds, or of how many.
	frequency string
	// limits are its hedges, conditions, modal verbs and exceptions.
	limits []string
	// phrases are what follows the verb.
	phrases []clause
}

// clause is words with the preposition or conjunction before them, if there is one.
type clause struct {
	marker string
	words  []word
}

// sentences splits the words of a text at the ends of its sentences.
func sentences(list []word) (all [][]word) {
	for len(list) > 0 {
		end := slices.IndexFunc(list, func(w word) bool { return w.Break == "." }) + 1
		if end == 0 {
			end = len(list)
		}
		all, list = append(all, list[:end]), list[end:]
	}
	return all
}

// readClaim reads a sentence.
func readClaim(sentence []word) *claim {
	l := lexicon()
	c := &claim{}
	list := make([]word, 0, len(sentence))
	for i := range sentence {
		w := sentence[i]
		frequency := l.frequencies[w.base]
		switch {
		case w.class == Negation && w.base != "without":
			c.negated = true
			continue
		case frequency.level > 0 && (frequency.adverb || len(list) == 0):
			c.frequency = w.base
			continue
		case l.current[w.Word]:
			continue
		case w.class == Hedge, w.class == Modality, w.class == Condition, w.class == Exception, w.base == "will":
			c.limits = append(c.limits, w.base)
		}
		list = append(list, w)
	}
	at := mainVerb(l, list)
	if at < 0 {
		c.withoutVerb(list)
		return c
	}
	c.topic = topicOf(list[:at])
	c.phrases = clausesOf(l, list[c.readVerb(l, list, at):])
	c.attribute()
	return c
}

// mainVerb is where the main verb of a sentence begins, -1 if it has none. Many words are verbs
// and nouns, so the surest sign counts: first a form of be, have or a modal verb, then an
// ending. What follows a preposition after the verb isn't looked at.
func mainVerb(l *wordLists, list []word) int {
	best, most := -1, 0
	for i := range list {
		w := &list[i]
		if most > 1 && l.markers[w.base] || i > 0 && l.conjunctions[w.base] {
			break
		}
		if w.Kind != text.Word || w.Capital && !w.First || i+1 < len(list) && list[i+1].base == "of" {
			continue
		}
		aux, next := l.auxiliaries[w.base], i+1 < len(list) && l.auxiliaries[list[i+1].base]
		sure := 0
		switch {
		case aux && i > 0:
			sure = 4
		case next && !aux:
		case l.verbs[w.base] && i > 0 && i+1 < len(list) && (strings.HasSuffix(w.Word, "s") && text.Stem(w.Word) != w.Word || w.tense == past):
			sure = 3
		case l.verbs[w.base] && i > 0 && (w.tense == past || strings.HasSuffix(list[i-1].Word, "s") && list[i-1].Word != list[i-1].Form):
			sure = 2
		case l.verbs[w.base] && w.tense != going, aux, w.tense == past && i > 0:
			sure = 1
		}
		if sure > most {
			best, most = i, sure
		}
	}
	return best
}

// readVerb reads the main verb, after its auxiliary verbs, and returns where its phrases begin.
// "Is running" is "runs", and "has moved" is past.
func (c *claim) readVerb(l *wordLists, list []word, at int) int {
	c.past = list[at].tense == past
	for at+1 < len(list) && l.auxiliaries[list[at].base] {
		next := &list[at+1]
		var joins bool
		switch list[at].base {
		case "be":
			joins = next.tense == going && l.verbs[next.base]
		case "have":
			joins = next.tense == past || next.tense == participle
			c.past = c.past || joins
		default:
			joins = next.Kind == text.Word
		}
		if !joins {
			break
		}
		at++
	}
	c.verb = list[at].base
	return at + 1
}

// withoutVerb reads "Gateway timeout: 30 s" and "Gateway timeout 30 s".
func (c *claim) withoutVerb(list []word) {
	for i := range list {
		switch {
		case list[i].Break == "," && i+1 < len(list):
			c.topic, c.verb, c.phrases = topicOf(list[:i+1]), ":", clausesOf(lexicon(), list[i+1:])
			return
		case i > 1 && measures(&list[i]):
			c.topic, c.phrases = topicOf(list[:i]), clausesOf(lexicon(), list[i:])
			return
		}
	}
	c.topic = list
}

// topicOf is the words of a topic in one order: "A of B" and "A for B" are "B A".
func topicOf(list []word) (topic []word) {
	end := len(list)
	for i := len(list) - 1; i >= -1; i-- {
		if i < 0 || list[i].base == "of" || list[i].base == "for" {
			topic = append(topic, list[i+1:end]...)
			end = max(i, 0)
		}
	}
	return topic
}

// clausesOf splits words at their prepositions, conjunctions and commas. A preposition that
// nothing follows is a word: "the alarm is on".
func clausesOf(l *wordLists, list []word) (all []clause) {
	open := false
	for i := range list {
		w := &list[i]
		if l.markers[w.base] && i+1 < len(list) && !l.markers[list[i+1].base] && w.Break == "" {
			all, open = append(all, clause{marker: w.base}), true
			continue
		}
		if !open {
			all = append(all, clause{})
		}
		last := &all[len(all)-1]
		last.words = append(last.words, *w)
		open = w.Break == ""
	}
	return all
}

// attribute reads "the gateway has a timeout of 30 s" as "the gateway timeout is 30 s".
func (c *claim) attribute() {
	if c.verb != "have" || len(c.phrases) == 0 || c.phrases[0].marker != "" {
		return
	}
	words := c.phrases[0].words
	if i := slices.IndexFunc(words, func(w word) bool { return w.base == "of" }); i > 0 && i+1 < len(words) && measures(&words[i+1]) {
		c.topic, c.verb, c.phrases[0].words = append(slices.Clone(c.topic), words[:i]...), "be", words[i+1:]
	}
}

// unclear reports whether only the text around says what a topic is, as of "it" or "this lamp".
// "This project" is clear: memories are of one.
func unclear(topic []word) bool {
	l := lexicon()
	for i := range topic {
		if l.pointers[topic[i].Word] && !(i+1 < len(topic) && l.places[topic[i+1].base]) {
			return true
		}
	}
	return false
}

// measures reports whether a word is a quantity, a date, a version, or part of one.
func measures(w *word) bool {
	switch w.class {
	case Number, Unit, Date, Version:
		return true
	}
	return lexicon().dimensions[w.base].name != ""
}

// sameWord reports whether two words are the same, whatever their endings.
func sameWord(a, b *word) bool {
	return a.base == b.base && (a.Word == b.Word || a.Kind != text.Word || a.tense != b.tense || a.Form != b.Form || text.Plural(a.Word, b.Word))
}

func equalWords(a, b []word) bool {
	return slices.EqualFunc(a, b, func(x, y word) bool { return sameWord(&x, &y) })
}
