package program

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"github.com/reflectory/reflectory/policy/format"
)

// ErrTooDear and ErrTooLong are why a condition, or a policy, was stopped.
var (
	ErrTooDear = fmt.Errorf("it took more than %d units of work", CostLimit)
	ErrTooLong = fmt.Errorf("it took longer than %s", MaxTime)
)

// Condition is a single expression that gives a bool. It is immutable and safe for
// concurrent use.
type Condition struct{ expression *expression }

// CompileCondition compiles a condition, or notes its problems and returns nil. Unlike in
// a policy, its values may have any size: a condition that may be expensive is measured
// while it runs, and refused only if it is certainly expensive.
func CompileCondition(env *Env, text *format.Text, found *format.Problems) *Condition {
	return compileAlone(env, text, found, func(c *compiler, s *scope) *expression {
		return c.typed(s, text, cel.BoolType, "a condition must give bool", `compare it with something, as in "size(errors) == 0"`)
	})
}

// Formula is a single expression that gives a value of any type. It is immutable and safe
// for concurrent use.
type Formula struct{ alone *Condition }

// CompileFormula is [CompileCondition] for a formula.
func CompileFormula(env *Env, text *format.Text, found *format.Problems) *Formula {
	alone := compileAlone(env, text, found, func(c *compiler, s *scope) *expression { return c.compile(s, text) })
	if alone == nil {
		return nil
	}
	return &Formula{alone}
}

// Value is the formula's value, in JSON form. Its errors are [Condition.Eval]'s.
func (f *Formula) Value(ctx context.Context, vars map[string]any) (any, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	value, err := f.alone.eval(ctx, vars)
	if err != nil {
		return nil, stopped(ctx, err)
	}
	left := maxValues
	return native(value, &left)
}

func compileAlone(env *Env, text *format.Text, found *format.Problems, compile func(*compiler, *scope) *expression) *Condition {
	c := &compiler{env: env, found: found}
	s := &scope{cel: env.cel, slots: map[string]int{}}
	for i, v := range env.variables {
		s.slots[v.Name] = i
	}
	x := compile(c, s)
	if x != nil && x.costs.least > CostLimit {
		found.Add(text.Place(1, 1), "", "the expression costs at least %d units, more than %d", x.costs.least, CostLimit)
	}
	if found.Len() > 0 {
		return nil
	}
	return &Condition{x}
}

// Eval evaluates the condition with variables by name, as encoding/json and
// jsontext.Decode make them. It fails with [ErrTooDear], [ErrTooLong], the context's
// error, or an error of CEL.
func (c *Condition) Eval(ctx context.Context, vars map[string]any) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	value, err := c.eval(ctx, vars)
	if err != nil {
		return false, stopped(ctx, err)
	}
	decided, ok := value.(types.Bool)
	if !ok {
		return false, fmt.Errorf("it gave %s, not bool", value.Type().TypeName())
	}
	return bool(decided), nil
}

func (c *Condition) eval(ctx context.Context, vars map[string]any) (value ref.Val, err error) {
	x := c.expression
	switch {
	case x.constant != nil:
		return x.constant, nil
	case !x.tracked:
		value, _, err = x.program.Eval(vars)
		return value, err
	}
	limited, cancel := context.WithTimeout(ctx, MaxTime)
	defer cancel()
	value, _, err = x.program.ContextEval(limited, vars)
	return value, err
}

// stopped describes why an evaluation was stopped; it returns any other error unchanged.
func stopped(ctx context.Context, err error) error {
	var cancelled interpreter.EvalCancelledError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, interpreter.InterruptError{}), errors.Is(err, context.DeadlineExceeded):
		return ErrTooLong
	case errors.As(err, &cancelled) && cancelled.Cause == interpreter.CostLimitExceeded:
		return ErrTooDear
	}
	return err
}
