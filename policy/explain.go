package policy

import (
	"context"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/policy/format"
	"github.com/reflectory/reflectory/policy/program"
)

// Evaluation is the answer of one policy to inputs, and how the policy decided.
type Evaluation struct {
	// Decided is whether the policy had an output; if not, the next less specific policy
	// decides.
	Decided bool `json:"decided"`
	policypoint.Decision
	Output map[string]any `json:"output,omitempty"`
	program.Trace
}

// Explanation is a decision with everything that led to it.
type Explanation struct {
	// Asked are the policies that were asked, in order: the last one decided.
	Asked []Evaluation `json:"asked"`
	// Rest are the files of the policies that weren't needed, and Shadow the file of
	// the policy that only logs.
	Rest   []string `json:"rest,omitempty"`
	Shadow string   `json:"shadow,omitempty"`
}

// Last is the evaluation that decided.
func (e *Explanation) Last() *Evaluation { return &e.Asked[len(e.Asked)-1] }

// Default is the embedded policy of a point.
func (p *Points) Default(name policypoint.Point) (*Policy, error) {
	d, err := p.find(name)
	if err != nil {
		return nil, err
	}
	return d.base(), nil
}

// Evaluate asks this policy alone, and shows how it decided. Missing inputs are empty.
// The cost is the actual cost.
func (p *Policy) Evaluate(ctx context.Context, values map[string]any) (Evaluation, error) {
	in, err := p.point.given(values)
	if err != nil {
		return Evaluation{}, err
	}
	namespace, _ := values["ns"].(string)
	return p.tracked().explain(ctx, namespace, in), nil
}

// tracked is the policy with all costs counted.
func (p *Policy) tracked() *Policy {
	source := p.program.Policy()
	return &Policy{point: p.point, program: program.CompileTracked(p.point.env, source, source.Problems())}
}

func (p *Policy) explain(ctx context.Context, namespace string, in named) Evaluation {
	result, trace, err := p.program.Explain(ctx, in.in)
	made := p.made(namespace, result)
	if err != nil {
		made.Failure, made.fields = core.NewErrorInfo(err), p.point.safe(in)
	}
	e := Evaluation{Decided: result.Decided || err != nil, Decision: made.Decision, Trace: trace}
	if e.Decided {
		e.Output = p.point.output(made.fields)
	}
	return e
}

// Explain decides at a point for inputs by name, and shows how. The namespace is the
// input ns.
func (s *Set) Explain(ctx context.Context, name policypoint.Point, values map[string]any) (*Explanation, error) {
	d, err := s.points.find(name)
	if err != nil {
		return nil, err
	}
	in, err := d.given(values)
	if err != nil {
		return nil, err
	}
	namespace, _ := values["ns"].(string)
	e := &Explanation{}
	for policy := range s.chain(d, namespace) {
		if len(e.Asked) > 0 && e.Last().Decided {
			e.Rest = append(e.Rest, policy.File())
			continue
		}
		e.Asked = append(e.Asked, policy.tracked().explain(ctx, namespace, in))
	}
	if shadow := s.shadow(d, namespace); shadow != nil {
		e.Shadow = shadow.File()
	}
	return e, nil
}

// Chain lists the policies of a point that apply to a namespace: the most specific first,
// the default last.
func (s *Set) Chain(name policypoint.Point, namespace string) ([]*Policy, error) {
	d, err := s.points.find(name)
	if err != nil {
		return nil, err
	}
	var chain []*Policy
	for policy := range s.chain(d, namespace) {
		chain = append(chain, policy)
	}
	return chain, nil
}

// Conditions lists the policy's conditions and outputs, in the file's order.
func (p *Policy) Conditions() []program.Match { return p.program.Conditions() }

// Constant evaluates a CEL expression that names no input, such as an expression in a
// test case, with the functions and types of the policy's point.
func (p *Policy) Constant(ctx context.Context, text *format.Text, found *format.Problems) any {
	return program.Constant(ctx, p.point.env, text, found)
}

// Decide decides at a point for inputs by name, and returns a record, without the inputs
// that the policies in force mask. The namespace is the input ns.
func (s *Set) Decide(ctx context.Context, name policypoint.Point, values map[string]any, clock core.Clock) (*Record, error) {
	d, err := s.points.find(name)
	if err != nil {
		return nil, err
	}
	in, err := d.given(values)
	if err != nil {
		return nil, err
	}
	namespace, _ := values["ns"].(string)
	began := clock.Now()
	made := s.decide(ctx, d, namespace, in)
	ended := clock.Now()
	made.Latency = ended.Sub(began)
	return s.record(d, made, s.shadowed(ctx, d, made, in), in, ended), nil
}
