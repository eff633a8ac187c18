package text

import "strings"

// moveOpening moves what a text begins with to the end of its sentence: "In tests, X" and "If it
// fails, X" are "X in tests" and "X if it fails".
func moveOpening(tokens []token) []token {
	for range maxOpenings {
		moved := moveOne(tokens)
		if moved == nil {
			break
		}
		tokens = moved
	}
	return tokens
}

// maxOpenings limits how many phrases are moved, and with them the work.
const maxOpenings = 8

// moveOne moves one phrase or clause; nil if there is none.
func moveOne(tokens []token) []token {
	if len(tokens) == 0 || tokens[0].kind != wordToken || !openings[tokens[0].text] {
		return nil
	}
	clause := !prepositions[tokens[0].text]
	comma, end := -1, len(tokens)
	for i, t := range tokens {
		if t.kind == breakToken && t.text == "," && comma < 0 {
			comma = i
		}
		if t.kind == breakToken && t.text == "." || t.kind == exactToken && t.text == "?" {
			end = i
			break
		}
	}
	next := comma + 1 // where the rest of the sentence begins
	if comma < 0 || comma > end {
		if comma = openingEnd(tokens[:end]); comma < 0 || clause {
			return nil
		}
		next = comma
	}
	if next >= end || clause && chooses(tokens[next:end]) {
		return nil
	}
	moved := make([]token, 0, len(tokens))
	moved = append(moved, tokens[next:end]...)
	moved[0].first = true
	moved = append(moved, tokens[:comma]...)
	return append(moved, tokens[end:]...)
}

// openingEnd is where a phrase without a comma ends that begins a sentence: before a pronoun, an
// article, a name behind the name of a day, or a verb that asks for something; -1 if nothing
// tells.
func openingEnd(tokens []token) int {
	for i := 1; i < min(len(tokens), maxOpening); i++ {
		t := &tokens[i]
		switch {
		case t.kind == breakToken || t.kind == wordToken && prepositions[t.text]:
			return -1
		case i < 2 || t.kind != wordToken:
		case t.article, subjects[t.text], t.capital && ofDay(tokens[i-1].text):
			return i
		}
	}
	return -1
}

func ofDay(s string) bool {
	day := strings.TrimSuffix(s, "s")
	return strings.HasSuffix(day, "day") && len(day) > 5 || months[s] > 0 || weekdays[day] != ""
}

// chooses reports whether tokens join things by and or or, so that what is said of one of them
// may not be said of the other.
func chooses(tokens []token) bool {
	for i := range tokens {
		if tokens[i].kind == wordToken && (tokens[i].text == "or" || tokens[i].text == "and") {
			return true
		}
	}
	return false
}

// subjects begin the main clause after a phrase: pronouns, and verbs of instructions that are
// hardly ever nouns.
var subjects = map[string]bool{
	"we": true, "you": true, "i": true, "they": true, "he": true, "she": true, "it": true,
	"use": true, "run": true, "set": true, "write": true, "prefer": true, "avoid": true, "keep": true, "call": true, "do": true, "never": true, "always": true,
	"read": true, "put": true, "add": true, "check": true, "choose": true, "wait": true, "send": true,
}

// maxOpening is how many words a phrase without a comma may have, and one more.
const maxOpening = 6

// openings begin a phrase, or a clause that ends with a comma.
var openings = func() map[string]bool {
	set := map[string]bool{"if": true, "when": true, "unless": true, "while": true, "because": true, "although": true, "though": true, "whenever": true}
	for word := range prepositions {
		set[word] = true
	}
	return set
}()

var prepositions = map[string]bool{
	"in": true, "on": true, "at": true, "for": true, "with": true, "without": true, "by": true, "from": true, "during": true,
	"after": true, "before": true, "under": true, "over": true, "within": true, "until": true, "since": true, "through": true,
	"between": true, "against": true, "via": true, "despite": true, "per": true, "inside": true, "outside": true, "upon": true,
}
