package document

import (
	"maps"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// Reader reads a mapping key by key. Its methods ask for one key each, note what
// is wrong with it, and give the zero value where it is absent. The keys that
// were asked for are the ones that are known: Done notes all others.
type Reader struct {
	*Problems
	// Node is the mapping; an empty one where there is none.
	Node *Node
	// What names the mapping in messages: "the workflow", "a node".
	What string
	// NullIsAbsent makes a key whose value is null one that isn't there.
	NullIsAbsent bool

	absent bool // there is no mapping, which is noted where it should be
	known  map[string]bool
}

// Mapping begins to read a mapping. What isn't one is noted, and read as empty;
// so is nil, without a note.
func (p *Problems) Mapping(n *Node, what string) *Reader {
	r := &Reader{Problems: p, Node: n, What: what, known: map[string]bool{}}
	if n == nil || n.Kind != Mapping {
		if r.absent = true; n != nil {
			p.Add(n.At, "", "%s must be %s, not %s", what, Mapping, n.Kind)
		}
		r.Node = &Node{Kind: Mapping}
	}
	return r
}

// Get returns the value of a key, or nil.
func (r *Reader) Get(key string) *Node {
	r.know(key)
	n := r.Node.Get(key)
	if n != nil && n.Kind == Null && r.NullIsAbsent {
		return nil
	}
	return n
}

func (r *Reader) know(keys ...string) {
	for _, key := range keys {
		r.known[key] = true
	}
}

// Need is Get for a key that must be there.
func (r *Reader) Need(key string) *Node {
	n := r.Get(key)
	if n == nil {
		r.Lacks("", "%s needs the key %q", r.What, key)
	}
	return n
}

// Lacks notes that the mapping isn't whole, unless there is none.
func (r *Reader) Lacks(hint, format string, args ...any) {
	if !r.absent {
		r.Add(r.Node.FirstKey(), hint, format, args...)
	}
}

// Typed is Get for a key whose value must be of a kind.
func (r *Reader) Typed(key string, want Kind) *Node {
	n := r.Get(key)
	if n != nil && n.Kind != want {
		r.Add(n.At, hintAt(n, want), "%s must be %s, not %s", key, want, n.Kind)
		return nil
	}
	return n
}

// hintAt says how to write what was meant as a boolean in YAML 1.1.
func hintAt(n *Node, want Kind) string {
	if want == Bool && n.Kind == Text {
		switch strings.ToLower(n.Text) {
		case "yes", "on", "y":
			return "write true"
		case "no", "off", "n":
			return "write false"
		}
	}
	return ""
}

// Text is the text of a key.
func (r *Reader) Text(key string) string {
	if n := r.Typed(key, Text); n != nil {
		return n.Text
	}
	return ""
}

// List is the list of a key.
func (r *Reader) List(key string) []*Node {
	if n := r.Typed(key, List); n != nil {
		return n.Items
	}
	return nil
}

// Flag is whether a key is true.
func (r *Reader) Flag(key string) bool {
	n := r.Typed(key, Bool)
	return n != nil && n.json == "true"
}

// Ignore makes all of the mapping's keys known.
func (r *Reader) Ignore() { r.know(r.Node.Keys()...) }

// Done notes the keys that nobody asked for.
func (r *Reader) Done() {
	r.Known(r.Node, r.What, slices.Sorted(maps.Keys(r.known))...)
}

// Known notes every key of a mapping that isn't among some names.
func (p *Problems) Known(n *Node, what string, names ...string) {
	known := make(map[string]bool, len(names))
	for _, name := range names {
		known[name] = true
	}
	for _, e := range n.Entries {
		if !known[e.Key] {
			hint := DidYouMean(e.Key, names)
			if name, _, ok := strings.Cut(e.Key, ":"); ok && known[name] {
				hint = "there is no space after the colon"
			}
			p.Add(e.At, hint, "%s has no key %q", what, core.Cut(e.Key))
		}
	}
}

// DidYouMean is a hint that names the nearest of the known names, or lists them.
func DidYouMean(word string, known []string) string {
	if len(known) == 0 {
		return ""
	}
	return sdk.DidYouMean(word, known, "there are "+strings.Join(known, ", "))
}
