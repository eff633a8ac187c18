package dream

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/text"
)

// Memories are compared by their contents: a title that is the start of the content says
// nothing more, and one text under two titles is one fact. When two memories are merged, the
// titles that they were given are kept as tags.

// maxTag is how long a tag may be, in bytes.
const maxTag = 128

// givenTitle is the title that a memory was given; "" if it was derived from its content, or says
// the same.
func givenTitle(m *core.Memory, derive func(content string) string) string {
	if strings.HasPrefix(m.Content, m.Title) || derive != nil && m.Title == derive(m.Content) || text.Normal(m.Title) == text.Normal(m.Content) {
		return ""
	}
	return m.Title
}

// titleTags are the titles to keep as tags after a merge: the victim's, if it isn't the keeper's
// too, and then the keeper's with it, so that neither seems to be the only one.
func titleTags(keeper, victim *core.Memory, derive func(content string) string) (tags []string) {
	ofKeeper, ofVictim := givenTitle(keeper, derive), givenTitle(victim, derive)
	if ofVictim == "" || text.Normal(ofKeeper) == text.Normal(ofVictim) {
		return nil
	}
	for _, title := range []string{ofKeeper, ofVictim} {
		if tag := tagOf(title); tag != "" && !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	return tags
}

// tagOf is a title as a tag: on one line, cut to [maxTag], and none that passes obey.
func tagOf(title string) string {
	tag := strings.Join(strings.FieldsFunc(title, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	if len(tag) > maxTag {
		end := maxTag
		for !utf8.RuneStart(tag[end]) {
			end--
		}
		tag = strings.TrimSpace(tag[:end])
	}
	if tag == Pinned || tag == Undated {
		return ""
	}
	return tag
}

// otherSubject reports whether given titles say that two memories are about different things:
// each has a word that the other lacks.
func otherSubject(a, b *core.Memory, derive func(content string) string) bool {
	titleA, titleB := givenTitle(a, derive), givenTitle(b, derive)
	if titleA == "" || titleB == "" {
		return false
	}
	wordsA, wordsB := readWords(text.Tokens(titleA)), readWords(text.Tokens(titleB))
	return len(onlyIn(wordsA, wordsB)) > 0 && len(onlyIn(wordsB, wordsA)) > 0
}
