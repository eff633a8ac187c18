package modeltext

import "strings"

// Models think aloud before they answer, each in its own way: between tags in front of the
// answer, with the closing tag alone (if the opening one is part of the prompt), or in
// channels. A draft in a thought must never be taken for the answer, and the text of an
// answer that mentions a tag must stay whole. So a tag doesn't count in a complete JSON value,
// in a closed code fence or between backticks; and if the rest after a closing tag is one JSON
// value, that is the answer, whatever else there is.

// thoughtNames are the names of the tags. Upper and lower case are the same.
var thoughtNames = []string{"thinking", "think", "reasoning", "thought"}

// tag is an opening or closing tag of a thought at text[start:end].
type tag struct {
	start, end int
	closing    bool
	// square is [THINK] instead of <think>, and shout that it is in capitals.
	square, shout bool
}

// Split separates the answer in a text from the thoughts, which it joins. A thought without an
// end takes all that follows. A text without thoughts is the answer as it is.
func Split(text string) (answer, thought string) {
	spans := thoughtsIn(text)
	if len(spans) == 0 {
		return text, ""
	}
	var rest, inside strings.Builder
	at := 0
	for _, s := range spans {
		rest.WriteString(text[at:s.start])
		inside.WriteString(text[s.start:s.end])
		at = s.end
	}
	rest.WriteString(text[at:])
	return strings.Trim(rest.String(), " \t\r\n"+byteOrderMark), inside.String()
}

// answer is the text with blanks in place of the thoughts, so that positions don't change.
func answer(text string) string {
	spans := thoughtsIn(text)
	if len(spans) == 0 {
		return text
	}
	return blanked(text, spans)
}

func blanked(text string, spans []span) string {
	var b strings.Builder
	b.Grow(len(text))
	at := 0
	for _, s := range spans {
		b.WriteString(text[at:s.start])
		for _, r := range text[s.start:s.end] {
			if r != '\n' {
				r = ' '
			}
			b.WriteRune(r)
		}
		at = s.end
	}
	b.WriteString(text[at:])
	return b.String()
}

// thoughtsIn lists the thoughts in a text, with their tags, in order.
func thoughtsIn(text string) []span {
	if text == "" || isWhole(text) {
		return nil
	}
	channels := channelsIn(text)
	if len(channels) > 0 {
		// Positions must stay those of the text, byte by byte.
		masked := []byte(text)
		for _, s := range channels {
			for i := s.start; i < s.end; i++ {
				masked[i] = ' '
			}
		}
		text = string(masked)
	}
	tags := tagsIn(text)
	if len(tags) == 0 {
		return channels
	}
	w := walker{text: text, tags: tags, budget: scanBudget * len(text)}
	if end, found := w.lastWord(); found {
		return []span{{0, end}}
	}
	return merged(channels, w.walk())
}

// merged joins two ordered lists of spans.
func merged(a, b []span) []span {
	if len(a) == 0 || len(b) == 0 {
		return append(a, b...)
	}
	var out []span
	for len(a)+len(b) > 0 {
		var next span
		if len(b) == 0 || len(a) > 0 && a[0].start <= b[0].start {
			next, a = a[0], a[1:]
		} else {
			next, b = b[0], b[1:]
		}
		if n := len(out); n > 0 && next.start <= out[n-1].end {
			out[n-1].end = max(out[n-1].end, next.end)
			continue
		}
		out = append(out, next)
	}
	return out
}

// tagsIn lists the tags in a text.
func tagsIn(text string) (tags []tag) {
	for at := 0; ; {
		i := strings.IndexAny(text[at:], "<[")
		if i < 0 {
			if start := tornTag(text); start >= 0 {
				tags = append(tags, tag{start: start, end: len(text), closing: true})
			}
			return tags
		}
		at += i
		t, found := tagAt(text, at)
		if !found {
			at++
			continue
		}
		tags = append(tags, t)
		at = t.end
	}
}

// tornTag is the offset of a closing tag that a text ends in, or -1: the reply was cut off, even
// if nothing else says so.
func tornTag(text string) int {
	at := strings.LastIndex(text[max(0, len(text)-len("</reasoning")):], "</")
	if at < 0 {
		return -1
	}
	at += max(0, len(text)-len("</reasoning"))
	for _, name := range thoughtNames {
		if rest := text[at+len("</"):]; len(rest) <= len(name) && strings.EqualFold(rest, name[:len(rest)]) {
			return at
		}
	}
	return -1
}

// tagAt reads the tag that starts at an offset, if there is one.
func tagAt(text string, at int) (tag, bool) {
	t := tag{start: at, square: text[at] == '['}
	rest := text[at+1:]
	rest, t.closing = strings.CutPrefix(rest, "/")
	for _, name := range thoughtNames {
		if t.square && name != "think" || len(rest) <= len(name) || !strings.EqualFold(rest[:len(name)], name) {
			continue
		}
		t.shout = rest[:len(name)] == strings.ToUpper(name)
		after := strings.TrimLeft(rest[len(name):], " \t\r\n")
		if after == "" || after[0] != '>' && !t.square || after[0] != ']' && t.square {
			continue
		}
		t.end = len(text) - len(after) + 1
		return t, true
	}
	return tag{}, false
}

