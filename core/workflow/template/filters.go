package template

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// filter is what stands behind a pipe. Absent arguments are nil.
type filter struct {
	params   []string
	required int
	apply    func(r *render, in any, args []any) (any, error)
}

func (f filter) signature() string {
	if len(f.params) == 0 {
		return "no arguments"
	}
	return fmt.Sprintf("%d to %d arguments: %s", f.required, len(f.params), strings.Join(f.params, ", "))
}

// filters is the whole set.
var filters = map[string]filter{
	"abs":        {apply: absolute},
	"capitalize": {apply: onText(capitalize)},
	"d":          {params: []string{"value", "boolean"}, apply: fallback},
	"default":    {params: []string{"value", "boolean"}, apply: fallback},
	"first":      {apply: edge(0)},
	"float":      {apply: toFloatFilter},
	"int":        {apply: toInt},
	"join":       {params: []string{"separator"}, apply: join},
	"json":       {apply: toJSON},
	"keys":       {apply: keys},
	"last":       {apply: edge(-1)},
	"length":     {apply: length},
	"lower":      {apply: onText(strings.ToLower)},
	"map":        {params: []string{"attribute"}, required: 1, apply: attributeOf},
	"max":        {apply: extreme(1)},
	"min":        {apply: extreme(-1)},
	"replace":    {params: []string{"old", "new"}, required: 2, apply: replace},
	"reverse":    {apply: reverse},
	"round":      {params: []string{"precision"}, apply: round},
	"sort":       {apply: sorted},
	"split":      {params: []string{"separator"}, apply: split},
	"string":     {apply: func(r *render, in any, _ []any) (any, error) { return r.show(in) }},
	"tojson":     {apply: toJSON},
	"trim":       {apply: onText(strings.TrimSpace)},
	"truncate":   {params: []string{"length"}, required: 1, apply: truncate},
	"unique":     {apply: unique},
	"upper":      {apply: onText(strings.ToUpper)},
	"values":     {apply: values},
}

func fallback(_ *render, in any, args []any) (any, error) {
	_, missing := in.(undefined)
	if missing || truthy(args[1]) && !truthy(in) {
		if args[0] == nil {
			return "", nil
		}
		return args[0], nil
	}
	return in, nil
}

func toJSON(r *render, in any, _ []any) (any, error) {
	data, err := r.encode(nil, in, 0)
	return string(data), err
}

func onText(f func(string) string) func(*render, any, []any) (any, error) {
	return func(_ *render, in any, _ []any) (any, error) {
		text, ok := in.(string)
		if !ok {
			return nil, failed("this filter needs text, not %s", typeName(in))
		}
		return f(text), nil
	}
}

func capitalize(s string) string {
	_, n := utf8.DecodeRuneInString(s)
	return strings.ToUpper(s[:n]) + strings.ToLower(s[n:])
}

func length(_ *render, in any, _ []any) (any, error) {
	switch in := in.(type) {
	case string:
		return int64(utf8.RuneCountInString(in)), nil
	case []any:
		return int64(len(in)), nil
	case map[string]any:
		return int64(len(in)), nil
	}
	return nil, failed("%s has no length", typeName(in))
}

func aList(r *render, in any) ([]any, error) {
	list, ok := in.([]any)
	if !ok {
		return nil, failed("this filter needs a list, not %s", typeName(in))
	}
	return list, r.spend(len(list))
}

func anObject(r *render, in any) (map[string]any, error) {
	object, ok := in.(map[string]any)
	if !ok {
		return nil, failed("this filter needs an object, not %s", typeName(in))
	}
	return object, r.spend(len(object))
}

func textArg(arg any, absent string) (string, error) {
	if arg == nil {
		return absent, nil
	}
	text, ok := arg.(string)
	if !ok {
		return "", failed("the filter's argument must be text, not %s", typeName(arg))
	}
	return text, nil
}

func join(r *render, in any, args []any) (any, error) {
	list, err := aList(r, in)
	if err != nil {
		return nil, err
	}
	separator, err := textArg(args[0], "")
	if err != nil {
		return nil, err
	}
	var out strings.Builder
	for i, e := range list {
		if i > 0 {
			out.WriteString(separator)
		}
		text, err := r.show(e)
		if err != nil {
			return nil, err
		}
		if out.WriteString(text); out.Len() > MaxOutput {
			return nil, tooLong()
		}
	}
	return out.String(), nil
}

