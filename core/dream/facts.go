package dream

import (
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/text"
)

// factOf is the class of facts that a token belongs to, and what it says there; "" is none.
func factOf(l *wordLists, tokens []text.Token, i int) (class, fact string) {
	t := &tokens[i]
	var before, after text.Token
	if i > 0 {
		before = tokens[i-1]
	}
	if i+1 < len(tokens) {
		after = tokens[i+1]
	}
	switch t.Kind {
	case text.Number:
		return numberFact(t, before), t.Form
	case text.Unit:
		return Unit, t.Form
	case text.Exact:
		return exactFact(t.Form), t.Form
	}
	if class := l.classes[t.Form]; class != "" && !(t.Form == "max" && t.Capital) {
		return class, l.canonical(t.Form)
	}
	switch t.Form {
	case "may", "march":
		if t.Capital && !t.First {
			return Date, t.Form
		} else if t.Form == "may" {
			return Hedge, t.Form
		}
	case "about", "around", "over", "under", "above", "below", "up", "to":
		if after.Kind == text.Number || after.Kind == text.Exact && exactFact(after.Form) == Number {
			return Quantifier, t.Form
		}
		if t.Form == "to" && (before.Form == "have" || before.Form == "ought") {
			return Modality, "have to"
		}
	case "but":
		if i > 0 && (l.classes[before.Form] == Quantifier || i > 1 && l.classes[tokens[i-2].Form] == Quantifier) {
			return Exception, t.Form
		}
	case "other":
		if after.Form == "than" {
			return Exception, t.Form
		}
	case "longer":
		if before.Form == "no" || before.Form == "any" {
			return Negation, t.Form
		}
	case "long":
		if before.Form == "as" && after.Form == "as" {
			return Condition, t.Form
		}
	case "case":
		if before.Form == "in" {
			return Condition, t.Form
		}
	}
	return "", ""
}

// numberFact is the class of a number: a year, a version behind a name, or a number.
func numberFact(t *text.Token, before text.Token) string {
	switch {
	case len(t.Form) == 4 && (strings.HasPrefix(t.Form, "19") || strings.HasPrefix(t.Form, "20")):
		return Date
	case strings.Contains(t.Form, ".") && (before.Capital && !before.First || before.Form == "version" || before.Form == "releas"):
		return Version
	}
	return Number
}

var (
	versions = core.Pattern(`^v?\d+(?:\.\d+)+(?:[-+.]?[0-9A-Za-z.-]*)$|^v\d+$`)
	times    = core.Pattern(`^\d{1,2}:\d{2}(?::\d{2})?(?:[ap]m)?$|^\d{1,2}[ap]m$|^\d{4}-\d{2}-\d{2}T|^\d{1,4}/\d{1,2}/\d{1,4}$|^\d{1,2}\.\d{1,2}\.\d{4}$|^\d{4}s$`)
	ordinals = core.Pattern(`^\d+(?:st|nd|rd|th)$`)
)

// exactFact is the class of a token that the normal form keeps as it is.
func exactFact(s string) string {
	switch s {
	case "<", ">", "≤", "≥", "≠", "=", "~", "±", "+", "-":
		return Number
	case "$", "€", "£":
		return Unit
	case "?":
		return Hedge
	case ",", ".":
		return ""
	case "‹A›", "US", "IT", "WHO":
		return ""
	}
	if first := s[0]; first >= '0' && first <= '9' || first == 'v' {
		if _, err := time.Parse(time.DateOnly, s); err == nil || times().MatchString(s) {
			return Date
		}
		if ordinals().MatchString(s) {
			return Number
		}
		if versions().MatchString(s) {
			return Version
		}
	}
	return Identifier
}
