package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Two texts say the same where they differ only in how they are written: in case,
// contractions, articles, plurals, "30 s" or "thirty seconds". The normal form takes these
// differences out and nothing else, since what has one normal form counts as one thing: a
// number with its sign, a unit, a date, a version, an identifier, a negation and the order
// of words stay. What an ending says, such as a tense, goes, and is for a guard to look at.
//
// Tokens are made by looking at what is between spaces, since it tells a word from an
// identifier; then tokens next to each other become numbers, dates and units.

// Normal returns the normal form of a text: its words, with one space between them. Texts
// of other languages than English keep their words, in lower case. It takes time in
// proportion to the text.
func Normal(s string) string {
	tokens := tokenize(norm.NFKC.String(s))
	tokens = joinNumbers(tokens)
	tokens = joinDates(tokens)
	tokens = moveOpening(tokens)
	var b strings.Builder
	for i, t := range tokens {
		word := t.text
		switch {
		case t.kind == wordToken && dropped(tokens, i):
			continue
		case t.kind == wordToken && word == "a":
			word = "A" // a name, which stays one
		case t.kind == wordToken:
			word = Stem(joinSpelling(word))
		case t.kind == breakToken:
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(word)
	}
	return b.String()
}

// tokenKind says what a token is.
type tokenKind int

const (
	wordToken   tokenKind = iota // in lower case
	numberToken                  // digits with a sign and a point
	unitToken                    // what a number counts
	exactToken                   // kept as it is: an identifier, a date, a sign
	breakToken                   // a comma or a sentence's end, which is left out
)

// token is a piece of a text. capital is whether its first letter was written large, and
// first whether it begins a sentence. written is a word as it came, for units: MB isn't Mb.
type token struct {
	kind           tokenKind
	text, written  string
	capital, first bool
}

// tokenize cuts a text at its spaces, and each piece into tokens. What is in backquotes is
// one token.
func tokenize(s string) []token {
	t := &tokenizer{tokens: make([]token, 0, len(s)/5+4), first: true}
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		if unicode.IsSpace(r) {
			s = s[size:]
			continue
		}
		if r == '`' {
			if end := strings.IndexByte(s[1:], '`'); end > 0 {
				t.add(token{kind: exactToken, text: strings.Join(strings.Fields(s[:end+2]), "\u00a0")})
				s = s[end+2:]
				continue
			}
		}
		end := strings.IndexFunc(s, unicode.IsSpace)
		if end < 0 {
			end = len(s)
		}
		t.piece(s[:end])
		s = s[end:]
	}
	return t.tokens
}

type tokenizer struct {
	tokens []token
	first  bool
}

func (t *tokenizer) add(tok token) {
	tok.first = t.first
	t.tokens = append(t.tokens, tok)
	t.first = tok.kind == breakToken && tok.text != ","
}

// piece makes tokens of what is between two spaces.
func (t *tokenizer) piece(s string) {
	for s != "" {
		r, size := utf8.DecodeRuneInString(s)
		if !quiet(r) {
			break
		}
		s = s[size:]
	}
	core := strings.TrimRightFunc(s, func(r rune) bool { return quiet(r) || strings.ContainsRune(",;:.!?…", r) })
	end := s[len(core):]
	if core != "" {
		t.middle(core)
	}
	switch {
	case strings.ContainsAny(end, "?"):
		t.add(token{kind: exactToken, text: "?"})
		t.first = true
	case strings.ContainsAny(end, ".!;…"):
		t.add(token{kind: breakToken, text: "."})
	case strings.ContainsAny(end, ",:"):
		t.add(token{kind: breakToken, text: ","})
	}
}

// quiet is what is written around words and says nothing.
func quiet(r rune) bool { return strings.ContainsRune("\"'()[]{}“”‘’«»—–*", r) }

