package format

import (
	"regexp"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/document"
)

// reader reads one file.
type reader struct {
	found           *Problems
	matches, nested int
}

func (r *reader) parse(text string) *document.Node {
	limits := document.Limits{Bytes: MaxFileBytes, Depth: maxDepth, Hint: "split the file"}
	return document.Read(text, limits, r.found.Problems)
}

// mapping is a mapping reader with methods that only policies need.
type mapping struct{ *document.Reader }

func (r *reader) mapping(n *document.Node, what string) *mapping {
	m := r.found.Mapping(n, what)
	m.NullIsAbsent = true
	return &mapping{m}
}

// text is a text without its position.
func (m *mapping) text(key string) string {
	n := m.Get(key)
	if n == nil {
		return ""
	}
	if n.Block {
		return strings.TrimSpace(n.Text)
	}
	text, ok := scalar(n, m.Lines)
	if !ok {
		m.Add(text.At, "", "%s must be text, not %s", key, kindOf(n))
	}
	return text.Value
}

// form is a text that must match a form, or nil.
func (m *mapping) form(key string, form func() *regexp.Regexp, hint string) *Text {
	n := m.Get(key)
	if n == nil {
		return nil
	}
	text, ok := scalar(n, m.Lines)
	if !ok {
		m.Add(text.At, hint, "%s must be text, not %s", key, kindOf(n))
		return nil
	}
	if !form().MatchString(text.Value) {
		m.Add(text.At, hint, "%q can't be the %s of %s", core.Cut(text.Value), key, m.What)
		return nil
	}
	return text
}

// expression is the source of a CEL expression, or nil.
func (m *mapping) expression(key string) *Text {
	n := m.Get(key)
	if n == nil {
		return nil
	}
	text, ok := scalar(n, m.Lines)
	switch {
	case !ok:
		m.Add(text.At, "quote it: YAML reads a { or [ as its own", "%s must be a CEL expression, not %s", key, kindOf(n))
		return nil
	case strings.TrimSpace(text.Value) == "":
		m.Add(text.At, "", "%s is empty", key)
		return nil
	case len(text.Value) > MaxExpressionBytes:
		m.Add(text.At, "split it into variables", "%s has %d bytes, more than %d", key, len(text.Value), MaxExpressionBytes)
		return nil
	}
	return text
}

func (m *mapping) flag(key string) bool {
	if n := m.Get(key); n != nil && n.Kind != document.Bool {
		m.Add(n.At, "", "%s must be true or false, not %s", key, kindOf(n))
		return false
	}
	return m.Flag(key)
}

// list is a list of bounded length.
func (m *mapping) list(key string, most int) []*document.Node {
	n := m.Get(key)
	if n == nil {
		return nil
	}
	if n.Kind != document.List {
		m.Add(n.At, "begin each element with -", "%s must be a list, not %s", key, kindOf(n))
		return nil
	}
	if len(n.Items) > most {
		m.Add(n.Items[most].At, "", "%s has more than %d elements", key, most)
		return n.Items[:most]
	}
	return n.Items
}

// kindOf is the kind of a node in words.
func kindOf(n *document.Node) string {
	switch n.Kind {
	case document.Null:
		return "nothing"
	case document.Bool:
		return "true or false"
	}
	return string(n.Kind)
}
