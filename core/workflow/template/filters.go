package template

import (
	"fmt"
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
