package format

import (
	"fmt"

	"github.com/goccy/go-yaml/ast"
)

// rule reads a rule and what is nested in it.
func (r *reader) rule(n ast.Node, path string, depth int) *Rule {
	rule := &Rule{At: position(n.GetToken())}
	m := r.mapping(n, "a rule")
	if depth > MaxRuleDepth {
		r.found.Add(m.at, "", "rules nest deeper than %d", MaxRuleDepth)
		return rule
	}
	rule.At = m.at
	if id := m.form("id", ruleID, "use letters, digits and . _ : / - within 128 characters"); id != nil {
		rule.ID = id.Value
	}
	rule.Description = m.text("description")
	seen := map[string]bool{}
	for _, item := range m.list("variables", MaxNested) {
		if v, ok := r.variable(item, seen); ok {
			rule.Variables = append(rule.Variables, v)
		}
	}
	if m.need("match") != nil {
		items := m.list("match", MaxMatches)
		if len(items) == 0 && r.found.Len() == 0 {
			r.found.Add(m.at, "a match has an output, or a rule of its own", "the rule has no matches")
		}
		for i, item := range items {
			if r.matches++; r.matches == MaxMatches+1 {
				r.found.Add(position(item.GetToken()), "", "the policy has more than %d matches", MaxMatches)
			}
			rule.Matches = append(rule.Matches, r.match(item, fmt.Sprintf("%smatch[%d]", path, i), depth))
		}
	}
	m.done()
	return rule
}

// nested counts what cel-go calls nested expressions.
func (r *reader) countNested(at Pos) {
	if r.nested++; r.nested == MaxNested+1 {
		r.found.Add(at, "", "the policy has more than %d variables and nested rules", MaxNested)
	}
}

func (r *reader) variable(n ast.Node, seen map[string]bool) (Variable, bool) {
	m := r.mapping(n, "a variable")
	m.need("name")
	name := m.form("name", variableName, "use letters, digits and _, and begin with no digit")
	m.need("expression")
	expression := m.expression("expression")
	m.done()
	r.countNested(m.at)
	if name == nil || expression == nil {
		return Variable{}, false
	}
	if seen[name.Value] {
		r.found.Add(name.At, "a nested rule may have a variable of the same name", "the variable %q is there twice", name.Value)
	}
	seen[name.Value] = true
	return Variable{Name: name, Expression: expression}, true
}

func (r *reader) match(n ast.Node, path string, depth int) *Match {
	m := r.mapping(n, "a match")
	match := &Match{
		At: m.at, Path: path, Condition: m.expression("condition"),
		Output: m.expression("output"), Explanation: m.expression("explanation"),
	}
	nested := m.get("rule")
	switch {
	case nested != nil && m.get("output") != nil:
		r.found.Add(m.at, "nest a rule that has the output", "a match has an output or a rule, not both")
	case nested == nil && m.get("output") == nil:
		r.found.Add(m.at, "say what follows: output or rule", "the match has neither an output nor a rule")
	case nested != nil && match.Explanation != nil:
		r.found.Add(match.Explanation.At, "explain the outputs in the rule", "an explanation belongs to an output")
	}
	if nested != nil {
		r.countNested(m.at)
		match.Rule = r.rule(nested, path+".", depth+1)
	}
	m.done()
	return match
}
