package program

import (
	"fmt"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"

	"github.com/reflectory/reflectory/policy/format"
)

// Program is a compiled policy. It is immutable and safe for concurrent use.
type Program struct {
	env    *Env
	policy *format.Policy
	steps  []step
	start  int
	// variables are by slot, after the slots of the inputs.
	variables []variable
	optional  bool
	costs     costs
	runs      sync.Pool
}

// step is one decision: what to do if its condition is true, and where to continue if
// not. It has an output, or a step to continue at.
type step struct {
	match       Match
	condition   *expression // nil: always
	output      *output
	explanation *expression
	yes, no     int
}

// end is the step after the last: the policy has no output.
const end = -1

// Match identifies a match of a policy file.
type Match struct {
	// Path is its path in the rules, such as "match[0].match[2]".
	Path string `json:"path"`
	// Rule is the id of its rule, or of the nearest enclosing rule with one.
	Rule string `json:"rule,omitempty"`
	// Condition is the source of its condition; "" if it has none.
	Condition string `json:"condition,omitempty"`
	// Line is its first line in the file.
	Line int `json:"line"`
}

type compiledRule struct {
	matches []*compiledMatch
	// optional is whether it may end without an output.
	optional bool
}

type compiledMatch struct {
	source      *format.Match
	match       Match
	condition   *expression
	output      *output
	explanation *expression
	nested      *compiledRule
}

// variable is a variable of the policy itself.
type variable struct {
	name       string
	expression *expression
}

// compiler compiles one policy.
type compiler struct {
	env    *Env
	policy *format.Policy
	found  *format.Problems
	// track makes every expression measure its cost, for explanations.
	track     bool
	variables []variable
	// first is the type of the first output, if outputs may be any value.
	first *cel.Type
	// costs are the costs of all variables and conditions, outputs the cost of the most
	// expensive output.
	costs, outputs costs
}

// Compile compiles the result of [format.Parse], and adds its problems to the parser's. The
// program is nil if there is any problem.
func Compile(env *Env, policy *format.Policy, found *format.Problems) *Program {
	return compile(env, policy, found, false)
}

// CompileTracked is [Compile] for explanations: runs measure their actual cost, and take
// three times as long.
func CompileTracked(env *Env, policy *format.Policy, found *format.Problems) *Program {
	return compile(env, policy, found, true)
}

func compile(env *Env, policy *format.Policy, found *format.Problems, track bool) *Program {
	c := &compiler{env: env, policy: policy, found: found, track: track}
	bare := c.imports()
	root := &scope{cel: bare, bare: bare, kinds: map[string]*cel.Type{}, slots: map[string]int{}}
	for i, v := range env.variables {
		root.slots[v.Name] = i
	}
	c.masks()
	rule := c.rule(policy.Rule, root, "")
	p := &Program{env: env, policy: policy, variables: c.variables, optional: rule.optional, costs: c.costs.plus(c.outputs)}
	if p.costs.assumed > CostLimit && found.Len() == 0 {
		found.Add(policy.Rule.At, "look at fewer elements, or at one level of nesting less",
			"the policy could cost %s units of work, more than %d", units(p.costs.assumed), CostLimit)
	}
	if found.Len() > 0 {
		return nil
	}
	p.start = p.chain(rule, end)
	p.runs.New = func() any { return newRun(p) }
	return p
}

func units(n uint64) string {
	if n > 1e15 {
		return "an unbounded number of"
	}
	return fmt.Sprint(n)
}

// imports makes types usable by the last part of their names.
func (c *compiler) imports() *cel.Env {
	env := c.env.cel
	for _, name := range c.policy.Imports {
		if _, known := env.CELTypeProvider().FindStructType(name.Value); !known {
			c.found.Add(name.At, "only types that expressions can make need an import", "there is no type %q", name.Value)
			continue
		}
		extended, err := env.Extend(cel.Abbrevs(name.Value))
		if err != nil {
			c.found.Add(name.At, "", "%q can't be imported: %v", name.Value, err)
			continue
		}
		env = extended
	}
	return env
}

// masks checks that masked paths begin with an input.
func (c *compiler) masks() {
	for _, mask := range c.policy.Mask {
		c.checkMask(mask)
	}
}

// rule compiles a rule with everything nested in it.
func (c *compiler) rule(source *format.Rule, outer *scope, id string) *compiledRule {
	if source.ID != "" {
		id = source.ID
	}
	s := outer
	for _, v := range source.Variables {
		s = c.variable(v, s)
	}
	rule := &compiledRule{}
	for _, m := range source.Matches {
		rule.matches = append(rule.matches, c.match(m, s, id))
	}
	rule.optional = optional(rule.matches)
	c.reachable(rule)
	return rule
}

