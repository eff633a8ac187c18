package web

import (
	"cmp"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/sdk"
)

// A page of one namespace opens where something is: an operator's store is full of namespaces,
// and the configured one is often empty. If the address names a namespace, that one is shown.
// Otherwise the page tries the namespaces that the visitor may see, the fullest first, and names
// the others, so that each is one click away.

// places is the choice of the namespace that a page shows.
type places struct {
	// Shown is the namespace that is shown; "" for all of them.
	Shown string `json:"-"`
	// Given is whether the address names it.
	Given bool `json:"-"`
	// Places are namespaces with memories, the fullest first, and the one that is shown.
	Places []choice `json:"-"`
}

const (
	// maxNamed is how many namespaces a page names.
	maxNamed = 12
	// maxTried is in how many namespaces a page looks for something to show. Looking into one
	// reads a page of a list.
	maxTried = 50
)

// namespaces are the namespaces with memories that the visitor may see, the fullest first.
func (v *visit) namespaces() ([]memory.NamespaceCount, error) {
	found, err := optional[operation.Page[memory.NamespaceCount]](v, "memory_namespaces", &operation.MemoryNamespaces{})
	if err != nil || found == nil {
		return nil, err
	}
	slices.SortStableFunc(found.Items, func(a, b memory.NamespaceCount) int { return cmp.Compare(b.Memories, a.Memories) })
	return found.Items, nil
}

// placed loads a page of one namespace with load, which reports whether something is there:
// the namespace of the address, or else the fullest one that has something. If nothing has, it
// is the first one that was tried.
func (v *visit) placed(load func(namespace string) (some bool, err error)) (*places, error) {
	known, err := v.namespaces()
	if err != nil {
		return nil, err
	}
	p := &places{Shown: v.query("namespace")}
	if p.Given = p.Shown != ""; p.Given || len(known) == 0 {
		_, err := load(p.Shown)
		if !p.Given && sdk.CodeOf(err) == sdk.Denied && len(v.caller.Namespaces) > 0 { // the configured namespace isn't the visitor's
			base, _, _ := strings.Cut(v.caller.Namespaces[0], "*")
			p.Shown = strings.TrimSuffix(base, "/")
			_, err = load(p.Shown)
		}
		p.name(v, known)
		return p, err
	}
	for _, n := range known[:min(len(known), maxTried)] {
		some, err := load(n.Namespace)
		if err != nil {
			return nil, err
		}
		if some {
			p.Shown = n.Namespace
			p.name(v, known)
			return p, nil
		}
	}
	p.Shown = known[0].Namespace
	_, err = load(p.Shown)
	p.name(v, known)
	return p, err
}

// name fills Places.
func (p *places) name(v *visit, known []memory.NamespaceCount) {
	for _, n := range known[:min(len(known), maxNamed)] {
		p.Places = append(p.Places, choice{n.Namespace, v.with("namespace", n.Namespace, "subtree", "", "page_token", "", "session", ""), n.Namespace == p.Shown})
	}
	if p.Shown != "" && !slices.ContainsFunc(p.Places, func(c choice) bool { return c.Current }) {
		p.Places = append(p.Places, choice{p.Shown, v.with("namespace", p.Shown), true})
	}
}
