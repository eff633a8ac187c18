package document

import (
	"maps"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// Reader reads a mapping key by key. Each method asks for one key, notes what is wrong
// with it, and returns the zero value if it is missing. Keys that were asked for count as
// known: Done notes all others.
type Reader struct {
	*Problems
	// Node is the mapping; an empty one if there is none.
	Node *Node
	// What names the mapping in messages: "the workflow", "a node".
	What string
	// NullIsAbsent treats a key whose value is null as missing.
	NullIsAbsent bool

	absent bool // the mapping is missing, which is already noted
	known  map[string]bool
}

// Mapping begins to read a mapping. Another kind of node is noted, and read as empty; nil
// is also read as empty, without a note.
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

// Need is Get for a required key.
func (r *Reader) Need(key string) *Node {
	n := r.Get(key)
	if n == nil {
		r.Lacks("", "%s needs the key %q", r.What, key)
	}
	return n
}

// Lacks notes that something is missing in the mapping, unless the mapping itself is
// missing.
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

// hintAt describes how to write a word that would be a boolean in YAML 1.1.
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

// Flag is whether the value of a key is true.
func (r *Reader) Flag(key string) bool {
	n := r.Typed(key, Bool)
	return n != nil && n.json == "true"
}

// Ignore makes all of the mapping's keys known.
func (r *Reader) Ignore() { r.know(r.Node.Keys()...) }

// Done notes the keys that weren't asked for.
func (r *Reader) Done() {
	r.Known(r.Node, r.What, slices.Sorted(maps.Keys(r.known))...)
}

// Known notes every key of a mapping that isn't one of the names.
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

// maxListed is how many names a hint lists: more than anybody reads.
const maxListed = 40

// DidYouMean is a hint that names the nearest of the known names, or lists them if they
// are few.
func DidYouMean(word string, known []string) string {
	all := ""
	if len(known) > 0 && len(known) <= maxListed {
		all = "there are " + strings.Join(known, ", ")
	}
	return sdk.DidYouMean(word, known, all)
}

// DidYouMean is [DidYouMean] for names that come from the file itself. There is no hint
// once more problems are noted than an error lists: a file with thousands of names and
// wrong words would have them all compared.
func (p *Problems) DidYouMean(word string, known []string) string {
	if p.Len() >= maxProblems {
		return ""
	}
	return DidYouMean(word, known)
}
