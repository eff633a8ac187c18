package template

import (
	"math"
	"strconv"
	"strings"
)

func absolute(_ *render, in any, _ []any) (any, error) {
	switch v := in.(type) {
	case int64:
		if v < 0 && v != math.MinInt64 {
			return -v, nil
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
		if i, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64); err == nil {
			return i, nil
		}
	case float64:
		if math.Abs(v) < 1<<63 {
			return int64(v), nil
		}
	}
	return nil, failed("%s isn't an integer", typeName(in))
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
	return nil, failed("%s isn't a number", typeName(in))
}
