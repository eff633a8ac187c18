package modeltext

import (
	"encoding/json"
	"strings"
)

// fenceMark begins and ends a code fence.
const fenceMark = "```"

// fence is a code fence marked as json.
type fence struct {
	open  int // offset of its mark
	value span
	fault *fault
}

// fencesIn lists the fences marked as json. A mark opens a fence only at the start of a
// line. No JSON string contains a raw line break, so scanning a value never continues
// past the next mark, and the text is read once.
func fencesIn(text string) []fence {
	var fences []fence
	for at := 0; ; {
		open := nextMark(text, at)
		if open < 0 {
			return fences
		}
		body := open + len(fenceMark)
		info := infoWord(text[body:])
		s := scanner{text: text, pos: body + len(info)}
		if strings.EqualFold(info, "json") {
			f := scanFence(&s)
			f.open = open
			fences = append(fences, f)
		}
		at = closingMark(text, s.pos)
	}
}

// scanFence scans a fence's value and the end of the fence that must follow it.
func scanFence(s *scanner) fence {
	s.space()
	start := s.pos
	if err := s.value(0); err != nil {
		return fence{fault: err}
	}
	value := span{start, s.pos}
	if s.space(); s.pos < len(s.text) && !strings.HasPrefix(s.text[s.pos:], fenceMark) {
		return fence{fault: s.fault("more text after the JSON value in a code fence")}
	}
	return fence{value: value}
}

// nextMark is the offset of the next mark that starts a line, or -1.
func nextMark(text string, at int) int {
	for {
		i := strings.Index(text[at:], fenceMark)
		if i < 0 {
			return -1
		}
		at += i
		if startsLine(text, at) {
			return at
		}
		at += len(fenceMark)
	}
}

// startsLine reports whether only blanks precede an offset in its line. It reads back
// only over those blanks, so a long line of marks isn't read again and again.
func startsLine(text string, at int) bool {
	for at > 0 && (text[at-1] == ' ' || text[at-1] == '\t') {
		at--
	}
	return at == 0 || text[at-1] == '\n'
}

// closingMark is the offset after the next mark, or the end of the text.
func closingMark(text string, at int) int {
	if i := strings.Index(text[at:], fenceMark); i >= 0 {
		return at + i + len(fenceMark)
	}
	return len(text)
}

// infoWord is the letters and digits after a fence's mark.
func infoWord(text string) string {
	end := strings.IndexFunc(text, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	})
	if end < 0 {
		return text
	}
	return text[:end]
}

func fromFences(text string, fences []fence) (json.RawMessage, string, error) {
	for _, f := range fences {
		if f.fault != nil {
			return nil, "", f.fault.in(text)
		}
	}
	if len(fences) > 1 {
		found := make([]span, len(fences))
		for i, f := range fences {
			found[i] = f.value
		}
		return nil, "", ambiguous(text, found, "mark one code fence only with ```json")
	}
	return fences[0].value.of(text), fenceNote(text, fences[0]), nil
}

// fenceNote reports whether there is more than the fence.
func fenceNote(text string, f fence) string {
	after := strings.TrimSpace(text[f.value.end:])
	if strings.TrimSpace(text[:f.open]) == "" && (after == fenceMark || after == "") {
		return NoteFence
	}
	return NoteBoth
}
