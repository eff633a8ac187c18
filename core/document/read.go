package document

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// byteOrderMark is put at the start of a file by some editors.
const byteOrderMark = "\ufeff"

// Limits bound a file. Each must be above 0.
type Limits struct {
	// Bytes bounds the text, and with it time and memory: reading takes at
	// most about 1 µs and 200 bytes for each byte of it.
	Bytes int
	// Depth bounds the nesting of mappings and lists.
	Depth int
	// Hint is what to do with a file that has too many bytes.
	Hint string
	// MayBeEmpty allows an empty file: it is read as a mapping without keys.
	MayBeEmpty bool
}

// Read reads one YAML document, or returns nil with the problems noted. It also reads
// JSON. If problems were noted, the tree may be incomplete; what it has is well-formed.
// It is nil if the file has anchors, aliases, merge keys, tags or directives.
func Read(text string, limits Limits, found *Problems) *Node {
	if len(text) > limits.Bytes {
		found.Add(Pos{1, 1}, limits.Hint, "the file has more than %d bytes", limits.Bytes)
		return nil
	}
	text = strings.TrimPrefix(text, byteOrderMark)
	if !checkCharacters(text, found) || !checkDirectives(text, found) {
		return nil
	}
	readable, escapes := hide(text)
	documents, err := parse(strings.NewReader(readable))
	if err != nil {
		syntaxProblem(readable, err, limits.Depth, found)
		return nil
	}
	switch {
	case len(documents) == 0 && limits.MayBeEmpty:
		return &Node{Kind: Mapping, At: Pos{1, 1}}
	case len(documents) == 0:
		found.Add(Pos{1, 1}, "", "the file is empty")
		return nil
	case len(documents) > 1:
		found.Add(position(documents[1]), "put it into a file of its own", "the file has a second document")
		return nil
	}
	escapes.restore(documents[0])
	b := &builder{found: found, source: newSource(text), depth: limits.Depth}
	if root := b.node(documents[0], 0); !b.refused {
		return root
	}
	return nil
}

// parse returns the first two documents that contain more than comments. The library
// recurses to at most 10,000 levels, and follows no alias.
func parse(text io.Reader) (documents []*yaml.Node, err error) {
	decoder := yaml.NewDecoder(text)
	for len(documents) < 2 {
		var document yaml.Node
		if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		if root := document.Content[0]; !isEmpty(root) {
			documents = append(documents, root)
		}
	}
	return documents, nil
}

// isEmpty reports whether nothing is written where a node should be.
func isEmpty(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Style == 0 && n.Value == "" && n.Anchor == ""
}

func position(n *yaml.Node) Pos { return Pos{n.Line, n.Column} }

func isControl(r rune) bool { return r < ' ' || r >= 0x7f && r <= 0x9f }

// isSeparator reports whether a character ends a line in YAML 1.1, and so for the
// library, but not in YAML 1.2 or an editor: text that looks like a comment must not be
// read as something else.
func isSeparator(r rune) bool { return r == 0x85 || r == 0x2028 || r == 0x2029 }

// checkCharacters refuses characters that YAML doesn't allow in a file, including control
// characters that could affect a terminal, and characters that are read differently from
// how they are shown.
func checkCharacters(text string, found *Problems) bool {
	at := Pos{1, 1}
	for i, r := range text {
		switch {
		case r == '\n':
			at = Pos{at.Line + 1, 1}
			continue
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], string(utf8.RuneError)):
			found.Add(at, "save the file as UTF-8", "the file isn't UTF-8 text")
			return false
		case r == '\r' && !strings.HasPrefix(text[i+1:], "\n"):
			found.Add(at, "end lines as Unix or Windows does", "there is a carriage return within a line")
			return false
		case isSeparator(r):
			found.Add(at, fmt.Sprintf(`write it as "\u%04x", in double quotes`, r), "the line separator U+%04X can't be in YAML as it is", r)
			return false
		case isControl(r) && r != '\t' && r != '\r', r == 0xfffe, r == 0xffff:
			found.Add(at, `write it as an escape in double quotes, such as "\e"`, "the control character U+%04X isn't allowed in YAML", r)
			return false
		}
		at.Column++
	}
	return true
}

// checkDirectives refuses directives, which may come before the first document and aren't
// in the library's tree.
func checkDirectives(text string, found *Problems) bool {
	line := 1
	for l := range strings.Lines(text) {
		if strings.HasPrefix(l, "%") {
			found.Add(Pos{line, 1}, unsupportedHint, unsupported)
			return false
		}
		if l = strings.TrimSpace(l); l != "" && l[0] != '#' {
			break
		}
		line++
	}
	return true
}

func tooDeep(at Pos, depth int, found *Problems) {
	found.Add(at, "", "the YAML is nested deeper than %d levels", depth)
}
