package dream

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/reflectory/reflectory/core"
)

// The text around a phrase decides whether the phrase is a date. In doubt it isn't: a
// relative date that stays can still be understood, but nobody would notice a wrong date.

// surroundings are a text and the parts of it that matter for each phrase. They are found
// once, so that many phrases take no longer than a few.
type surroundings struct {
	text string
	// kept are the parts that stay as they are, sorted.
	kept      []part
	sentences []sentence
}

// part is where something is in a text, in bytes.
type part struct{ start, end int }

type sentence struct {
	part
	// habit is whether it describes something regular, and future whether it describes
	// something yet to come.
	habit, future bool
}

// near is how far away from a phrase words still belong to it, in bytes.
const near = 200

// keptMarks find code and quoted text.
var keptMarks = core.Pattern("(?s)```.*?(?:```|$)|`[^`\n]+`|(?m:^[ \t]*>[^\n]*$)" +
	"|\"(?:[^\"\n]|\n[^\"\n])*\"|“(?:[^”\n]|\n[^”\n])*”|«[^»\n]*»|„[^“”\n]*[“”]")

// singleQuotes find what is in single quotes, which apostrophes aren't.
var singleQuotes = core.Pattern(`(?m)(?:^|[\s(\[])(['‘](?:[^'’‘\n]|\w['’]\w)*['’])(?:$|[\s)\].,;:!?])`)

// sentenceEnds end a sentence, a paragraph or an item of a list.
var sentenceEnds = core.Pattern(`[.!?…]+["”’')\]]*\s|\n\s*\n|\n\s*(?:[-*•]|\d+[.)])\s`)

func newSurroundings(text string) *surroundings {
	s := &surroundings{text: text}
	for _, at := range keptMarks().FindAllStringIndex(text, -1) {
		s.kept = append(s.kept, part{at[0], at[1]})
	}
	for _, at := range singleQuotes().FindAllStringSubmatchIndex(text, -1) {
		s.kept = append(s.kept, part{at[2], at[3]})
	}
	slices.SortFunc(s.kept, func(a, b part) int { return cmp.Compare(a.start, b.start) })
	start := 0
	add := func(end, next int) {
		whole := text[start:end]
		s.sentences = append(s.sentences, sentence{part{start, end}, habits().MatchString(whole), future().MatchString(whole)})
		start = next
	}
	for _, at := range sentenceEnds().FindAllStringIndex(text, -1) {
		add(at[0], at[1])
	}
	add(len(text), len(text))
	return s
}

// isDate is whether a phrase is surely a date.
func (s *surroundings) isDate(p phrase) bool {
	if s.keeps(p) {
		return false
	}
	i, _ := slices.BinarySearchFunc(s.sentences, p.start, func(of sentence, at int) int { return cmp.Compare(of.end, at+1) })
	in := s.sentences[min(i, len(s.sentences)-1)]
	before, after := s.text[max(p.start-near, 0):p.start], s.text[p.end:min(p.end+near, len(s.text))]
	inBefore := s.text[min(max(in.start, p.start-near), p.start):p.start]
	begins := p.start-in.start < near && beginnings().MatchString(inBefore)
	return standsAlone(before, after) && !in.habit && !isName(s.text[p.start:p.end], after, begins) &&
		!isPartOfMore(p, before, after) && !dateBehind().MatchString(after) && !isDuration(p, inBefore, in.future)
}

// keeps is whether a phrase is in a part that stays unchanged. Phrases are asked for in the
// order of the text, so that parts before one are done with.
func (s *surroundings) keeps(p phrase) bool {
	for len(s.kept) > 0 && s.kept[0].end <= p.start {
		s.kept = s.kept[1:]
	}
	return len(s.kept) > 0 && s.kept[0].start < p.end
}

// standsAlone is whether a phrase is words by themselves: not a part of a longer word, an
// address, a path, an option or a number.
func standsAlone(before, after string) bool {
	if r, _ := utf8.DecodeLastRuneInString(before); before != "" && !unicode.IsSpace(r) && !strings.ContainsRune("([{,;:—–*~…", r) {
		return false
	}
	return alone().MatchString(after)
}

// alone is what may follow a phrase.
var alone = core.Pattern(`^(?:['’]s\b|[*~])*(?:$|\s|[.,;:!?…)\]}*—–]+(?:$|[\s)\]}"”’'*]))`)

var (
	weekdays = core.Pattern(`(?i)^(?:` + weekdayNames + `)$`)
	// beginnings are what a sentence may have before its first word.
	beginnings = core.Pattern(`^(?:[\s("'“‘*#>\[~–—-]|\d+[.)]\s|[^\s:]{1,40}:\s|\[[^\]]*\]\s)*$`)
	// titles are words of names that begin with a phrase.
	titles = core.Pattern(`^(?:['’]s)?\s+(?:Show|Programme|Program|News|Newspaper|Magazine|Tonight|Group|Inc|Ltd|LLC|GmbH|Corp|Never|Is)\b`)
)