// middle makes tokens of a piece without what is around it.
func (t *tokenizer) middle(s string) {
	if sign, rest := leadingSign(s); sign != "" {
		t.add(token{kind: exactToken, text: sign})
		if rest != "" {
			t.piece(rest)
		}
		return
	}
	switch {
	case s == "&":
		t.add(token{kind: wordToken, text: "and"})
	case isISODate(s):
		t.add(token{kind: exactToken, text: s})
	case t.number(s):
	case wordLike(s):
		t.words(s)
	default:
		t.add(token{kind: exactToken, text: s})
	}
}

// leadingSign splits off a comparison or a currency, in one way to write it.
func leadingSign(s string) (sign, rest string) {
	for _, c := range [...][2]string{
		{"<=", "≤"}, {">=", "≥"}, {"!=", "≠"}, {"==", "="}, {"≤", "≤"}, {"≥", "≥"}, {"≠", "≠"},
		{"<", "<"}, {">", ">"}, {"=", "="}, {"~", "~"}, {"≈", "~"}, {"$", "$"}, {"€", "€"}, {"£", "£"}, {"±", "±"},
	} {
		if rest, is := strings.CutPrefix(s, c[0]); is && (rest == "" || rest[0] >= '0' && rest[0] <= '9' || rest[0] == '-' || rest[0] == '.') {
			return c[1], rest
		}
	}
	return "", s
}

// wordLike reports whether a piece is words of letters, with apostrophes and dashes in them.
func wordLike(s string) bool {
	letter := false
	for i, r := range s {
		switch {
		case unicode.In(r, unicode.Letter, unicode.Mark):
			letter = true
		case (r == '-' || r == '‐' || r == '\'' || r == '’') && i > 0:
		default:
			return false
		}
	}
	return letter
}

// words makes tokens of a word: several where it is a contraction or joins numbers.
func (t *tokenizer) words(s string) {
	first, _ := utf8.DecodeRuneInString(s)
	capital := unicode.IsUpper(first)
	if mixedCase(s) {
		t.add(token{kind: exactToken, text: s}) // a name such as getUser
		return
	}
	written := s
	s = strings.ToLower(dashes.Replace(s))
	list := expand(s)
	if left, right, joined := strings.Cut(s, "-"); joined && isNumberWord(left) && isNumberWord(right) {
		list = []string{left, right}
	}
	for _, word := range list {
		t.add(token{kind: wordToken, text: strings.ReplaceAll(word, "-", ""), written: written, capital: capital})
	}
}

// dashes writes apostrophes and dashes within words in one way.
var dashes = strings.NewReplacer("’", "'", "‐", "-")

// mixedCase reports whether a large letter follows a small one, as in identifiers.
func mixedCase(s string) bool {
	small := false
	for _, r := range s {
		if small && unicode.IsUpper(r) {
			return true
		}
		small = small || unicode.IsLower(r)
	}
	return false
}

// dropped reports whether a word is left out: an article, or "please". A large A within a
// sentence is a name, as in "plan A".
func dropped(tokens []token, i int) bool {
	switch t := tokens[i]; t.text {
	case "the", "an", "please":
		return true
	case "a":
		return !t.capital || t.first
	}
	return false
}

// moveOpening moves the phrase that begins a text with a preposition, up to its comma, to
// the end of its sentence: "In tests, X" is "X in tests".
func moveOpening(tokens []token) []token {
	if len(tokens) == 0 || tokens[0].kind != wordToken || !prepositions[tokens[0].text] {
		return tokens
	}
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
	if comma < 0 || comma+1 >= end {
		return tokens
	}
	moved := make([]token, 0, len(tokens))
	moved = append(moved, tokens[comma+1:end]...)
	moved[0].first = true
	moved = append(moved, tokens[:comma]...)
	return append(moved, tokens[end:]...)
}

var prepositions = map[string]bool{
	"in": true, "on": true, "at": true, "for": true, "with": true, "without": true, "by": true, "from": true, "during": true,
	"after": true, "before": true, "under": true, "over": true, "within": true, "until": true, "since": true, "through": true,
	"between": true, "against": true, "via": true, "despite": true, "per": true, "inside": true, "outside": true, "upon": true,
}
