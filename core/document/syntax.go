package document

import (
	"cmp"
	"io"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/reflectory/reflectory/core"
)

// The library describes a syntax error in terms for its own authors, often with the wrong
// line, and without a column. So the position is found here: the text is cut off earlier
// and earlier, and the cause is where the library stops giving the same error as for the
// whole text.

// syntaxError is what a message of the library means to an author.
type syntaxError struct{ message, hint string }

// syntaxErrors are the errors that authors are likely to make, by the library's message.
// It has no codes; a message that isn't here is shown as it is.
var syntaxErrors = map[string]syntaxError{
	"mapping values are not allowed in this context":               {`a ":" can't follow here`, `quote a text that has ": " in it; a key begins its own line, indented as its siblings are`},
	"did not find expected key":                                    {"a key is expected here", "a key is indented as its siblings are, and a text that goes on after its closing quote needs other quotes around it"},
	"did not find expected '-' indicator":                          {`a "-" is expected here`, "the entries of a list are indented alike"},
	"could not find expected ':'":                                  {`a key without a ":"`, `write "key: value"; a text of several lines is indented, or begins with |`},
	"did not find expected ',' or ']'":                             {"this list isn't closed, or lacks a comma", ""},
	"did not find expected ',' or '}'":                             {"this mapping isn't closed, or lacks a comma", ""},
	"did not find expected node content":                           {"a value is expected here", "a list or mapping in brackets goes on to its ] or }"},
	"did not find expected <document start>":                       {"the document has ended before this", "indent what belongs to it"},
	"found unexpected end of stream":                               {"this quote isn't closed", ""},
	"found unknown escape character":                               {"there is no such escape in double quotes", `write \\ for a backslash, or use single quotes`},
	"found character that cannot start any token":                  {"a text can't begin with this character", "quote the text"},
	"found a tab character that violates indentation":              {"a tab can't indent", "use spaces"},
	"found a tab character where an indentation space is expected": {"a tab can't indent", "use spaces"},
	"block sequence entries are not allowed in this context":       {`a "-" can't follow here`, "an entry of a list begins its own line; quote a text that begins with a dash"},
	"mapping keys are not allowed in this context":                 {`a "?" can't follow here`, "quote a text that begins with a question mark"},
	"did not find expected hexdecimal number":                      {"an escape lacks digits", `write \\ for a backslash, or use single quotes`},
	"found invalid Unicode character escape code":                  {"an escape names no character", ""},
	"did not find expected comment or line break":                  {"nothing can follow | or > in its line", "begin the text in the next line"},
	"did not find expected alphabetic or numeric character":        {"a text can't begin with this character", "quote the text"},
}

const (
	templateInYAML = "a template that begins a value must be quoted, since { begins a mapping in YAML"
	templateHint   = `write "{{ … }}"`
)

// bareTemplate is a template at the start of a value, without quotes.
var bareTemplate = core.Pattern(`(?:^|[:,\[-])\s*(\{[{%])`)

// said matches the library's name and line in its message.
var said = core.Pattern(`^yaml: (?:line \d+: )?`)

func message(err error) string { return said().ReplaceAllString(err.Error(), "") }

func syntaxProblem(text string, err error, depth int, found *Problems) {
	what := message(err)
	switch {
	case strings.HasPrefix(what, "unknown anchor"):
		found.Add(posOf(text, opener(text, what, "*")), unsupportedHint, unsupported)
		return
	case strings.HasPrefix(what, "exceeded max depth"):
		tooDeep(posOf(text, consumed(text)-1), depth, found)
		return
	}
	if i := unclosed(text, depth); i >= 0 {
		tooDeep(posOf(text, i), depth, found)
		return
	}
	known := syntaxErrors[what]
	at := placeOf(text, what)
	line := newSource(text).from(Pos{at.Line, 1})
	if m := bareTemplate().FindStringSubmatchIndex(line); m != nil {
		found.Add(Pos{at.Line, 1 + utf8.RuneCountInString(line[:m[2]])}, templateHint, templateInYAML)
		return
	}
	if strings.HasPrefix(newSource(text).from(at), "\t") {
		known = syntaxErrors["found a tab character that violates indentation"]
	}
	found.Add(at, known.hint, "%s", cmp.Or(known.message, what))
}