// isName is whether a phrase is the name of something, such as the Today Show: a word with a
// capital letter that doesn't begin the sentence, nor is a weekday.
func isName(words, after string, begins bool) bool {
	for i, word := range strings.Fields(words) {
		r, _ := utf8.DecodeRuneInString(word)
		if unicode.IsUpper(r) && !weekdays().MatchString(word) && !(begins && i == 0) {
			return true
		}
	}
	r, _ := utf8.DecodeRuneInString(words)
	return unicode.IsUpper(r) && titles().MatchString(after)
}

var (
	// A determiner makes "last week" one of several, or a time of some length.
	determiners = core.Pattern(`(?i)\b(?:the|this|these|those|that|my|your|his|her|its|our|their|whose|each|every|one|a|very|past)['’s]*\s+$`)
	// What is before a number changes what it counts.
	bounds = core.Pattern(`(?i)(?:\b(?:than|over|under|least|most|almost|nearly|about|around|roughly|approximately|some|to|or|hundred\s+and|between|every|another|other|half|point|hundred|thousand|million)\s+|[-–—/.,]\s*|\d\s+|[~<>≤≥±+]\s*)$`)
	// What is before "in two weeks" makes it a length.
	lengths = core.Pattern(`(?i)\b(?:once|twice|times?|only|just|all|done|half)\s+$`)
	// follows makes a longer phrase of one.
	follows = core.Pattern(`(?i)^\s+(?:of|or|and\s+a\s+half|to\s+date|onwards?|on\s+end)\b`)
	// another relative date right behind one changes what both mean.
	another = core.Pattern(`(?i)^\s+(?:yesterday|today|tomorrow|(?:last|next|this)\s+(?:week|month|year|` + weekdayNames + `))\b`)
	// counted is a count of days from another relative date, such as a week ago last Friday.
	counted = core.Pattern(`(?i)\b` + number + `\s+` + units + `\s+ago\s+$`)
)

// isPartOfMore is whether a phrase is a part of a longer one that means something else.
func isPartOfMore(p phrase, before, after string) bool {
	if follows().MatchString(after) || another().MatchString(after) || counted().MatchString(before) {
		return true
	}
	switch {
	case p.groups["span"] != "", p.groups["weekday"] != "" && p.groups["which"] != "this":
		return determiners().MatchString(before)
	case p.groups["n"] != "":
		return bounds().MatchString(before)
	case p.groups["inN"] != "":
		return lengths().MatchString(before)
	}
	return false
}

const monthNames = `jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?`

// dateBehind is a phrase's date behind it.
var dateBehind = core.Pattern(`(?i)^(?:['’]s)?[\s,:=–—-]*[(\[]?\s*(?:(?:on|i\.e\.|` + weekdayNames + `),?\s+)?(?:the\s+)?(?:` +
	`\d{4}-\d{2}-\d{2}|\d{1,4}[./]\d{1,2}[./]\d{1,4}|\d{1,2}(?:st|nd|rd|th)?\s+(?:of\s+)?(?:` + monthNames + `)\b|(?:` + monthNames + `)\.?\s+\d{1,4})` +
	`|^\s+\(\s*\d{1,2}[./]\d{1,2}\.?\s*\)|^,?\s+the\s+\d{1,2}(?:st|nd|rd|th)\b`)

// habits are words of sentences that say what happens again and again.
var habits = core.Pattern(`(?i)\b(?:every|everyday|each|always|daily|nightly|weekly|biweekly|fortnightly|monthly|quarterly|yearly|annually|hourly|whenever|never|usually|often|sometimes|typically|generally|normally|regularly|habitually|rarely|seldom|occasionally|frequently|any\s+time|anytime|most\s+(?:days|weeks|mornings|evenings|nights))\b`)

var (
	pastVerbs = core.Pattern(`(?i)\b(?:[a-z]{2,}ed|(?:was|were|had|did|could|would)(?:n['’]t)?|been|became|began|bought|broke|brought|built|came|caught|chose|cost|cut|done|drew|drove|fell|felt|fixed|flew|forgot|found|gave|got|grew|heard|held|hit|kept|knew|learnt|led|left|lost|made|meant|met|paid|put|ran|read|rose|said|sang|sat|saw|sent|set|shot|shut|slept|sold|spent|spoke|stood|swam|taught|thought|told|took|understood|went|won|wore|wrote)\b`)
	// notPast end in -ed and are no past verbs.
	notPast = core.Pattern(`(?i)\b(?:need|feed|seed|speed|indeed|exceed|proceed|succeed|bed|red|shed|hundred|embed|breed|bleed|weed|greed|agreed|scheduled|planned|expected|supposed|intended)\b`)
	// future is what says that something is yet to come.
	future = core.Pattern(`(?i)(?:\b(?:will|won['’]t|shall|gonna|going\s+to|about\s+to|due|expires?|expiring|starts?|starting|begins?|beginning|ends?|ending|launch(?:es|ing)?|ships?|shipping|opens?|opening|closes?|closing|arrives?|arriving|leaves?|leaving|returns?|returning|deadline|scheduled|planned|plans?|expected|supposed|upcoming|must|should)\b|['’]ll\b)`)
)

// isDuration is whether "in two weeks" says how long something took: after a past verb, where
// nothing says that it is yet to come.
func isDuration(p phrase, before string, comes bool) bool {
	return p.groups["inN"] != "" && !comes && pastVerbs().MatchString(notPast().ReplaceAllString(before, ""))
}
