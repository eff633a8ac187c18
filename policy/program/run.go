package program

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"github.com/reflectory/reflectory/policy/format"
	"github.com/reflectory/reflectory/sdk"
)

// Inputs are the values of an environment's variables.
type Inputs interface {
	// Input returns the value of a variable by its index.
	Input(index int) Value
}

// Result is the result of a run.
type Result struct {
	// Decided is whether the policy had an output at all.
	Decided bool
	Match   Match
	// Value is the output, if the environment has no fields.
	Value any
	// Fields are the output's fields by their index; nil means that a field was left out.
	Fields      []any
	Explanation string
	// Cost is the cost in cel-go's units: measured for tracked expressions, the static
	// upper bound for others.
	Cost uint64
}

// run is one evaluation. Expressions look up names in it.
type run struct {
	program *Program
	ctx     context.Context
	inputs  Inputs
	frame   *interpreter.ExecutionFrame
	scope   *scope
	// values are the inputs and variables that were needed so far, by slot.
	values []ref.Val
	cost   uint64
	trace  *Trace
}

func newRun(p *Program) *run {
	return &run{program: p, values: make([]ref.Val, len(p.env.variables)+len(p.variables))}
}

// Optional reports whether the policy may end without an output.
func (p *Program) Optional() bool { return p.optional }

// Policy is the source of the program.
func (p *Program) Policy() *format.Policy { return p.policy }

// Cost is the static upper bound of the cost of a run, in cel-go's units.
func (p *Program) Cost() uint64 { return p.costs.proven }

// Conditions lists the matches with a condition or an output, in the file's order.
func (p *Program) Conditions() []Match {
	var matches []Match
	for _, s := range p.steps {
		matches = append(matches, s.match)
	}
	slices.SortStableFunc(matches, func(a, b Match) int { return a.Line - b.Line })
	return matches
}

// Run decides. An error is sdk.Invalid, reason "policy_failed", sdk.Exhausted, reason
// "policy_too_dear", or the end of the context; the result then has the cost, and the
// match that failed.
func (p *Program) Run(ctx context.Context, inputs Inputs) (Result, error) {
	return p.run(ctx, inputs, nil)
}

func (p *Program) run(ctx context.Context, inputs Inputs, trace *Trace) (result Result, err error) {
	if err := ctx.Err(); err != nil {
		return Result{}, sdk.Wrap("decide by "+p.policy.File, err)
	}
	r := p.runs.Get().(*run)
	r.ctx, r.inputs, r.trace = ctx, inputs, trace
	if p.costs.proven > CheapCost {
		limited, cancel := context.WithTimeout(ctx, MaxTime)
		defer cancel()
		r.ctx = limited
	}
	if r.frame, err = interpreter.NewExecutionFrame(r); err != nil {
		return Result{}, sdk.Errorf(sdk.Internal, "policy_frame", "decide by %s: %w", p.policy.File, err)
	}
	defer r.release()
	result, err = r.walk()
	result.Cost = r.cost
	if trace != nil && trace.whole {
		r.trace, trace.Variables = nil, nil // in the file's order
		for i, v := range p.variables {
			trace.variable(v, r.value(len(p.env.variables)+i))
		}
	}
	if err != nil {
		return result, r.failure(ctx, result.Match, err)
	}
	return result, nil
}

func (r *run) release() {
	r.frame.Close()
	clear(r.values)
	*r = run{program: r.program, values: r.values}
	r.program.runs.Put(r)
}

// walk goes through the steps until one has an output.
func (r *run) walk() (Result, error) {
	for i := r.program.start; i != end; {
		s := &r.program.steps[i]
		holds, err := r.holds(s)
		if err != nil {
			return Result{Match: s.match}, err
		}
		switch {
		case !holds:
			i = s.no
		case s.output == nil:
			i = s.yes
		default:
			return r.give(s)
		}
	}
	return Result{}, nil
}

func (r *run) holds(s *step) (bool, error) {
	if s.condition == nil {
		r.trace.step(s, true)
		return true, nil
	}
	v, err := r.eval(s.condition)
	if err != nil {
		return false, err
	}
	holds, ok := v.(types.Bool)
	if !ok {
		return false, fmt.Errorf("the condition gave %s, not bool", v.Type().TypeName())
	}
	r.trace.step(s, bool(holds))
	return bool(holds), nil
}

