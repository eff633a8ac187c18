package format

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/reflectory/reflectory/core"
)

// reader reads one file.
type reader struct {
	found           *Problems
	matches, nested int
}

// mapping reads a mapping key by key. Each method asks for one key, notes what
// is wrong with it, and gives the zero value where it is absent. The keys that
// were asked for are the ones that are known: done notes all others.
type mapping struct {
	*reader
	at     Pos
	what   string
	broken bool // it is no mapping, which was noted
	values []*ast.MappingValueNode
	known  []string
}

func (r *reader) mapping(n ast.Node, what string) *mapping {
	m := &mapping{reader: r, what: what, at: position(n.GetToken())}
	switch n := n.(type) {
	case *ast.MappingNode:
		m.values = n.Values
	case *ast.MappingValueNode:
		m.values = []*ast.MappingValueNode{n}
	default:
		m.broken = true
		r.found.Add(m.at, "", "%s must be a mapping, not %s", what, kindOf(n))
	}
	if len(m.values) > 0 {
		m.at = position(m.values[0].Key.GetToken())
	}
	m.unique()
	return m
}

// unique drops keys that can't be used.
func (m *mapping) unique() {
	seen := map[string]bool{}
	m.values = slices.DeleteFunc(slices.Clone(m.values), func(v *ast.MappingValueNode) bool {
		at, key := position(v.Key.GetToken()), v.Key.GetToken().Value
		if _, complex := v.Key.(*ast.MappingKeyNode); complex {
			m.found.Add(at, "", "a key must be a simple name")
			return true
		}
		if seen[key] {
			m.found.Add(at, "remove one of them", "the key %q is there twice", key)
			return true
		}
		seen[key] = true
		return false
	})
}

// get returns a key's value, or nil where it is absent or null.
func (m *mapping) get(key string) ast.Node {
	if !slices.Contains(m.known, key) {
		m.known = append(m.known, key)
	}
	for _, v := range m.values {
		if v.Key.GetToken().Value == key && v.Value.Type() != ast.NullType {
			return v.Value
		}
	}
	return nil
}

// need is get for a key that must be there.
func (m *mapping) need(key string) ast.Node {
	n := m.get(key)
	if n == nil && !m.broken {
		m.found.Add(m.at, "", "%s needs the key %q", m.what, key)
	}
	return n
}

// done notes the keys that nobody asked for.
func (m *mapping) done() {
	slices.Sort(m.known)
	for _, v := range m.values {
		if key := v.Key.GetToken().Value; !slices.Contains(m.known, key) {
			hint := "there are " + strings.Join(m.known, ", ")
			if near := core.Nearest(key, m.known); near != "" {
				hint = fmt.Sprintf("did you mean %q?", near)
			}
			m.found.Add(position(v.Key.GetToken()), hint, "%s has no key %q", m.what, key)
		}
	}
}

// text is a text without a place.
func (m *mapping) text(key string) string {
	n := m.get(key)
	if n == nil {
		return ""
	}
	if block, ok := n.(*ast.LiteralNode); ok {
		return strings.TrimSpace(block.Value.Value)
	}
	text, ok := scalar(n, m.found.lines)
	if !ok {
		m.found.Add(text.At, "", "%s must be text, not %s", key, kindOf(n))
	}
	return text.Value
}

// form is a text that must match a form, or nil.
func (m *mapping) form(key string, form *regexp.Regexp, hint string) *Text {
	n := m.get(key)
	if n == nil {
		return nil
	}
	text, ok := scalar(n, m.found.lines)
	if !ok {
		m.found.Add(text.At, hint, "%s must be text, not %s", key, kindOf(n))
		return nil
	}
	if !form.MatchString(text.Value) {
		m.found.Add(text.At, hint, "%q can't be the %s of %s", text.Value, key, m.what)
		return nil
	}
	return text
}

// expression is the source of a CEL expression, or nil.
func (m *mapping) expression(key string) *Text {
	n := m.get(key)
	if n == nil {
		return nil
	}
	text, ok := scalar(n, m.found.lines)
	switch {
	case !ok:
		m.found.Add(text.At, "quote it: YAML reads a { or [ as its own", "%s must be a CEL expression, not %s", key, kindOf(n))
		return nil
	case strings.TrimSpace(text.Value) == "":
		m.found.Add(text.At, "", "%s is empty", key)
		return nil
	case len(text.Value) > MaxExpressionBytes:
		m.found.Add(text.At, "split it into variables", "%s has %d bytes, more than %d", key, len(text.Value), MaxExpressionBytes)
		return nil
	}
	return text
}

func (m *mapping) flag(key string) bool {
	n := m.get(key)
	if n == nil {
		return false
	}
	b, ok := n.(*ast.BoolNode)
	if !ok {
		m.found.Add(position(n.GetToken()), "", "%s must be true or false, not %s", key, kindOf(n))
		return false
	}
	return b.Value
}

// list is a list within a bound.
func (m *mapping) list(key string, most int) []ast.Node {
	n := m.get(key)
	if n == nil {
		return nil
	}
	list, ok := n.(*ast.SequenceNode)
	if !ok {
		m.found.Add(position(n.GetToken()), "begin each element with -", "%s must be a list, not %s", key, kindOf(n))
		return nil
	}
	if len(list.Values) > most {
		m.found.Add(position(list.Values[most].GetToken()), "", "%s has more than %d elements", key, most)
		return list.Values[:most]
	}
	return list.Values
}

// kindOf names what a node is.
func kindOf(n ast.Node) string {
	switch n.Type() {
	case ast.MappingType, ast.MappingValueType:
		return "a mapping"
	case ast.SequenceType:
		return "a list"
	case ast.NullType:
		return "nothing"
	case ast.BoolType:
		return "true or false"
	case ast.IntegerType, ast.FloatType, ast.InfinityType, ast.NanType:
		return "a number"
	}
	return "text"
}
