package template

import (
	"math"
	"strconv"
	"strings"

	"github.com/nikolalohinski/gonja/v2/tokens"
)

func absolute(_ *render, in any, _ []any) (any, error) {
	switch v := in.(type) {
	case int64:
		if v < 0 {
			return negated(v)
		}
		return v, nil
	case uint64:
		return v, nil
	case float64:
		return math.Abs(v), nil
	}
	return nil, failed("abs needs a number, not %s", typeName(in))
}

func round(_ *render, in any, args []any) (any, error) {
	precision, _ := args[0].(int64)
	if _, ok := in.(int64); ok {
		return in, nil
	}
	f, ok := toFloat(in)
	if !ok || precision < 0 || precision > 15 {
		return nil, failed("round needs a number and a precision of 0 to 15")
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(f, 'f', int(precision), 64), 64)
	return rounded, err
}

// sum adds up a list's numbers, or an attribute of its elements.
func sum(r *render, in any, args []any) (any, error) {
	list, err := aList(r, in)
	if err != nil {
		return nil, err
	}
	total := args[1]
	if total == nil {
		total = int64(0)
	}
	for _, e := range list {
		if args[0] != nil {
			if e, err = r.memberOr(e, keyText(args[0]), nil); err != nil {
				return nil, err
			}
		}
		if total, err = arithmetic(&tokens.Token{Type: tokens.Addition, Val: "+"}, total, e); err != nil {
			return nil, err
		}
	}
	return total, nil
}

// integerArg is an argument that is an integer within bounds.
func integerArg(what string, arg any, absent, least, most int) (int, error) {
	if arg == nil {
		return absent, nil
	}
	n, ok := arg.(int64)
	if !ok || n < int64(least) || n > int64(most) {
		return 0, failed("%s must be an integer from %d to %d", what, least, most)
	}
	return int(n), nil
}

func toInt(_ *render, in any, _ []any) (any, error) {
	switch v := in.(type) {
	case int64, uint64:
		return v, nil
	case bool:
		if v {
			return int64(1), nil
		}
		return int64(0), nil
	case string:
		v = strings.TrimSpace(v)
		if i, err := strconv.ParseInt(v, 10, 64); err == nil {
			return i, nil
		}
		if f, err := strconv.ParseFloat(v, 64); err == nil {
			return whole(f), nil
		}
	case float64:
		return whole(v), nil
	}
	return int64(0), nil
}

// whole is a number without its fraction; 0 if it has no such form.
func whole(f float64) int64 {
	if math.Abs(f) < 1<<63 { // not for NaN
		return int64(f)
	}
	return 0
}

func toFloatFilter(_ *render, in any, _ []any) (any, error) {
	if f, ok := toFloat(in); ok {
		return f, nil
	}
	if text, ok := in.(string); ok {
		if f, err := strconv.ParseFloat(strings.TrimSpace(text), 64); err == nil && !math.IsNaN(f) && !math.IsInf(f, 0) {
			return f, nil
		}
	}
	return 0.0, nil
}
