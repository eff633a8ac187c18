package template

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// filter is the implementation of a filter. Missing arguments are nil.
type filter struct {
	params   []string
	required int
	// rest means that params can only be given by name, and that any number of other
	// arguments may be given, which come after them.
	rest  bool
	apply func(r *render, in any, args []any) (any, error)
}

func (f filter) signature() string {
	switch {
	case f.rest:
		return "any arguments, and by name: " + strings.Join(f.params, ", ")
	case len(f.params) == 0:
		return "no arguments"
	}
	return fmt.Sprintf("%d to %d arguments: %s", f.required, len(f.params), strings.Join(f.params, ", "))
}

// filters is the whole set.
var filters = map[string]filter{
	"abs":        {apply: absolute},
	"batch":      {params: []string{"linecount", "fill_with"}, required: 1, apply: batch},
	"capitalize": {apply: onText(capitalize)},
	"d":          {params: []string{"value", "boolean"}, apply: fallback},
	"default":    {params: []string{"value", "boolean"}, apply: fallback},
	"dictsort":   {params: []string{"case_sensitive", "by", "reverse"}, apply: dictSort},
	"first":      {apply: edge(0)},
	"float":      {apply: toFloatFilter},
	"groupby":    {params: []string{"attribute", "default"}, required: 1, apply: groupBy},
	"indent":     {params: []string{"width", "first", "blank"}, apply: indent},
	"int":        {apply: toInt},
	"items":      {apply: items},
	"join":       {params: []string{"separator", "attribute"}, apply: join},
	"json":       {params: []string{"indent"}, apply: toJSON},
	"keys":       {apply: keys},
	"last":       {apply: edge(-1)},
	"length":     {apply: length},
	"list":       {apply: toList},
	"lower":      {apply: onText(strings.ToLower)},
	"map":        {params: []string{"attribute", "default"}, rest: true, apply: mapped},
	"max":        {apply: extreme(1)},
	"min":        {apply: extreme(-1)},
	"reject":     {rest: true, apply: selected(false, false)},
	"rejectattr": {rest: true, apply: selected(true, false)},
	"replace":    {params: []string{"old", "new"}, required: 2, apply: replace},
	"reverse":    {apply: reverse},
	"round":      {params: []string{"precision"}, apply: round},
	"select":     {rest: true, apply: selected(false, true)},
	"selectattr": {rest: true, apply: selected(true, true)},
	"sort":       {params: []string{"reverse", "case_sensitive", "attribute"}, apply: sorted},
	"split":      {params: []string{"separator"}, apply: split},
	"string":     {apply: func(r *render, in any, _ []any) (any, error) { return r.show(in) }},
	"sum":        {params: []string{"attribute", "start"}, apply: sum},
	"title":      {apply: titled},
	"tojson":     {params: []string{"indent"}, apply: toJSON},
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

// maxIndent bounds the indentation of one level, in spaces.
const maxIndent = 64

func toJSON(r *render, in any, args []any) (any, error) {
	data, err := r.encode(nil, in, 0)
	if err != nil || args[0] == nil {
		return string(data), err
	}
	width, err := integerArg("indent", args[0], 0, 0, maxIndent)
	if err != nil {
		return nil, err
	}
	return pretty(data, width)
}

// pretty formats compact JSON over several lines, as json.dumps does. It stops if the
// text becomes too long: a deep value may grow a hundredfold.
func pretty(data []byte, width int) (string, error) {
	var out []byte
	depth, quoted := 0, false
	line := func() { out = append(append(out, '\n'), strings.Repeat(" ", width*depth)...) }
	for i, c := range data {
		if len(out) > MaxOutput {
			return "", tooLong()
		}
		switch {
		case c == '"' && !escaped(data[:i]):
			quoted = !quoted
		case quoted:
		case (c == '{' || c == '[') && data[i+1] != c+2: // not an empty one
			depth++
			out = append(out, c)
			line()
			continue
		case (c == '}' || c == ']') && data[i-1] != c-2:
			depth--
			line()
		case c == ',':
			out = append(out, c)
			line()
			continue
		case c == ':':
			out = append(out, ": "...)
			continue
		}
		out = append(out, c)
	}
	return string(out), nil
}

// escaped reports whether an odd number of backslashes comes before.
func escaped(before []byte) bool {
	n := len(before) - len(bytes.TrimRight(before, `\`))
	return n%2 == 1
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
