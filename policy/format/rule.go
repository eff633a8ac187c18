package format

import (
	"fmt"

	"github.com/reflectory/reflectory/core/document"
)

// rule reads a rule and what is nested in it.
func (r *reader) rule(n *document.Node, path string, depth int) *Rule {
	rule := &Rule{At: n.FirstKey()}
	m := r.mapping(n, "a rule")
	if depth > MaxRuleDepth {
		r.found.Add(n.FirstKey(), "", "rules nest deeper than %d", MaxRuleDepth)
		return rule
	}
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
	if m.Need("match") != nil {
		items := m.list("match", MaxMatches)
		if len(items) == 0 && r.found.Len() == 0 {
			r.found.Add(n.FirstKey(), "a match has an output, or a rule of its own", "the rule has no matches")
		}
		for i, item := range items {
			if r.matches++; r.matches == MaxMatches+1 {
				r.found.Add(item.At, "", "the policy has more than %d matches", MaxMatches)
			}
			rule.Matches = append(rule.Matches, r.match(item, fmt.Sprintf("%smatch[%d]", path, i), depth))
		}
	}
	m.Done()
	return rule
}

// nested counts what cel-go calls nested expressions.
func (r *reader) countNested(at Pos) {
	if r.nested++; r.nested == MaxNested+1 {
		r.found.Add(at, "", "the policy has more than %d variables and nested rules", MaxNested)
	}
}

func (r *reader) variable(n *document.Node, seen map[string]bool) (Variable, bool) {
	m := r.mapping(n, "a variable")
	m.Need("name")
	name := m.form("name", variableName, "use letters, digits and _, and begin with no digit")
	m.Need("expression")
	expression := m.expression("expression")
	m.Done()
	r.countNested(n.FirstKey())
	if name == nil || expression == nil {
		return Variable{}, false
	}
	if seen[name.Value] {
		r.found.Add(name.At, "a nested rule may have a variable of the same name", "the variable %q is there twice", name.Value)
	}
	seen[name.Value] = true
	return Variable{Name: name, Expression: expression}, true
}

func (r *reader) match(n *document.Node, path string, depth int) *Match {
	m := r.mapping(n, "a match")
	match := &Match{
		At: n.FirstKey(), Path: path, Condition: m.expression("condition"), Conditional: m.Get("condition") != nil,
		Output: m.expression("output"), Explanation: m.expression("explanation"),
	}
	nested := m.Get("rule")
	switch {
	case nested != nil && m.Get("output") != nil:
		r.found.Add(n.FirstKey(), "nest a rule that has the output", "a match has an output or a rule, not both")
	case nested == nil && m.Get("output") == nil:
		r.found.Add(n.FirstKey(), "say what follows: output or rule", "the match has neither an output nor a rule")
	case nested != nil && match.Explanation != nil:
		r.found.Add(match.Explanation.At, "explain the outputs in the rule", "an explanation belongs to an output")
	}
	if nested != nil {
		r.countNested(n.FirstKey())
		match.Rule = r.rule(nested, path+".", depth+1)
	}
	m.Done()
	return match
}
