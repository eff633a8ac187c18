package dream

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/reflectory/reflectory/core/memory/text"
)

// contradiction is the class in which two texts contradict each other; "" if they don't. They
// do in the first sentence in which they differ: what is before it says what it is about.
func contradiction(a, b string) string {
	sentencesA, sentencesB := sentences(readWords(text.Tokens(a))), sentences(readWords(text.Tokens(b)))
	for i := range min(len(sentencesA), len(sentencesB)) {
		if !equalWords(sentencesA[i], sentencesB[i]) {
			return readClaim(sentencesA[i]).contradicts(readClaim(sentencesB[i]), i > 0)
		}
	}
	return ""
}

// contradicts compares two claims: everything must be the same but one value, a negation, or
// how often they hold. introduced is whether the same sentences come before both.
func (c *claim) contradicts(o *claim, introduced bool) string {
	l := lexicon()
	if !equalWords(c.topic, o.topic) || unclear(c.topic) && !introduced || c.past != o.past || !slices.Equal(c.limits, o.limits) ||
		slices.ContainsFunc(c.limits, func(s string) bool { return l.unsure[s] }) {
		return ""
	}
	onlyC, onlyO := differing(c.phrases, o.phrases)
	same := len(onlyC)+len(onlyO) == 0
	level, other := l.frequencies[c.frequency].level, l.frequencies[o.frequency].level
	switch {
	case c.verb != o.verb:
		if same && c.negated == o.negated && level == other && !c.past && l.stances[c.verb] && l.stances[o.verb] && opposed(c.verb, o.verb) {
			return Antonym
		}
	case c.negated != o.negated:
		if same && (level == other || level+other == always) {
			return Negation
		}
	case level != other:
		if same && level > 0 && other > 0 && max(level, other)-min(level, other) > 1 {
			return Quantifier
		}
	case c.negated || level > 0 && level < always:
		// It may be neither, or one of them at one time and the other at another.
	case len(onlyC) == 1 && len(onlyO) == 1:
		return c.otherValue(&onlyC[0], &onlyO[0])
	case len(onlyC) == 2 && len(onlyO) == 2 && l.choices[c.verb]:
		if equalWords(onlyC[0].words, onlyO[1].words) && equalWords(onlyC[1].words, onlyO[0].words) {
			return Value // prefers A over B, and B over A
		}
	}
	return ""
}

// differing are the phrases of each that the other lacks.
func differing(a, b []clause) (onlyA, onlyB []clause) {
	onlyB = slices.Clone(b)
	for _, p := range a {
		i := slices.IndexFunc(onlyB, func(q clause) bool { return p.marker == q.marker && equalWords(p.words, q.words) })
		if i < 0 {
			onlyA = append(onlyA, p)
		} else {
			onlyB = slices.Delete(onlyB, i, i+1)
		}
	}
	return onlyA, onlyB
}

// otherValue is the class in which two phrases have values that exclude each other.
func (c *claim) otherValue(a, b *clause) string {
	l := lexicon()
	if c.past && !l.once[c.act()] {
		return "" // it happened more than once
	}
	if a.marker != b.marker {
		switch {
		case !equalWords(a.words, b.words) || !opposed(a.marker, b.marker):
			return ""
		case a.marker == "without" || b.marker == "without":
			return Negation
		}
		return Antonym
	}
	start := 0
	for start < min(len(a.words), len(b.words)) && sameWord(&a.words[start], &b.words[start]) {
		start++
	}
	endA, endB := len(a.words), len(b.words)
	for endA > start && endB > start && sameWord(&a.words[endA-1], &b.words[endB-1]) {
		endA, endB = endA-1, endB-1
	}
	valueA, valueB := a.words[start:endA], b.words[start:endB]
	if len(valueA) == 0 || len(valueB) == 0 || unclear(valueA) || unclear(valueB) {
		return "" // one says more, or only the text around says what
	}
	single := c.single(a, valueA, valueB)
	if allMeasure(valueA) && allMeasure(valueB) {
		class := otherQuantity(valueA, valueB)
		if start > 0 && l.numbered[a.words[start-1].base] && !single || class == Date && !c.scheduled() {
			return "" // chapters 3 and 5, or on two days
		}
		return class
	}
	if !single && l.multiple[c.act()] {
		return ""
	}
	switch kind := l.kindOf(valueA); {
	case len(valueA) == 1 && len(valueB) == 1 && opposed(valueA[0].base, valueB[0].base):
		return Antonym
	case enumerates(a.words) || enumerates(b.words) || isNumber(&valueA[0]) || isNumber(&valueB[0]) || anyMeasure(valueA) != anyMeasure(valueB),
		l.regions[valueA[0].base] != l.regions[valueB[0].base]:
		// Each may be one of several, or one is in the other.
	case kind != 0 && kind == l.kindOf(valueB), single:
		return Value
	}
	return ""
}

// act is the verb of a claim, or the participle after a form of be, as in "is written".
func (c *claim) act() string {
	if c.verb != "be" || len(c.phrases) == 0 || c.phrases[0].marker != "" {
		return c.verb
	}
	if w := c.phrases[0].words[len(c.phrases[0].words)-1]; w.tense == past || w.tense == participle {
		return w.base
	}
	return c.verb
}

