package text

import (
	"slices"
	"strings"
)

// Active writes "the cache is cleared by the job" as "the job clears the cache", and "is run" as
// "runs": tokens of one sentence that has one form of be, and where "by" follows the participle.
// The result is only for comparing: "by Friday" becomes a subject too, but so it does in each text.
func Active(tokens []Token) []Token {
	tokens = withoutIsRun(tokens)
	be := -1
	for i := range tokens {
		t := &tokens[i]
		switch {
		case t.Kind == Exact && t.Form == "?", t.Break != "" && i+1 < len(tokens), t.Kind == Word && scoped[t.Form]:
			return tokens
		case t.Kind == Word && (t.Form == "is" || t.Form == "was"):
			if be >= 0 {
				return tokens
			}
			be = i
		}
	}
	if be < 1 || be+1 >= len(tokens) {
		return tokens
	}
	verb := tokens[be+1]
	if be+3 >= len(tokens) || verb.Kind != Word || verb.Form == verb.Word || !strings.HasSuffix(verb.Word, "ed") || tokens[be+2].Form != "by" {
		return tokens
	}
	end := be + 3
	for end < len(tokens) && !(tokens[end].Kind == Word && prepositions[tokens[end].Form]) {
		end++
	}
	if end == be+3 {
		return tokens
	}
	if tokens[be].Form == "is" {
		verb.Word = verb.Form
	}
	return slices.Concat(tokens[be+3:end], []Token{verb}, tokens[:be], tokens[end:])
}

// withoutIsRun leaves out the form of be before run: what is run runs.
func withoutIsRun(tokens []Token) []Token {
	n := 0
	for i := range tokens {
		t := &tokens[i]
		if n > 0 && t.Form == "is" && t.Kind == Word && i+1 < len(tokens) && tokens[i+1].Form == "run" && tokens[i+1].Kind == Word {
			tokens[n-1].Break = t.Break
			continue
		}
		if n < i {
			tokens[n] = *t
		}
		n++
	}
	return tokens[:n]
}

// scoped are words whose place in a sentence decides what they are about: what everybody read
// isn't what was read by everybody.
var scoped = map[string]bool{
	"every": true, "each": true, "all": true, "any": true, "some": true, "no": true, "not": true, "only": true, "most": true, "many": true, "few": true,
	"both": true, "either": true, "neither": true, "and": true, "or": true, "never": true,
}
