package template

import (
	"math"

	"github.com/nikolalohinski/gonja/v2/nodes"
	"github.com/nikolalohinski/gonja/v2/tokens"
)

func (r *render) unary(n *nodes.UnaryExpression) (any, error) {
	v, err := r.value(n.Term)
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case int64:
		if !n.Negative || v == math.MinInt64 {
			return v, nil
		}
		return -v, nil
	case float64:
		if !n.Negative {
			return v, nil
		}
		return -v, nil
	}
	return nil, failed("a sign needs a number, not %s", typeName(v))
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
		order, err := compare(left, right)
		if err == nil {
			err = r.read(left)
		}
		if err != nil {
			return nil, err
		}
		switch operator.Type {
		case tokens.LowerThan:
			return order < 0, nil
		case tokens.LowerThanOrEqual:
			return order <= 0, nil
		case tokens.GreaterThan:
			return order > 0, nil
		}
		return order >= 0, nil
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