// scheduled reports whether what a claim tells happens at one time: two meetings of a team on
// other days are one that was moved, but who has lessons on Monday may have others on Friday.
func (c *claim) scheduled() bool {
	return c.verb == "be" || lexicon().schedules[c.verb] || len(c.phrases) == 1
}

// single reports whether only one of two values can follow the verb.
func (c *claim) single(p *clause, a, b []word) bool {
	l := lexicon()
	if l.single[c.act()+" "+p.marker] || c.act() != c.verb && l.single["is-"+c.act()+" "+p.marker] {
		return p.marker != "" || !l.adjective(a) || !l.adjective(b)
	}
	if c.verb == "use" && p.marker == "" {
		return slices.ContainsFunc(c.phrases, func(q clause) bool { return q.marker == "for" || q.marker == "as" })
	}
	if c.verb != "be" && c.verb != ":" || len(c.topic) == 0 || p.marker != c.phrases[0].marker {
		return false
	}
	if p.marker != "" {
		return l.single["be "+p.marker]
	}
	head := &c.topic[len(c.topic)-1]
	attribute := l.attributes[head.base] || slices.ContainsFunc(c.topic, func(w word) bool { return l.unique[w.base] })
	if attribute {
		return !l.adjective(a) || !l.adjective(b)
	}
	role := head.Kind == text.Word && !(head.Capital && !head.First) && len(c.topic) > 1 && !(head.Word != head.Form && strings.HasSuffix(head.Word, "s"))
	return c.verb == "be" && role && isNameWord(&a[0]) && isNameWord(&b[0])
}

// isNameWord reports whether a word is a name or an identifier within a sentence.
func isNameWord(w *word) bool {
	return w.Capital && !w.First || w.Kind == text.Exact && (w.class == Identifier || w.class == "")
}

// isNumber reports whether a word counts, so that the next says what.
func isNumber(w *word) bool { return w.Kind == text.Number || w.class == Number }

// enumerates reports whether words name several things.
func enumerates(list []word) bool {
	return slices.ContainsFunc(list, func(w word) bool { return w.base == "and" || w.base == "or" || w.Break == "," })
}

func anyMeasure(list []word) bool {
	return slices.ContainsFunc(list, func(w word) bool { return measures(&w) })
}

func allMeasure(list []word) bool {
	return !slices.ContainsFunc(list, func(w word) bool { return !measures(&w) })
}

// opposed reports whether one word denies the other.
func opposed(a, b string) bool {
	return slices.Contains(lexicon().opposites[a], b) || slices.Contains(negations(a), b) || slices.Contains(negations(b), a)
}

// otherQuantity is the class in which two quantities differ; "" if they are the same in other
// units, or can't be compared.
func otherQuantity(a, b []word) string {
	x, y := quantityOf(a), quantityOf(b)
	switch {
	case x.dimension != y.dimension:
		return ""
	case x.known && y.known && (x.value == y.value || x.scale != y.scale && math.Abs(x.value-y.value) <= roundedShare*max(math.Abs(x.value), math.Abs(y.value))):
		return ""
	}
	for _, class := range []string{Number, Unit, Date, Version} {
		factsA, factsB := factsOf(a, class), factsOf(b, class)
		if slices.Equal(factsA, factsB) {
			continue
		}
		if len(factsA) != len(factsB) || strings.HasPrefix(factsA[0], factsB[0]+".") || strings.HasPrefix(factsB[0], factsA[0]+".") {
			return "" // 15 and 15.3
		}
		return class
	}
	return ""
}

// roundedShare is how much two quantities in different units may differ and be one: a month is
// 30 or 31 days, and a GiB is 1.07 GB.
const roundedShare = .08

// quantity is a number in the base unit of its dimension.
type quantity struct {
	dimension    string
	value, scale float64
	known        bool
}

// quantityOf reads "30 s", "3 pm" and "15:00". What it can't read has no known value.
func quantityOf(list []word) (q quantity) {
	l := lexicon()
	last := &list[len(list)-1]
	unit, is := l.dimensions[last.base]
	if is {
		q.dimension, q.scale = unit.name, unit.scale
	}
	if at, err := strconv.ParseFloat(list[0].Form, 64); err == nil && (len(list) == 1 || len(list) == 2 && is) {
		q.known = true
		if !is {
			unit.scale = 1
		}
		q.value = at*unit.scale + unit.offset
		if unit.name == "clock" && at == 12 {
			q.value -= 12 * 60
		}
	} else if h, m, is := strings.Cut(last.Form, ":"); is && len(list) == 1 {
		hours, errH := strconv.ParseFloat(h, 64)
		minutes, errM := strconv.ParseFloat(m, 64)
		q = quantity{"clock", hours*60 + minutes, 1, errH == nil && errM == nil}
	}
	return q
}

func factsOf(list []word, class string) (facts []string) {
	for i := range list {
		if list[i].class == class {
			facts = append(facts, list[i].fact)
		} else if list[i].class == "" && class == Unit {
			facts = append(facts, list[i].base) // day
		}
	}
	return facts
}
