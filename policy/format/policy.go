package format

import (
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/document"
	"github.com/reflectory/reflectory/sdk"
)

// Bounds of a policy file.
const (
	// MaxFileBytes bounds a file: room for some 5,000 lines.
	MaxFileBytes = 256 << 10
	// MaxExpressionBytes bounds an expression: 16 KiB, some 200 lines.
	MaxExpressionBytes = 16 << 10
	// MaxNested bounds the variables and nested rules of a policy, as cel-go does.
	MaxNested = 100
	// MaxMatches bounds the matches of a policy over all its rules.
	MaxMatches = 1000
	// MaxRuleDepth bounds how deep rules nest.
	MaxRuleDepth = 20
	// MaxList bounds imports and masks.
	MaxList = 100

	// maxDepth bounds the nesting of mappings and lists: 20 nested rules take 60.
	maxDepth = 64
)

// Policy is a policy file as it was read. Its contents are well-formed; its expressions
// aren't compiled yet.
type Policy struct {
	// File is the name of the file, for problems.
	File        string
	Name        string
	Description string
	// Namespace is where the policy applies: "a/b", "a/**", or "**".
	Namespace   string
	NamespaceAt Pos
	// Shadow is whether the policy decides in addition to the one in force, and only
	// logs.
	Shadow bool
	// Mask lists the inputs, or paths into them, that decision logs leave out.
	Mask []*Text
	// Imports are full names of types, which expressions use by the last part.
	Imports []*Text
	Rule    *Rule
	// Digest is the SHA-256 of the file's text.
	Digest string

	text string
}

// Lines are the lines of the file.
func (p *Policy) Lines() []string { return document.Lines(p.text) }

// Rule is a list of matches, of which the first that matches decides, and the
// variables that they share.
type Rule struct {
	At          Pos
	ID          string
	Description string
	Variables   []Variable
	Matches     []*Match
}

// Variable is an expression with a name. Expressions after it can use it.
type Variable struct {
	Name       *Text
	Expression *Text
}

// Match is a condition and its consequence: an output or a rule.
type Match struct {
	At Pos
	// Path names the match within its file: "match[0].match[2]".
	Path string
	// Condition is nil if the match has none, or it couldn't be read.
	Condition *Text
	// Conditional is whether the match has a condition, even one that couldn't be read.
	Conditional bool
	Output      *Text
	Explanation *Text
	Rule        *Rule
}

var (
	variableName  = core.Pattern(`^[A-Za-z_][A-Za-z0-9_]*$`)
	ruleID        = core.Pattern(`^[A-Za-z0-9_][A-Za-z0-9_.:/ -]{0,127}$`)
	namespaceForm = core.Pattern(`^(\*\*|[^/*\s\\]+(/[^/*\s\\]+){0,7}(/\*\*)?)$`)
	maskForm      = core.Pattern(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$`)
	importForm    = core.Pattern(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)+$`)
)

// Problems begins a list of problems of the policy's file, for the caller that checks it
// further.
func (p *Policy) Problems() *Problems { return newProblems(p.File, p.text) }

// Parse reads a policy file. file is its name, for problems only. It always returns what
// it could read, so that a compiler can find more problems at once; only a policy without
// problems may be used.
func Parse(file string, text []byte) (*Policy, *Problems) {
	policy := &Policy{File: file, text: string(text), Namespace: "**", Rule: &Rule{At: Pos{Line: 1, Column: 1}}, Digest: core.Digest(text)}
	r := &reader{found: policy.Problems()}
	root := r.parse(policy.text)
	if root == nil {
		return policy, r.found
	}
	m := r.mapping(root, "a policy")
	policy.Name = m.text("name")
	policy.Description = m.text("description")
	if ns := m.form("namespace", namespaceForm, "write a namespace such as a/b, a/** for all below a, or ** for all"); ns != nil {
		policy.Namespace, policy.NamespaceAt = ns.Value, ns.At
		if top := strings.TrimSuffix(ns.Value, "/**"); top != "**" {
			if err := core.CheckNamespace(top); err != nil {
				m.Add(ns.At, "no namespace can have that name, so the policy would apply nowhere", "%s", sdk.AsError(err).Message)
			}
		}
	}
	policy.Shadow = m.flag("shadow")
	policy.Mask = r.masks(m)
	policy.Imports = r.imports(m)
	if rule := m.Need("rule"); rule != nil {
		policy.Rule = r.rule(rule, "", 1)
	}
	m.Done()
	return policy, r.found
}

func (r *reader) masks(m *mapping) []*Text {
	var masks []*Text
	for _, item := range m.list("mask", MaxList) {
		text, ok := scalar(item, r.found.Lines)
		if !ok || !maskForm().MatchString(text.Value) {
			r.found.Add(text.At, "write the name of an input, or a path into it: state.user.email", "a mask must be a path")
			continue
		}
		masks = append(masks, text)
	}
	return masks
}

func (r *reader) imports(m *mapping) []*Text {
	var imports []*Text
	for _, item := range m.list("imports", MaxList) {
		entry := r.mapping(item, "an import")
		if name := entry.form("name", importForm, "write a type's full name, such as google.protobuf.Duration"); name != nil {
			imports = append(imports, name)
		} else if entry.Get("name") == nil {
			entry.Need("name")
		}
		entry.Done()
	}
	return imports
}
