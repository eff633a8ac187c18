package term

import (
	"fmt"
	"io"
	"strings"
)

// program is the start of a command line in a hint.
const program = "reflectory "

// leads are the words that a message may begin with, and the colour of each.
var leads = []struct{ word, colour string }{{"error:", "1;31"}, {"warn:", "33"}, {"hint:", "36"}}

// Message writes lines for people. On a terminal they are wrapped between words, and the
// words error:, warn: and hint: at their start are coloured. A command line in a hint
// isn't wrapped, so that it can be pasted. Elsewhere the text is written unchanged.
func Message(w io.Writer, text string) error {
	width := Width(w)
	for _, l := range leads {
		rest, is := strings.CutPrefix(text, l.word)
		if !is {
			continue
		}
		text = l.word + breakBefore(rest, width, l.word == "hint:")
		if Styled(w) {
			text = "\x1b[" + l.colour + "m" + l.word + "\x1b[0m" + strings.TrimPrefix(text, l.word)
		}
		_, err := fmt.Fprintln(w, text)
		return err
	}
	_, err := fmt.Fprintln(w, Wrap(text, width, "    "))
	return err
}

// breakBefore wraps the text after the first word of a message. A hint's command line
// that doesn't fit is put on its own line.
func breakBefore(text string, width int, hint bool) string {
	const first, indent = "error:", "       "
	if width == 0 || WidthOf(first+text) <= width {
		return text
	}
	at := strings.Index(text, program)
	if !hint || at < 0 {
		at = len(text)
	}
	said := Wrap(strings.Repeat(" ", len(first))+" "+strings.TrimSpace(text[:at]), width, indent)[len(first):]
	if at == len(text) {
		return said
	}
	if strings.TrimSpace(said) == "" {
		return " " + text[at:]
	}
	return said + "\n  " + text[at:]
}