// variable compiles a variable, and returns the scope of the expressions after it, in
// which a variable that doesn't compile has any type.
func (c *compiler) variable(v format.Variable, s *scope) *scope {
	x, kind := c.compile(s, v.Expression), cel.DynType
	if x != nil {
		kind = x.kind
		c.costs = c.costs.plus(costs{proven: x.costs.proven, assumed: x.costs.assumed})
	}
	name := VariablePrefix + v.Name.Value
	inner, err := s.with(name, kind)
	if err != nil {
		c.found.Add(v.Name.At, "", "the variable %q can't be declared: %v", v.Name.Value, err)
		return s
	}
	inner.slots[name] = len(c.env.variables) + len(c.variables)
	c.variables = append(c.variables, variable{v.Name.Value, x})
	return inner
}

func (c *compiler) match(m *format.Match, s *scope, id string) *compiledMatch {
	compiled := &compiledMatch{source: m, match: Match{Path: m.Path, Rule: id, Line: m.At.Line}}
	if m.Condition != nil {
		compiled.match.Condition = oneLine(m.Condition.Value)
		compiled.condition = c.typed(s, m.Condition, cel.BoolType, "a condition must give bool",
			`compare it with something, as in "size(tags) == 0"`)
	}
	if m.Output != nil {
		compiled.output = c.output(s, m.Output)
	}
	if m.Explanation != nil {
		compiled.explanation = c.typed(s, m.Explanation, cel.StringType, "an explanation must give string",
			`quote the text within the YAML: '"because …"'`)
	}
	if m.Rule != nil {
		compiled.nested = c.rule(m.Rule, s, id)
	}
	return compiled
}

// typed compiles an expression that must have a type.
func (c *compiler) typed(s *scope, text *format.Text, want *cel.Type, message, hint string) *expression {
	x := c.compile(s, text)
	if x == nil {
		return nil
	}
	if !x.kind.IsExactType(want) && !x.kind.IsExactType(cel.DynType) {
		c.found.Add(text.Place(firstLine(text.Value)), hint, "%s, not %s", message, x.kind)
	}
	c.costs = c.costs.plus(x.costs)
	return x
}

// optional reports whether matches may end without an output: after a rule whose
// condition is true, the matches that follow aren't tried.
func optional(matches []*compiledMatch) bool {
	for _, m := range matches {
		always := !m.source.Conditional || m.condition != nil && m.condition.always()
		switch {
		case m.nested != nil && m.nested.optional:
			if !always {
				return true
			}
		case always:
			return false
		}
	}
	return true
}

// reachable notes the matches that can never decide.
func (c *compiler) reachable(rule *compiledRule) {
	seen := map[string]*format.Match{}
	for i, m := range rule.matches {
		if m.source.Conditional && m.condition == nil {
			continue // it couldn't be read, or didn't compile
		}
		if m.condition != nil && m.condition.constant == types.False {
			c.found.Add(m.source.Condition.At, "remove it", "the match can never be reached: its condition is false")
		}
		if earlier := seen[m.match.Condition]; earlier != nil && m.match.Condition != "" {
			c.found.Add(m.source.At, "remove it, or fix its condition", "the match can never be reached: %s on line %d has the same condition",
				earlier.Path, earlier.At.Line)
		}
		seen[m.match.Condition] = m.source
		if m.condition.always() && (m.nested == nil || !m.nested.optional) && i+1 < len(rule.matches) {
			c.found.Add(rule.matches[i+1].source.At, "move it up, or remove it", "the match can never be reached: %s on line %d always decides",
				m.source.Path, m.source.At.Line)
			return
		}
	}
}

// chain turns a rule into steps, which continue at another step if none of its matches is
// true, and returns the first.
func (p *Program) chain(rule *compiledRule, fallback int) int {
	next := fallback
	for i := len(rule.matches) - 1; i >= 0; i-- {
		m := rule.matches[i]
		s := step{match: m.match, condition: m.condition, output: m.output, explanation: m.explanation, no: next}
		if m.nested != nil && m.condition.always() {
			next = p.chain(m.nested, next)
			continue
		}
		if m.nested != nil {
			s.yes = p.chain(m.nested, fallback)
		}
		if s.condition.always() {
			s.condition = nil
		}
		p.steps = append(p.steps, s)
		next = len(p.steps) - 1
	}
	return next
}
