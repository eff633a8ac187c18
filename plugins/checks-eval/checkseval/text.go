package checkseval

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/reflectory/reflectory/plugins/internal/expression"
	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/jsonconfig"
)

// measure counts something in a text, and finds the first that is beyond a limit: its offset, or -1.
type measure struct {
	what  string
	count func(text string, limit int) (n, beyond int)
}

var (
	characters = measure{"characters", countCharacters}
	words      = measure{"words", countWords}
)

func countCharacters(text string, limit int) (n, beyond int) {
	beyond = -1
	for i := range text {
		if n == limit {
			beyond = i
		}
		n++
	}
	return n, beyond
}

// countWords counts what white space separates.
func countWords(text string, limit int) (n, beyond int) {
	beyond = -1
	inside := false
	for i, r := range text {
		space := unicode.IsSpace(r)
		if !space && !inside {
			if n == limit {
				beyond = i
			}
			n++
		}
		inside = !space
	}
	return n, beyond
}

// readLength reads a check of the length of a text, or of all texts in an object or list together.
func readLength(m measure, most bool) reader {
	return func(o *jsonconfig.Object, key string, _ json.RawMessage) judge {
		var limit int
		if !o.Take(key, "a whole number", &limit) || limit < 0 {
			o.Report("%s must be a whole number from 0", key)
		}
		return func(in *input) result { return in.length(m, limit, most) }
	}
}

func (in *input) length(m measure, limit int, most bool) result {
	total := 0
	var beyond *sdk.Finding
	done := walk(in.value, nil, false, func(at []string, text string) bool {
		n, first := m.count(text, limit-total)
		if first >= 0 {
			beyond = &sdk.Finding{Path: in.pathTo(at), Message: fmt.Sprintf("%s: %s", place(text, first), excerpt(text, first))}
		}
		total += n
		return in.spend(visitSteps + len(text)/searchedPerStep)
	})
	switch {
	case !done:
		return in.tooLarge("its " + m.what + " weren't all counted")
	case most && total > limit:
		return failAt(beyond.Path, float64(limit)/float64(total), "has %d %s (limit %d); what is too much begins at %s", total, m.what, limit, beyond.Message)
	case !most && total < limit:
		return in.fail(float64(total)/float64(limit), "has %d %s (at least %d are wanted)", total, m.what, limit)
	}
	return passed()
}

// readPattern reads a regular expression that must match somewhere, or nowhere.
func readPattern(wanted bool) reader {
	return func(o *jsonconfig.Object, key string, _ json.RawMessage) judge {
		var text string
		if !o.Take(key, "text", &text) || text == "" {
			o.Report("%s must be a regular expression", key)
			return nil
		}
		re, size, err := expression.CompilePattern(text)
		if err != nil {
			o.Report("%s: %v", key, err)
		}
		if wanted {
			return func(in *input) result { return in.matches(re, size) }
		}
		return func(in *input) result { return in.notMatches(re, size) }
	}
}

// shownPattern is a pattern as messages show it.
func shownPattern(re *regexp.Regexp) string { return excerpt(re.String(), 0) }

func (in *input) matches(re *regexp.Regexp, size int) result {
	found := false
	done := walk(in.value, nil, true, func(_ []string, text string) bool {
		if !in.spend(visitSteps + len(text)*size) {
			return false
		}
		found = re.MatchString(text)
		return !found
	})
	switch {
	case found:
		return passed()
	case !done:
		return in.tooLarge("the pattern " + shownPattern(re) + " would take too long")
	}
	return in.fail(0, "nothing in it matches the pattern %s", shownPattern(re))
}

func (in *input) notMatches(re *regexp.Regexp, size int) result {
	var r result
	done := walk(in.value, nil, true, func(at []string, text string) bool {
		if !in.spend(visitSteps + len(text)*size) {
			return false
		}
		if m := re.FindStringIndex(text); m != nil {
			r.findings = append(r.findings, failAt(in.pathTo(at), 0, "must not match the pattern %s, and does at %s: %s",
				shownPattern(re), place(text, m[0]), excerpt(text[:m[1]], m[0])).findings...)
		}
		return len(r.findings) < maxFindings
	})
	switch {
	case len(r.findings) > 0:
		return r
	case !done:
		return in.tooLarge("the pattern " + shownPattern(re) + " would take too long")
	}
	return passed()
}

// readContains reads a list of texts that are looked for.
func readContains(check func(in *input, texts []string) result) reader {
	return func(o *jsonconfig.Object, key string, _ json.RawMessage) judge {
		var texts []string
		switch ok := o.Take(key, "a list of texts", &texts); {
		case !ok || len(texts) == 0:
			o.Report("%s must be a list with at least one text", key)
		case len(texts) > maxTexts:
			o.Report("%s has %d texts (limit %d)", key, len(texts), maxTexts)
		case slices.Contains(texts, ""):
			o.Report("%s[%d] is empty, and an empty text is in every text", key, slices.Index(texts, ""))
		}
		for i, text := range texts {
			if len(text) > maxText {
				o.Report("%s[%d] has %d bytes (limit %d)", key, i, len(text), maxText)
			}
		}
		return func(in *input) result { return check(in, texts) }
	}
}

// find looks for a text, and says where it first is: "" if it isn't there. ok is false if
// that would take too long.
func (in *input) find(wanted string) (path, where string, ok bool) {
	ok = walk(in.value, nil, true, func(at []string, text string) bool {
		if !in.spend(visitSteps + len(text)/searchedPerStep) {
			return false
		}
		if i := strings.Index(text, wanted); i >= 0 {
			path, where = in.pathTo(at), place(text, i)
		}
		return where == ""
	})
	return path, where, ok || where != ""
}

const searchTooLong = "to look for all texts would take too long"

func containsAll(in *input, texts []string) result {
	var r result
	for _, text := range texts {
		_, where, ok := in.find(text)
		if !ok {
			return in.tooLarge(searchTooLong)
		}
		if where == "" {
			r.findings = append(r.findings, in.fail(0, "%s is missing", excerpt(text, 0)).findings...)
		}
	}
	return r.outOf(len(texts))
}

func containsAny(in *input, texts []string) result {
	for _, text := range texts {
		_, where, ok := in.find(text)
		if !ok {
			return in.tooLarge(searchTooLong)
		}
		if where != "" {
			return passed()
		}
	}
	shown := make([]string, min(len(texts), 10))
	for i := range shown {
		shown[i] = excerpt(texts[i], 0)
	}
	return in.fail(0, "none of these %d texts is in it: %s", len(texts), strings.Join(shown, ", "))
}

func containsNone(in *input, texts []string) result {
	var r result
	for _, text := range texts {
		path, where, ok := in.find(text)
		if !ok {
			return in.tooLarge(searchTooLong)
		}
		if where != "" {
			r.findings = append(r.findings, failAt(path, 0, "%s must not be in it, and is at %s", excerpt(text, 0), where).findings...)
		}
	}
	return r.outOf(len(texts))
}

// outOf scores a check by how many of its parts have no finding.
func (r result) outOf(parts int) result {
	r.score = float64(parts-len(r.findings)) / float64(parts)
	return r
}
