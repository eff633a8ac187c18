package policy

import (
	"iter"
	"path"
	"strings"

	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/policy/program"
)

// Policy is a compiled file of a [Set].
type Policy struct {
	point   *definition
	program *program.Program
}

// File is the file's path within the folder, such as "gate/strict.yaml".
func (p *Policy) File() string { return p.program.Policy().File }

// Point is the point at which it decides.
func (p *Policy) Point() policypoint.Point { return p.point.name }

// Namespace is the pattern of the namespaces to which it applies.
func (p *Policy) Namespace() string { return p.program.Policy().Namespace }

// Shadow is whether it only logs what it would have decided.
func (p *Policy) Shadow() bool { return p.program.Policy().Shadow }

// Digest is the SHA-256 of the file's text.
func (p *Policy) Digest() string { return p.program.Policy().Digest }

// BuiltIn is whether it is the default of its point.
func (p *Policy) BuiltIn() bool { return p == p.point.base() }

// Cost is the static upper bound of a decision, in cel-go's units.
func (p *Policy) Cost() uint64 { return p.program.Cost() }

// Tracked is whether its cost is measured when it runs.
func (p *Policy) Tracked() bool { return p.program.Cost() > program.CheapCost }

// Optional is whether it leaves some cases to the next less specific policy.
func (p *Policy) Optional() bool { return p.program.Optional() }

// Set is the policies for all points: the files of a folder, and the defaults below them.
// Its decisions never change, and it is safe for concurrent use.
type Set struct {
	points *Points
	digest string
	files  []*Policy
	texts  map[string]string
	scopes map[policypoint.Point]*scopes
	// kept are decisions of the only point that keeps them, access.
	kept kept
}

// scopes are the policies of a point by the namespaces to which they apply.
type scopes struct {
	live, shadow patterns
}

// patterns are policies by their patterns, without the /** of a tree.
type patterns struct {
	exact, trees map[string]*Policy
}

// all is the key of the pattern ** among the trees.
const all = ""

// add adds a policy at its pattern, or returns the policy that is already there.
func (p *patterns) add(policy *Policy) *Policy {
	if p.exact == nil {
		p.exact, p.trees = map[string]*Policy{}, map[string]*Policy{}
	}
	where, key := p.exact, policy.Namespace()
	if top, tree := strings.CutSuffix(key, "**"); tree {
		where, key = p.trees, strings.TrimSuffix(top, "/")
	}
	if there := where[key]; there != nil {
		return there
	}
	where[key] = policy
	return nil
}

// chain yields the policies that apply to a namespace, the most specific first.
func (p *patterns) chain(namespace string) iter.Seq[*Policy] {
	return func(yield func(*Policy) bool) {
		if len(p.exact) == 0 && len(p.trees) == 0 {
			return
		}
		if policy := p.exact[namespace]; policy != nil && !yield(policy) {
			return
		}
		for at := namespace; at != all; at = parent(at) {
			if policy := p.trees[at]; policy != nil && !yield(policy) {
				return
			}
		}
		if policy := p.trees[all]; policy != nil {
			yield(policy)
		}
	}
}

func parent(namespace string) string {
	if i := strings.LastIndexByte(namespace, '/'); i >= 0 {
		return namespace[:i]
	}
	return all
}

// Digest is the SHA-256 of the names and texts of all files; the digest of an empty list
// if there are only the defaults.
func (s *Set) Digest() string { return s.digest }

// Files lists the folder's policies, sorted by name.
func (s *Set) Files() []*Policy { return append([]*Policy(nil), s.files...) }

// Texts are the texts of a [TextFolder], by names such as prompt-policies/no-keys.yaml.
func (s *Set) Texts(folder string) map[string]string {
	texts := map[string]string{}
	for name, text := range s.texts {
		if path.Dir(name) == folder {
			texts[name] = text
		}
	}
	return texts
}

// Defaults is the set of only the embedded files.
func (p *Points) Defaults() *Set {
	return &Set{points: p, digest: folderDigest(nil), scopes: map[policypoint.Point]*scopes{}}
}

// chain yields the policies of a point that apply to a namespace, the most specific first
// and the default last.
func (s *Set) chain(d *definition, namespace string) iter.Seq[*Policy] {
	return func(yield func(*Policy) bool) {
		if at := s.scopes[d.name]; at != nil {
			for policy := range at.live.chain(namespace) {
				if !yield(policy) {
					return
				}
			}
		}
		yield(d.base())
	}
}

// shadow returns the most specific shadow policy of a point, or nil.
func (s *Set) shadow(d *definition, namespace string) *Policy {
	if at := s.scopes[d.name]; at != nil {
		for policy := range at.shadow.chain(namespace) {
			return policy
		}
	}
	return nil
}
