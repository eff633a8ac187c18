package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Two texts say the same if they differ only in how they are written: in case,
// contractions, articles, plurals, "30 s" or "thirty seconds". The normal form removes
// these differences and nothing else, since texts with one normal form count as one thing:
// a number with its sign, a unit, a date, a version, an identifier, a negation and the
// order of words stay. What an ending says, such as a tense, is removed too, and a guard
// looks at it.
//
// Tokens are made by looking at what is between spaces, since it tells a word from an
// identifier; then tokens next to each other become numbers, dates and units.

// Normal returns the normal form of a text: its words, with one space between them. Texts
// of other languages than English keep their words, in lower case. It takes time in
// proportion to the text, and leaves a normal form as it is.
func Normal(s string) string { return Form(Active(Tokens(s))) }

// Token is a piece of a normal form.
type Token struct {
	Kind TokenKind
	// Form is what the normal form has: a word without its endings, a number in digits.
	Form string
	// Word is a word in lower case and one spelling, with its endings; of other kinds it is
	// Form.
	Word string
	// Capital is whether it begins with a capital letter, and First whether it begins a
	// sentence, where a capital letter says nothing.
	Capital, First bool
	// Break is the comma or the end of a sentence after it, which the form leaves out:
	// "," or "." or "".
	Break string
	// Dash is whether a dash joins it to the word before.
	Dash bool
}

// TokenKind is the kind of a token.
type TokenKind int

// The kinds of tokens.
const (
	Word   TokenKind = iota // a word
	Number                  // digits with a sign and a point
	Unit                    // what a number counts
	Exact                   // kept as it is: an identifier, a date, a sign
)

// Tokens returns the tokens of the normal form of a text, before [Active]: see [Normal].
func Tokens(s string) []Token {
	tokens := tokenize(norm.NFKC.String(s))
	tokens = dropArticles(tokens)
	tokens = joinCompounds(tokens)
	tokens = joinNumbers(tokens)
	tokens = joinDates(tokens)
	tokens = moveOpening(tokens)
	list := make([]Token, 0, len(tokens))
	for i, t := range tokens {
		if t.kind == breakToken {
			if n := len(list); n > 0 && separates(tokens, i) {
				list = append(list, Token{Kind: Exact, Form: t.text, Word: t.text})
			} else if n > 0 {
				list[n-1].Break = t.text
			}
			continue
		}
		out := Token{Form: t.text, Word: t.text, Capital: t.capital, First: t.first, Dash: t.dash}
		switch t.kind {
		case wordToken:
			out.Form, out.Word = baseForm(t.text)
			if n := len(list); n > 0 && list[n-1].Kind == Word && compounds[list[n-1].Form] != nil && compound(list[n-1].Form, out.Form) {
				list[n-1].Form, out.Form = list[n-1].Word, out.Word // an ending keeps them apart
			}
			if i < maxOpening && subjects[out.Form] && openings[tokens[0].text] {
				out.Form = t.text // "on calls" isn't "on" and an instruction
			}
		case numberToken:
			out.Kind = Number
			if t.written != "" && !measured(tokens, i) {
				out.Form, out.Word = t.written, t.written
			}
		case unitToken:
			out.Kind = Unit
		default:
			out.Kind = Exact
		}
		list = append(list, out)
	}
	return list
}

// Form writes tokens as a normal form.
func Form(tokens []Token) string {
	size := 0
	for i := range tokens {
		size += len(tokens[i].Form) + 1
	}
	var b strings.Builder
	b.Grow(size)
	for i := range tokens {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(tokens[i].Form)
	}
	return b.String()
}

// measured reports whether a number counts a unit or a currency, so that 1.50 is 1.5. By itself it
// may be a version or a name, and 3.10 isn't 3.1, nor 007 7.
func measured(tokens []token, i int) bool {
	if i+1 < len(tokens) && tokens[i+1].kind == unitToken {
		return true
	}
	return i > 0 && tokens[i-1].text == "£"
}

// separates reports whether a break is between tokens that would be one number or date
// without it, such as "5, 6" and "on 1 May. 2026 was": it stays in the form.
func separates(tokens []token, i int) bool {
	if i == 0 || i+1 == len(tokens) {
		return false
	}
	left, right := tokens[i-1], tokens[i+1]
	if right.kind == breakToken {
		return false
	}
	if left.kind == wordToken && right.kind == wordToken && (compound(left.text, right.text) || i < maxOpening && openings[tokens[0].text]) {
		return true
	}
	ofDate := func(t token) bool {
		return t.kind == numberToken || dayOf(t) > 0 || t.kind == wordToken && months[t.text] > 0
	}
	ofNumber := ofDate(right) || unitInSmall[strings.ToLower(right.text)] || scales[right.text] > 0
	switch right.text {
	case "of", "dozen", "per", "degree", "degrees", "€":
		ofNumber = true
	}
	return ofNumber && (ofDate(left) || left.text == "$" || left.text == "€" || left.kind == exactToken && strings.Contains(left.text, ":"))
}

// tokenKind is the kind of a token.
type tokenKind int