// scanBudget is how often each byte of a text is read on average, at most, in the search for
// JSON values that contain a tag. A text that needs more is hostile.
const scanBudget = 16

// walker goes through a text from tag to tag.
type walker struct {
	text   string
	tags   []tag
	budget int
	// next is the next tag, of which those before are done.
	next int
}

// lastWord is the end of the first closing tag after which there is only one JSON value.
func (w *walker) lastWord() (end int, found bool) {
	for _, t := range w.tags {
		if !t.closing {
			continue
		}
		if v, wrong := w.scan(t.end); wrong == nil {
			s := scanner{text: w.text, pos: v.end}
			if s.space(); s.pos == len(w.text) {
				return t.end, true
			}
		}
		if w.budget < 0 {
			return 0, false
		}
	}
	return 0, false
}

// scan reads the JSON value after an offset.
func (w *walker) scan(at int) (span, *fault) {
	s := scanner{text: w.text, pos: at}
	s.space()
	start := s.pos
	wrong := s.value(0)
	w.budget -= s.pos - at + 1
	return span{start, s.pos}, wrong
}

// walk lists the thoughts. It alternates between the answer, in which it looks for the next
// tag that counts, and thoughts.
func (w *walker) walk() (spans []span) {
	for at := 0; ; {
		t, found := w.nextTag(at)
		if !found {
			return spans
		}
		if t.closing { // all before it was thought
			spans = []span{{0, t.end}}
			at = t.end
			continue
		}
		end, closed := w.closing()
		if !closed && t.square && !t.shout && strings.TrimSpace(w.text[:t.start]) != "" {
			at = t.end // an editor's brackets
			continue
		}
		spans = append(spans, span{t.start, end})
		at = end
	}
}

// closing is the end of the thought whose opening tag was the last one. A closing tag between
// backticks counts only if there is no other.
func (w *walker) closing() (end int, closed bool) {
	quoted := -1
	for i := w.next; i < len(w.tags); i++ {
		t := w.tags[i]
		switch {
		case !t.closing:
		case !w.between(t, '`'):
			w.next = i + 1
			return t.end, true
		case quoted < 0:
			quoted = i
		}
	}
	if quoted >= 0 {
		w.next = quoted + 1
		return w.tags[quoted].end, true
	}
	return len(w.text), false
}

// nextTag is the next tag that counts in an answer from an offset on.
func (w *walker) nextTag(at int) (tag, bool) {
	for {
		for w.next < len(w.tags) && w.tags[w.next].start < at {
			w.next++
		}
		if w.next == len(w.tags) {
			return tag{}, false
		}
		t := w.tags[w.next]
		if after := w.skipProtected(at, t.start); after > at {
			at = after
			continue
		}
		w.next++
		if w.between(t, '`') || t.closing && w.quoted(t) {
			at = t.end
			continue
		}
		return t, true
	}
}

// skipProtected looks between two offsets for the start of a JSON value or of a code fence. It
// returns the offset from which to look on: after what was found, or from if there is nothing
// more. Only what reaches beyond the second offset could protect a tag there.
func (w *walker) skipProtected(from, tagAt int) (after int) {
	for at := from; at < tagAt; {
		i := strings.IndexAny(w.text[at:tagAt], "{[`")
		if i < 0 {
			return from
		}
		at += i
		if w.text[at] == '`' {
			end := w.fence(at)
			if end > tagAt {
				return end
			}
			at = max(end, at+1)
			continue
		}
		if w.budget < 0 {
			at++
			continue
		}
		v, wrong := w.scan(at)
		switch {
		case wrong == nil && v.end > tagAt:
			return v.end
		case wrong == nil:
			at = v.end
		default:
			// Scanning goes on where it failed, but never beyond the tag.
			at = max(at+1, min(v.end, tagAt))
		}
	}
	return from
}

// fence is the end of the closed code fence that starts at an offset, or 0.
func (w *walker) fence(at int) int {
	if !strings.HasPrefix(w.text[at:], fenceMark) || !startsLine(w.text, at) {
		return 0
	}
	body := at + len(fenceMark)
	end := nextMark(w.text, body)
	if end < 0 {
		return 0
	}
	end += len(fenceMark)
	// A mark with a word after it opens another fence.
	if after := strings.TrimLeft(w.text[end:], " \t\r"); after != "" && after[0] != '\n' {
		return 0
	}
	return end
}

// between reports whether a tag stands between two of the same character.
func (w *walker) between(t tag, quote byte) bool {
	return t.start > 0 && t.end < len(w.text) && w.text[t.start-1] == quote && w.text[t.end] == quote
}

// quoted reports whether a tag is in quotation marks that open before it.
func (w *walker) quoted(t tag) bool {
	return w.between(t, '"') && (t.start == 1 || strings.ContainsRune(" (\n\t", rune(w.text[t.start-2])))
}
