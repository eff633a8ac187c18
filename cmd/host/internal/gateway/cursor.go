package gateway

import (
	"bytes"
	"encoding/json"
	"iter"
	"slices"
	"strings"
)

// node is a value inside of a JSON text that is known to be valid: it is found by its bytes' places, so
// that an edit can keep everything around it. To look for a member reads the object from its beginning;
// nothing is allocated.
type node struct {
	text    []byte
	at, end int
}

// root is the value of a valid JSON text.
func root(text []byte) node {
	at := blank(text, 0)
	return node{text, at, skip(text, at)}
}

// ok reports whether there is such a value, and it isn't null.
func (n node) ok() bool { return n.end > n.at && n.text[n.at] != 'n' }

// exists reports whether there is such a value, even null.
func (n node) exists() bool { return n.end > n.at }

func (n node) raw() []byte { return n.text[n.at:n.end:n.end] }

// is reports whether the value begins with a byte: { [ " t f.
func (n node) is(first byte) bool { return n.end > n.at && n.text[n.at] == first }

// str is a string's text, "" for any other value.
func (n node) str() string {
	if !n.is('"') {
		return ""
	}
	return unquote(n.raw())
}

// members are an object's members, with the place of the name.
func (n node) members() iter.Seq2[string, node] {
	return func(yield func(string, node) bool) {
		if !n.is('{') {
			return
		}
		for at := blank(n.text, n.at+1); n.text[at] != '}'; {
			end := skip(n.text, at)
			value := blank(n.text, blank(n.text, end)+1) // behind the colon
			v := node{n.text, value, skip(n.text, value)}
			if !yield(unquote(n.text[at:end]), v) {
				return
			}
			at = next(n.text, v.end)
		}
	}
}

// elements are an array's elements.
func (n node) elements() iter.Seq[node] {
	return func(yield func(node) bool) {
		if !n.is('[') {
			return
		}
		for at := blank(n.text, n.at+1); n.text[at] != ']'; {
			v := node{n.text, at, skip(n.text, at)}
			if !yield(v) {
				return
			}
			at = next(n.text, v.end)
		}
	}
}

// get is the value at a path of names; a node that doesn't exist if there is none.
func (n node) get(path ...string) node {
	for _, name := range path {
		found := node{}
		for key, v := range n.members() {
			if key == name {
				found = v
				break
			}
		}
		n = found
	}
	return n
}

// first is an array's first element.
func (n node) first() node {
	for v := range n.elements() {
		return v
	}
	return node{}
}

// empty reports whether an object or an array has nothing in it.
func (n node) empty() bool { return n.exists() && blank(n.text, n.at+1) == n.end-1 }

// next is where the next member or element begins, or the closing bracket.
func next(text []byte, at int) int {
	if at = blank(text, at); text[at] == ',' {
		at = blank(text, at+1)
	}
	return at
}

func blank(text []byte, at int) int {
	for at < len(text) && (text[at] == ' ' || text[at] == '\n' || text[at] == '\t' || text[at] == '\r') {
		at++
	}
	return at
}

// skip is the end of the value that begins at a place.
func skip(text []byte, at int) int {
	switch text[at] {
	case '"':
		return skipString(text, at)
	case '{', '[':
		for depth := 0; ; {
			switch text[at] {
			case '"':
				at = skipString(text, at)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return at + 1
				}
			}
			at++
		}
	}
	for ; at < len(text); at++ {
		switch text[at] {
		case ',', ']', '}', ' ', '\n', '\t', '\r':
			return at
		}
	}
	return at
}

func skipString(text []byte, at int) int {
	for at++; ; {
		i := bytes.IndexByte(text[at:], '"')
		escaped := 0
		for j := at + i - 1; j >= at && text[j] == '\\'; j-- {
			escaped++
		}
		at += i + 1
		if escaped%2 == 0 {
			return at
		}
	}
}

func unquote(raw []byte) (text string) {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	_ = json.Unmarshal(raw, &text) // it is a string
	return text
}

// member is a member of an object.
type member struct {
	name string
	node
}

// sortedMembers are an object's members by their names, without nulls and those that left is true for.
func sortedMembers(object node, left func(name string) bool) (list []member) {
	for name, v := range object.members() {
		if v.ok() && !left(name) {
			list = append(list, member{name, v})
		}
	}
	slices.SortFunc(list, func(a, b member) int { return strings.Compare(a.name, b.name) })
	return list
}

// canonical appends a value with its members in one order, without blanks, nulls and marks for caches. Texts and
// numbers are as they are: a client writes the same one in the same way.
func canonical(out []byte, n node) []byte {
	switch {
	case n.is('{'):
		out = append(out, '{')
		for i, m := range sortedMembers(n, cacheMark) {
			if i > 0 {
				out = append(out, ',')
			}
			out = canonical(append(append(out, quote(m.name)...), ':'), m.node)
		}
		return append(out, '}')
	case n.is('['):
		out = append(out, '[')
		begin := len(out)
		for v := range n.elements() {
			if len(out) > begin {
				out = append(out, ',')
			}
			out = canonical(out, v)
		}
		return append(out, ']')
	}
	return append(out, n.raw()...)
}