// give evaluates the output of a step.
func (r *run) give(s *step) (result Result, err error) {
	result = Result{Decided: true, Match: s.match}
	if s.explanation != nil {
		v, err := r.eval(s.explanation)
		if err != nil {
			return result, err
		}
		text, ok := v.(types.String)
		if !ok {
			return result, fmt.Errorf("the explanation gave %s, not string", v.Type().TypeName())
		}
		result.Explanation = string(text)
	}
	if s.output.value != nil {
		v, err := r.eval(s.output.value)
		if err != nil {
			return result, err
		}
		left := maxValues
		result.Value, err = native(v, &left)
		return result, err
	}
	result.Fields = make([]any, len(s.output.fields))
	for i, x := range s.output.fields {
		if x == nil {
			continue
		}
		if result.Fields[i], err = r.field(i, x); err != nil {
			return result, err
		}
	}
	return result, nil
}

// field evaluates a field of a record, and checks what couldn't be checked when it was
// loaded.
func (r *run) field(i int, x *expression) (any, error) {
	f, want := &r.program.env.fields[i], r.program.env.types[i]
	if x.literal != nil && x.kind == want {
		return x.literal, nil
	}
	v, err := r.eval(x)
	if err != nil {
		return nil, err
	}
	if x.kind != want && !want.IsAssignableRuntimeType(v) {
		return nil, fmt.Errorf("%s is %s, not %s", f.Name, v.Type().TypeName(), f.Type)
	}
	left := maxValues
	value, err := native(v, &left)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	if text, isText := value.(string); isText && len(f.Values) > 0 && x.constant == nil && !slices.Contains(f.Values, text) {
		return nil, fmt.Errorf("%s can't be %.100q: it is one of %s", f.Name, text, strings.Join(f.Values, ", "))
	}
	return value, nil
}

// eval evaluates an expression in its own scope.
func (r *run) eval(x *expression) (ref.Val, error) {
	if x.constant != nil {
		return x.constant, nil
	}
	outer := r.scope
	r.scope = x.scope
	v, err := r.call(x)
	r.scope = outer
	if err == nil && r.cost > CostLimit {
		err = ErrTooDear
	}
	return v, err
}

func (r *run) call(x *expression) (ref.Val, error) {
	if !x.tracked {
		r.cost += x.costs.proven
		v, _, err := x.program.Eval(r.frame)
		return v, err
	}
	v, details, err := x.program.ContextEval(r.ctx, r)
	if cost := details.ActualCost(); cost != nil {
		r.cost += *cost
	}
	return v, err
}

// ResolveName implements cel.Activation.
func (r *run) ResolveName(name string) (any, bool) {
	slot, ok := r.scope.slots[name]
	if !ok {
		return nil, false
	}
	return r.value(slot), true
}

// value is an input, or a variable, which is evaluated when it is first needed.
func (r *run) value(slot int) ref.Val {
	v := r.values[slot]
	if v != nil {
		return v
	}
	if own := slot - len(r.program.env.variables); own < 0 {
		v = r.inputs.Input(slot).val()
	} else {
		var err error
		if v, err = r.eval(r.program.variables[own].expression); err != nil {
			v = types.WrapErr(err)
		}
		r.trace.variable(r.program.variables[own], v)
	}
	r.values[slot] = v
	return v
}

// number is an input that is a double and wasn't converted to a CEL value.
func (r *run) number(slot int) (float64, bool) {
	if r.values[slot] != nil || slot >= len(r.program.env.variables) {
		return 0, false
	}
	v := r.inputs.Input(slot)
	return v.number, v.isDouble
}

// Parent implements cel.Activation.
func (r *run) Parent() interpreter.Activation { return nil }

// failure describes why a run failed.
func (r *run) failure(ctx context.Context, at Match, err error) error {
	where := fmt.Sprintf("%s:%d (%s)", r.program.policy.File, at.Line, at.Path)
	err = stopped(ctx, err)
	switch {
	case ctx.Err() != nil:
		return sdk.Wrap("decide by "+where, err)
	case errors.Is(err, ErrTooLong) || r.ctx.Err() != nil:
		return sdk.Errorf(sdk.Exhausted, "policy_too_dear", "%s was stopped: %w", where, ErrTooLong).
			WithHint("look at fewer elements: some 10,000 are no trouble")
	case errors.Is(err, ErrTooDear):
		return sdk.Errorf(sdk.Exhausted, "policy_too_dear", "%s was stopped: %w", where, err).
			WithHint("look at fewer elements, or at one level of nesting less")
	}
	return sdk.Errorf(sdk.Invalid, "policy_failed", "%s failed: %w", where, err).
		WithHint("if a key may be missing, test for it first: has(state.x) && …")
}
