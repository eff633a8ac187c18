package program

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// doubleNode is a node whose value is known to be a double. cel-go allocates a value for
// every step of a formula; these nodes allocate one for the result.
type doubleNode interface {
	// float returns the number, or the error that replaces it.
	float(frame *interpreter.ExecutionFrame) (float64, ref.Val)
}

// doubles replaces arithmetic and comparisons of numbers that the checker knows to be
// doubles. All other nodes stay as they are.
type doubles struct {
	types map[int64]*cel.Type
	own   map[string]Function
}

func newDoubles(checked *cel.Ast) *doubles {
	return &doubles{types: checked.NativeRep().TypeMap(), own: ownByOverload()}
}

func (d *doubles) decorate(node interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	call, ok := node.(interpreter.InterpretableCall)
	if !ok {
		return node, nil
	}
	args := call.Args()
	if call.OverloadID() == overloads.IntToDouble && len(args) == 1 {
		return &converted{node, args[0]}, nil
	}
	var operands [3]doubleNode
	for i, arg := range args {
		if i >= len(operands) || d.types[arg.ID()] != cel.DoubleType {
			return node, nil
		}
		operands[i] = asDouble(arg)
	}
	if f, own := d.own[call.OverloadID()]; own && f.math != nil {
		return &formula{node, f.math, operands, len(args)}, nil
	}
	if len(args) != 2 {
		return node, nil
	}
	if f := arithmetic(call.Function()); f != nil {
		return &formula{node, f, operands, 2}, nil
	}
	if f := comparison(call.Function()); f != nil {
		return &compared{node, f, operands[0], operands[1]}, nil
	}
	return node, nil
}

func arithmetic(operator string) func(a, b, _ float64) float64 {
	switch operator {
	case operators.Add:
		return func(a, b, _ float64) float64 { return a + b }
	case operators.Subtract:
		return func(a, b, _ float64) float64 { return a - b }
	case operators.Multiply:
		return func(a, b, _ float64) float64 { return a * b }
	case operators.Divide:
		return func(a, b, _ float64) float64 { return a / b }
	}
	return nil
}

func comparison(operator string) func(a, b float64) bool {
	switch operator {
	case operators.Less:
		return func(a, b float64) bool { return a < b }
	case operators.LessEquals:
		return func(a, b float64) bool { return a <= b }
	case operators.Greater:
		return func(a, b float64) bool { return a > b }
	case operators.GreaterEquals:
		return func(a, b float64) bool { return a >= b }
	}
	return nil
}

// formula is a function of up to three doubles.
type formula struct {
	interpreter.InterpretableV2
	math     func(a, b, c float64) float64
	operands [3]doubleNode
	count    int
}

func (n *formula) float(frame *interpreter.ExecutionFrame) (float64, ref.Val) {
	var x [3]float64
	for i := range n.count {
		var bad ref.Val
		if x[i], bad = n.operands[i].float(frame); bad != nil {
			return 0, bad
		}
	}
	return n.math(x[0], x[1], x[2]), nil
}

// Exec implements interpreter.InterpretableV2.
func (n *formula) Exec(frame *interpreter.ExecutionFrame) ref.Val { return boxed(n.float(frame)) }

// compared is a comparison of two doubles. Every comparison with NaN is false.
type compared struct {
	interpreter.InterpretableV2
	holds func(a, b float64) bool
	a, b  doubleNode
}

// Exec implements interpreter.InterpretableV2.
func (n *compared) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	a, bad := n.a.float(frame)
	if bad != nil {
		return bad
	}
	b, bad := n.b.float(frame)
	if bad != nil {
		return bad
	}
	return types.Bool(n.holds(a, b))
}

// converted is an int, converted to a double.
type converted struct {
	interpreter.InterpretableV2
	whole interpreter.InterpretableV2
}

func (n *converted) float(frame *interpreter.ExecutionFrame) (float64, ref.Val) {
	v := n.whole.Exec(frame)
	if i, ok := v.(types.Int); ok {
		return float64(i), nil
	}
	return 0, types.MaybeNoSuchOverloadErr(v)
}

// Exec implements interpreter.InterpretableV2.
func (n *converted) Exec(frame *interpreter.ExecutionFrame) ref.Val { return boxed(n.float(frame)) }

func boxed(x float64, bad ref.Val) ref.Val {
	if bad != nil {
		return bad
	}
	return types.Double(x)
}

// asDouble is any node whose type is double.
func asDouble(node interpreter.InterpretableV2) doubleNode {
	switch n := node.(type) {
	case doubleNode:
		return n
	case interpreter.InterpretableConst:
		if x, ok := n.Value().(types.Double); ok {
			return constant(x)
		}
	}
	return unboxed{node}
}

// constant is a number in the source.
type constant float64

func (n constant) float(*interpreter.ExecutionFrame) (float64, ref.Val) { return float64(n), nil }

// unboxed is a node of cel-go itself that returns a double, or an error.
type unboxed struct{ node interpreter.InterpretableV2 }

func (n unboxed) float(frame *interpreter.ExecutionFrame) (float64, ref.Val) {
	v := n.node.Exec(frame)
	if x, ok := v.(types.Double); ok {
		return float64(x), nil
	}
	return 0, types.MaybeNoSuchOverloadErr(v)
}
