package template

import (
	"math"
	"math/big"
	"slices"

	"github.com/nikolalohinski/gonja/v2/nodes"
	"github.com/nikolalohinski/gonja/v2/tokens"
)

func (r *render) unary(n *nodes.UnaryExpression) (any, error) {
	v, err := r.value(n.Term)
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case int64, uint64:
		if !n.Negative {
			return v, nil
		}
		return negated(v)
	case float64:
		if !n.Negative {
			return v, nil
		}
		return -v, nil
	}
	return nil, failed("a sign needs a number, not %s", typeName(v))
}

// negated is an integer with the other sign.
func negated(v any) (any, error) {
	if i, ok := v.(int64); ok && i != math.MinInt64 {
		return -i, nil
	}
	return nil, failed("the result is out of range: -(%v) is more than an integer holds", v)
}

func (r *render) binary(n *nodes.BinaryExpression) (any, error) {
	left, err := r.value(n.Left)
	if err != nil {
		return nil, err
	}
	switch n.Operator.Token.Type {
	case tokens.And:
		if !truthy(left) {
			return left, nil
		}
		return r.value(n.Right)
	case tokens.Or:
		if truthy(left) {
			return left, nil
		}
		return r.value(n.Right)
	}
	right, err := r.value(n.Right)
	if err != nil {
		return nil, err
	}
	return r.operate(n.Operator.Token, left, right)
}

func (r *render) operate(operator *tokens.Token, left, right any) (any, error) {
	switch operator.Type {
	case tokens.Equals:
		return r.equal(left, right, 0)
	case tokens.Ne:
		same, err := r.equal(left, right, 0)
		return !same, err
	case tokens.LowerThan, tokens.LowerThanOrEqual, tokens.GreaterThan, tokens.GreaterThanOrEqual:
		return r.order(operator.Type, left, right)
	case tokens.Tilde:
		a, err := r.show(left)
		if err != nil {
			return nil, err
		}
		b, err := r.show(right)
		if err != nil {
			return nil, err
		}
		return r.text(a + b)
	case tokens.Addition:
		if a, ok := left.(string); ok {
			if b, ok := right.(string); ok {
				return r.text(a + b)
			}
		}
		if a, ok := left.([]any); ok {
			if b, ok := right.([]any); ok {
				return append(append([]any{}, a...), b...), r.spend(len(a) + len(b))
			}
		}
	}
	return arithmetic(operator, left, right)
}

// order compares two values that have an order.
func (r *render) order(operator tokens.Type, left, right any) (any, error) {
	order, err := compare(left, right)
	if err == nil {
		err = r.read(left)
	}
	if err != nil {
		return nil, err
	}
	switch operator {
	case tokens.LowerThan:
		return order < 0, nil
	case tokens.LowerThanOrEqual:
		return order <= 0, nil
	case tokens.GreaterThan:
		return order > 0, nil
	}
	return order >= 0, nil
}

// arithmetic works on two numbers: exactly on two int64, else as float64.
func arithmetic(operator *tokens.Token, left, right any) (any, error) {
	a, okA := left.(int64)
	b, okB := right.(int64)
	if okA && okB {
		if v, done, err := integers(operator.Type, a, b); done || err != nil {
			return v, err
		}
	}
	x, okX := toFloat(left)
	y, okY := toFloat(right)
	if !okX || !okY {
		return nil, failed("%q doesn't work on %s and %s (~ joins anything as text)", operator.Val, typeName(left), typeName(right))
	}
	if y == 0 && slices.Contains([]tokens.Type{tokens.Division, tokens.FloorDivision, tokens.Modulo}, operator.Type) {
		return nil, failed("division by zero")
	}
	var v float64
	switch operator.Type {
	case tokens.Addition:
		v = x + y
	case tokens.Subtraction:
		v = x - y
	case tokens.Multiply:
		v = x * y
	case tokens.Division:
		v = x / y
	case tokens.FloorDivision:
		v = math.Floor(x / y)
	case tokens.Modulo:
		v = x - y*math.Floor(x/y)
	case tokens.Power:
		v = math.Pow(x, y)
	default:
		return nil, failed("the operator %q isn't supported", operator.Val)
	}
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil, failed("%v %s %v is out of range", x, operator.Val, y)
	}
	return v, nil
}

// integers calculates with two integers, or leaves it to floats. Division rounds down,
// and the remainder has the divisor's sign, as in Jinja.
func integers(operator tokens.Type, a, b int64) (v any, done bool, err error) {
	x, y, z := big.NewInt(a), big.NewInt(b), new(big.Int)
	switch operator {
	case tokens.Addition:
		z.Add(x, y)
	case tokens.Subtraction:
		z.Sub(x, y)
	case tokens.Multiply:
		z.Mul(x, y)
	case tokens.FloorDivision, tokens.Modulo:
		if b == 0 {
			return nil, true, failed("division by zero")
		}
		quotient, rest := new(big.Int).QuoRem(x, y, new(big.Int))
		if rest.Sign() != 0 && (rest.Sign() < 0) != (b < 0) {
			quotient.Sub(quotient, big.NewInt(1))
			rest.Add(rest, y)
		}
		z = quotient
		if operator == tokens.Modulo {
			z = rest
		}
	case tokens.Power:
		if b < 0 || b > 64 {
			return nil, false, nil
		}
		z.Exp(x, y, nil)
	default:
		return nil, false, nil
	}
	if !z.IsInt64() {
		return nil, true, failed("the result is out of range: %s is more than an integer holds", z)
	}
	return z.Int64(), true, nil
}
