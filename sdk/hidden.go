package sdk

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Hidden reports whether a character can't be seen and isn't needed to write any language: tags,
// spaces without width, fillers, and variation selectors but for the two that emoji have. A text
// with them says more to a program or a model, which reads its characters, than to a person. Joiners
// are needed by words of some scripts and by emoji, and marks of direction by texts in two
// directions.
func Hidden(r rune) bool {
	switch {
	case r < 0xAD, r == '\u200c', r == '\u200d', r == '\ufe0e', r == '\ufe0f':
		return false
	case r == '\u115f', r == '\u1160', r == '\u17b4', r == '\u17b5', r == '\u3164', r == '\uffa0': // fillers, which are letters
		return true
	}
	if unicode.Is(unicode.Bidi_Control, r) {
		return false
	}
	return unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)
}

// flags are the emoji that are written with tags: the flags of England, Scotland and Wales, the only
// ones of Unicode's RGI_Emoji_Tag_Sequence. With other tags after a flag anything could be said.
var flags = []string{
	"\U0001F3F4\U000E0067\U000E0062\U000E0065\U000E006E\U000E0067\U000E007F",
	"\U0001F3F4\U000E0067\U000E0062\U000E0073\U000E0063\U000E0074\U000E007F",
	"\U0001F3F4\U000E0067\U000E0062\U000E0077\U000E006C\U000E0073\U000E007F",
}

// ReplaceHidden replaces each character of a text that is [Hidden], except the tags of the three
// flags that are emoji. Everything else stays, bytes that aren't UTF-8 too.
func ReplaceHidden(text string, with func(r rune) string) string {
	if !strings.ContainsFunc(text, Hidden) {
		return text
	}
	var b strings.Builder
	b.Grow(len(text) + len(text)/8)
next:
	for i := 0; i < len(text); {
		for _, flag := range flags {
			if strings.HasPrefix(text[i:], flag) {
				b.WriteString(flag)
				i += len(flag)
				continue next
			}
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if Hidden(r) {
			b.WriteString(with(r))
		} else {
			b.WriteString(text[i : i+size])
		}
		i += size
	}
	return b.String()
}

// Visible is a text as it is given to a language model: what a person doesn't see in it
// ([Hidden]) is written as its code point, such as [U+E0041], so that the model reads nothing else than
// a person does. A text without such characters stays as it is.
func Visible(text string) string {
	return ReplaceHidden(text, func(r rune) string { return fmt.Sprintf("[U+%04X]", r) })
}
