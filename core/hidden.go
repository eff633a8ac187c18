package core

import "unicode"

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