// unclosed is the offset of the last bracket at an allowed depth, or -1: a text with more
// open brackets in a row fails for another reason.
func unclosed(text string, depth int) int {
	open := 0
	for i, c := range text {
		if c != '[' && c != '{' {
			open = 0
			continue
		}
		if open++; open > depth {
			return i
		}
	}
	return -1
}

// placeOf finds the cause of a syntax error.
func placeOf(text, what string) Pos {
	text = text[:consumed(text)]
	switch {
	case len(text) > maxSearched:
		return posOf(text, len(text)-1)
	case what == "did not find expected node content" && strings.ContainsAny(text[lastSign(text):], "[{,"):
		return posOf(text, lastSign(text)) // nothing follows
	case strings.HasPrefix(what, "did not find expected ',' or "):
		return posOf(text, opener(text, what, "[{"))
	case what == "found unexpected end of stream":
		return posOf(text, opener(text, what, `"'`))
	}
	return posOf(text, cause(text, what))
}

// lastSign is the offset of the last byte that isn't space.
func lastSign(text string) int { return max(0, len(strings.TrimRight(text, " \t\r\n"))-1) }

// consumed is how many bytes the library reads before it fails.
func consumed(text string) int {
	r := &slowReader{text: text}
	_, _ = parse(r)
	return r.read
}

// slowReader returns one byte at a time, so that no more are read than needed.
type slowReader struct {
	text string
	read int
}

func (r *slowReader) Read(p []byte) (int, error) {
	if r.read == len(r.text) || len(p) == 0 {
		return 0, io.EOF
	}
	p[0] = r.text[r.read]
	r.read++
	return 1, nil
}

// fails reports whether the library gives the same error for a beginning of the text.
func fails(text, what string) bool {
	_, err := parse(strings.NewReader(text))
	return err != nil && message(err) == what
}

// Bounds of the search: it reads the text some 20 times.
const (
	// maxSearched is the longest text that is searched, in bytes: some 5,000 lines. In a
	// longer one the position is where the library failed, a few words after the cause.
	maxSearched = 128 << 10
	// lookBack is how many lines or signs are tried.
	lookBack = 32
)

// opener is the offset of the sign that begins the unclosed part: the last one for which
// the text before it has no error.
func opener(text, what, signs string) int {
	last := len(text)
	for range lookBack {
		i := strings.LastIndexAny(text[:last], signs)
		if i < 0 {
			break
		}
		if last = i; !fails(text[:i], what) {
			break
		}
	}
	return last
}

// cause is the offset of the last byte of the shortest beginning that has the error:
// first in whole lines, since a line that is cut off within a word may have the error
// because of that, then within the line.
func cause(text, what string) int {
	ends := []int{len(text)}
	for len(ends) < lookBack && ends[0] > 0 {
		ends = append([]int{max(0, strings.LastIndexByte(text[:ends[0]], '\n'))}, ends...)
	}
	i := sort.Search(len(ends)-1, func(i int) bool { return fails(text[:ends[i]], what) })
	from := 0
	if i > 0 {
		from = ends[i-1]
	}
	n := sort.Search(ends[i]-from, func(n int) bool { return fails(text[:from+n], what) })
	return max(0, from+n-1)
}

// posOf is the position of a byte.
func posOf(text string, offset int) Pos {
	before := text[:min(offset, len(text))]
	begin := strings.LastIndexByte(before, '\n') + 1
	return Pos{1 + strings.Count(before, "\n"), 1 + utf8.RuneCountInString(before[begin:])}
}
