package program

import (
	"context"

	"github.com/google/cel-go/cel"

	"github.com/reflectory/reflectory/policy/format"
)

// Constant evaluates an expression that names no input, or notes its problems and returns
// nil. An optional without a value is nil too.
func Constant(ctx context.Context, env *Env, text *format.Text, found *format.Problems) any {
	c := &compiler{env: env, found: found, track: true}
	x := c.compile(&scope{cel: env.bare, slots: map[string]int{}}, text)
	if x == nil {
		return nil
	}
	value := x.constant
	if value == nil {
		limited, cancel := context.WithTimeout(ctx, MaxTime)
		defer cancel()
		var err error
		if value, _, err = x.program.ContextEval(limited, cel.NoVars()); err != nil {
			found.Add(text.Place(firstLine(text.Value)), "", "the expression failed: %v", err)
			return nil
		}
	}
	left := maxValues
	v, err := native(value, &left)
	if err != nil {
		found.Add(text.Place(firstLine(text.Value)), "", "%v", err)
	}
	return v
}