func split(r *render, in any, args []any) (any, error) {
	text, ok := in.(string)
	if !ok {
		return nil, failed("split needs text, not %s", typeName(in))
	}
	separator, err := textArg(args[0], " ")
	if err != nil {
		return nil, err
	}
	if err := r.spend(len(text)); err != nil {
		return nil, err
	}
	var list []any
	for _, part := range strings.Split(text, separator) {
		list = append(list, part)
	}
	return list, nil
}

func replace(r *render, in any, args []any) (any, error) {
	text, err := textArg(in, "")
	if err != nil {
		return nil, err
	}
	from, err := textArg(args[0], "")
	if err != nil {
		return nil, err
	}
	to, err := textArg(args[1], "")
	if err != nil {
		return nil, err
	}
	if len(text)+(len(to)-len(from))*strings.Count(text, from) > MaxOutput {
		return nil, tooLong()
	}
	return strings.ReplaceAll(text, from, to), nil
}

func truncate(_ *render, in any, args []any) (any, error) {
	text, err := textArg(in, "")
	n, ok := args[0].(int64)
	if err != nil || !ok || n < 0 {
		return nil, failed("truncate needs text and a length from 0")
	}
	if int64(utf8.RuneCountInString(text)) <= n {
		return text, nil
	}
	for i := range text {
		if n == 0 {
			return text[:i] + "…", nil
		}
		n--
	}
	return text, nil
}

func edge(at int64) func(*render, any, []any) (any, error) {
	return func(r *render, in any, _ []any) (any, error) {
		list, err := aList(r, in)
		if err != nil {
			return nil, err
		}
		return get(list, at, func() string { return "an element of the empty list" }), nil
	}
}

func reverse(r *render, in any, _ []any) (any, error) {
	list, err := aList(r, in)
	list = slices.Clone(list)
	slices.Reverse(list)
	return list, err
}

func sorted(r *render, in any, _ []any) (any, error) {
	list, err := aList(r, in)
	if err == nil {
		err = r.spend(16 * len(list)) // some n log n comparisons
	}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b any) int {
		order, e := compare(a, b)
		if err == nil {
			err = e
		}
		return order
	})
	return list, err
}

func extreme(sign int) func(*render, any, []any) (any, error) {
	return func(r *render, in any, _ []any) (any, error) {
		list, err := aList(r, in)
		if err != nil {
			return nil, err
		}
		if len(list) == 0 {
			return nil, failed("an empty list has no least or greatest element")
		}
		best := list[0]
		for _, e := range list[1:] {
			order, err := compare(e, best)
			if err != nil {
				return nil, err
			}
			if order*sign > 0 {
				best = e
			}
		}
		return best, nil
	}
}

func unique(r *render, in any, _ []any) (any, error) {
	list, err := aList(r, in)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	out := []any{}
	for _, e := range list {
		key, err := r.encode(nil, e, 0)
		if err != nil {
			return nil, err
		}
		if !seen[string(key)] {
			seen[string(key)] = true
			out = append(out, e)
		}
	}
	return out, nil
}

func keys(r *render, in any, _ []any) (any, error) {
	object, err := anObject(r, in)
	list := []any{}
	for _, k := range sortedKeys(object) {
		list = append(list, k)
	}
	return list, err
}

func values(r *render, in any, _ []any) (any, error) {
	object, err := anObject(r, in)
	list := []any{}
	for _, k := range sortedKeys(object) {
		list = append(list, object[k])
	}
	return list, err
}

func attributeOf(r *render, in any, args []any) (any, error) {
	list, err := aList(r, in)
	if err != nil {
		return nil, err
	}
	name, err := textArg(args[0], "")
	if err != nil {
		return nil, err
	}
	out := make([]any, len(list))
	for i, e := range list {
		v := get(e, name, func() string { return fmt.Sprintf("element %d's %s", i, name) })
		if u, ok := v.(undefined); ok {
			return nil, u.err()
		}
		out[i] = v
	}
	return out, nil
}

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
