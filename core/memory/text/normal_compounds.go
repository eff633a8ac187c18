package text

import "strings"

// Compounds are written in one word, in two, or with a dash. The normal form has two words for
// a dash, and one word for what people write in either way.

// compounds are what is written in one word and in two: the second words, by the first.
var compounds = map[string][]string{
	"front": {"end"}, "back": {"end"}, "code": {"base"}, "data": {"base", "set", "center"}, "file": {"name", "system"}, "host": {"name"},
	"time": {"zone", "stamp", "line", "table"}, "web": {"site", "page", "hook", "socket"}, "home": {"page"}, "work": {"flow", "space", "load"},
	"white": {"space", "list"}, "black": {"list"}, "allow": {"list"}, "deny": {"list"}, "block": {"list"}, "name": {"space"}, "check": {"list", "box", "point"},
	"end": {"point"}, "road": {"map"}, "mile": {"stone"}, "spread": {"sheet"}, "key": {"board", "word"}, "lap": {"top"}, "smart": {"phone"},
	"birth": {"day"}, "hard": {"ware"}, "soft": {"ware"}, "fire": {"wall"}, "bench": {"mark"}, "book": {"mark"}, "feed": {"back"}, "life": {"cycle", "time"},
	"run": {"time"}, "up": {"time"}, "down": {"time"}, "drop": {"down"}, "band": {"width"}, "pass": {"word", "phrase"}, "screen": {"shot"}, "news": {"letter"}, "note": {"book"},
	"change": {"log"}, "micro": {"service"}, "side": {"bar"}, "tool": {"bar", "chain", "kit"}, "head": {"phone"}, "dish": {"washer"}, "bed": {"room"}, "bath": {"room"},
	"class": {"room"}, "air": {"port"}, "play": {"list", "ground"},
}

// boundPrefixes aren't words by themselves: they belong to the word behind them.
var boundPrefixes = map[string]bool{
	"non": true, "pre": true, "multi": true, "anti": true, "semi": true, "sub": true, "inter": true,
}

// dashPrefixes are joined to the word behind their dash.
var dashPrefixes = map[string]bool{"co": true, "un": true, "de": true, "dis": true, "mis": true, "over": true, "under": true, "super": true, "hyper": true}

// atDashes splits a word at its dashes. What can't be a word is joined: a single letter, as in
// e-mail, and a prefix. What begins with re- keeps its dash: to re-sign isn't to resign.
func atDashes(s string) []string {
	parts := strings.Split(s, "-")
	if len(parts) == 1 || parts[0] == "re" {
		return []string{s}
	}
	list := make([]string, 0, len(parts))
	join := len(parts[0]) == 1
	for _, part := range parts {
		switch n := len(list); {
		case part == "":
		case n > 0 && (join || boundPrefixes[list[n-1]] || dashPrefixes[list[n-1]]):
			list[n-1] += part
		default:
			list = append(list, part)
		}
	}
	return list
}

// joinCompounds joins what is written in two words.
func joinCompounds(tokens []token) []token {
	n := 0
	for i := range tokens {
		t := &tokens[i]
		if n > 0 && t.kind == wordToken && tokens[n-1].kind == wordToken &&
			(compound(tokens[n-1].text, t.text) || t.dash && t.text == "out" && tokens[n-1].text == "time") { // a verb has no dash
			tokens[n-1].text += t.text
			tokens[n-1].written = tokens[n-1].text
			continue
		}
		if n < i {
			tokens[n] = *t
		}
		n++
	}
	return tokens[:n]
}

func compound(a, b string) bool {
	if boundPrefixes[a] {
		return isASCII(b) && len(b) > 2
	}
	for _, second := range compounds[a] {
		if b == second || len(b) == len(second)+1 && b[:len(second)] == second && b[len(second)] == 's' {
			return true
		}
	}
	return false
}