const (
	wordToken   tokenKind = iota // in lower case
	numberToken                  // digits with a sign and a point
	unitToken                    // what a number counts
	exactToken                   // kept as it is: an identifier, a date, a sign
	breakToken                   // a comma or a sentence's end, which is left out
)

// token is a piece of a text. capital is whether its first letter was a capital, and first
// whether it begins a sentence. written is a word as it was written, for units: MB isn't
// Mb.
type token struct {
	kind           tokenKind
	text, written  string
	capital, first bool
	// dash is whether a dash joins it to the word before, and article whether an article was
	// before it.
	dash, article bool
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
		if quiet(r) {
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
func quiet(r rune) bool {
	switch r {
	case '"', '\'', '(', ')', '[', ']', '{', '}', '“', '”', '‘', '’', '«', '»', '—', '–', '*':
		return true
	}
	return false
}

// middle makes tokens of a piece without what is around it.
func (t *tokenizer) middle(s string) {
	if asciiLetter(s[0]) && wordLike(s) { // most are
		t.words(s)
		return
	}
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
	case slashDate(s) != "":
		t.add(token{kind: exactToken, text: slashDate(s)})
	case joinedClockTime(s) != "":
		t.add(token{kind: exactToken, text: joinedClockTime(s)})
	case t.numberAndWord(s):
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
		case r < utf8.RuneSelf && asciiLetter(byte(r)):
			letter = true
		case unicode.In(r, unicode.Letter, unicode.Mark):
			letter = true
		case (r == '-' || r == '‐' || r == '\'' || r == '’') && i > 0:
		default:
			return false
		}
	}
	return letter
}

func asciiLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// words makes tokens of a word: several if it is a contraction or joins numbers.
func (t *tokenizer) words(s string) {
	first, _ := utf8.DecodeRuneInString(s)
	capital := unicode.IsUpper(first)
	if mixedCase(s) {
		t.add(token{kind: exactToken, text: s}) // a name such as getUser
		return
	}
	if capitalNames[s] {
		t.add(token{kind: exactToken, text: s})
		return
	}
	written := s
	if !isASCII(s) {
		s = dashes.Replace(s)
	}
	s = strings.ToLower(s)
	if strings.IndexByte(s, '-') < 0 {
		t.expanded(s, written, capital, false)
		return
	}
	for i, part := range atDashes(s) {
		rest, again := strings.CutPrefix(part, "re-")
		rest = strings.ReplaceAll(rest, "-", "")
		if again {
			rest = "re-" + rest
		}
		if rest != s {
			written = rest
		}
		t.expanded(rest, written, capital, i > 0)
	}
}

// expanded adds a word, or the words of a contraction.
func (t *tokenizer) expanded(s, written string, capital, dash bool) {
	for _, word := range expand(s) {
		if !isASCII(word) {
			word = norm.NFKC.String(word) // small letters and letters without a dash between may compose
		}
		t.add(token{kind: wordToken, text: word, written: written, capital: capital, dash: dash})
	}
}

// numberAndWord reads "5-minute", which is "5 minute", and reports whether it is that.
func (t *tokenizer) numberAndWord(s string) bool {
	left, right, joined := strings.Cut(s, "-")
	if !joined || len(right) < 3 || !wordLike(right) || right != strings.ToLower(right) || strings.Trim(left, "0123456789") != "" || left == "" {
		return false
	}
	t.counted(left, "")
	t.words(right)
	return true
}

// capitalNames are names that are another word in lower case.
var capitalNames = map[string]bool{"US": true, "IT": true, "WHO": true}

// dashes writes apostrophes and dashes within words in one way.
var dashes = strings.NewReplacer("’", "'", "‐", "-")

// mixedCase reports whether a capital letter follows a small one, as in identifiers.
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

// dropArticles leaves out articles and "please". A capital A within a sentence is a name, as
// in "plan A", and so is one before a verb, as in "A calls B", or one that nothing follows.
func dropArticles(tokens []token) []token {
	out := tokens[:0]
	for i, t := range tokens {
		drop := false
		if t.kind == wordToken {
			switch t.text {
			case "the", "an", "please":
				drop = true
			case "a":
				last := i+1 == len(tokens) || tokens[i+1].kind == breakToken
				if drop = !last && (!t.capital || t.first && !followsName(tokens[i+1])); !drop {
					t.kind, t.text = exactToken, "‹A›" // which isn't read as an article again
				}
			}
		}
		if !drop {
			out = append(out, t)
		} else if i+1 < len(tokens) {
			tokens[i+1].first = tokens[i+1].first || t.first
			tokens[i+1].article = t.text != "please"
		}
	}
	return out
}

// followsName reports whether a token can't be what an article belongs to: a verb, or a
// word that joins.
func followsName(t token) bool {
	switch t.text {
	case "and", "or", "is", "was", "has", "had", "does", "did", "will", "can", "may", "must", "should", "would", "could", "to", "in", "on", "of", "with", "not":
		return true
	}
	return t.kind == breakToken || t.kind == wordToken && cutPlural(t.text) != t.text && len(t.text) > 3
}
