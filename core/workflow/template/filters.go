package template

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// filter is the implementation of a filter. Missing arguments are nil.
type filter struct {
	// doc is what it gives.
	doc      string
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

// Function is a filter or a test as its users know it.
type Function struct {
	Name string
	// Args are the names of its arguments; those that may be left out are in brackets.
	Args string
	// Doc is what a filter gives, or when a test holds.
	Doc string
}

// Filters lists the filters, sorted.
func Filters() []Function {
	var list []Function
	for _, name := range slices.Sorted(maps.Keys(filters)) {
		f := filters[name]
		args := slices.Clone(f.params)
		for i := f.required; i < len(args); i++ {
			args[i] = "[" + args[i] + "]"
		}
		if f.rest {
			args = append([]string{"…"}, args...)
		}
		list = append(list, Function{name, strings.Join(args, ", "), f.doc})
	}
	return list
}

// filters is the whole set.
var filters = map[string]filter{
	"abs":        {doc: "a number without its sign", apply: absolute},
	"batch":      {doc: "a list divided into lists of `linecount` items, the last one filled up with `fill_with`", params: []string{"linecount", "fill_with"}, required: 1, apply: batch},
	"capitalize": {doc: "a text with a capital letter first and small letters after it", apply: onText(capitalize)},
	"d":          {doc: "the same as default", params: []string{"value", "boolean"}, apply: fallback},
	"default":    {doc: "the value, or another if there is none; with `true`, also if it is empty or false", params: []string{"value", "boolean"}, apply: fallback},
	"dictsort":   {doc: "an object as a list of keys and values, sorted by `key` or `value`", params: []string{"case_sensitive", "by", "reverse"}, apply: dictSort},
	"first":      {doc: "the first item", apply: edge(0)},
	"float":      {doc: "a number; 0 if it isn't one", apply: toFloatFilter},
	"groupby":    {doc: "a list divided into groups with `grouper` and `list`, by a key of its items", params: []string{"attribute", "default"}, required: 1, apply: groupBy},
	"indent":     {doc: "a text with its lines moved right, by default by 4", params: []string{"width", "first", "blank"}, apply: indent},
	"int":        {doc: "a whole number; 0 if it isn't one", apply: toInt},
	"items":      {doc: "an object as a list of keys and values", apply: items},
	"join":       {doc: "a list's texts joined into one, with a text between them", params: []string{"separator", "attribute"}, apply: join},
	"json":       {doc: "the value as JSON; with a number, indented by it", params: []string{"indent"}, apply: toJSON},
	"keys":       {doc: "an object's keys", apply: keys},
	"last":       {doc: "the last item", apply: edge(-1)},
	"length":     {doc: "how many items, keys or characters it has", apply: length},
	"list":       {doc: "a list of its items", apply: toList},
	"lower":      {doc: "in small letters", apply: onText(strings.ToLower)},
	"map":        {doc: "for each item, the value of its key `attribute`, or the result of another filter", params: []string{"attribute", "default"}, rest: true, apply: mapped},
	"max":        {doc: "the largest item", apply: extreme(1)},
	"min":        {doc: "the smallest item", apply: extreme(-1)},
	"reject":     {doc: "the items that a test doesn't hold for", rest: true, apply: selected(false, false)},
	"rejectattr": {doc: "the items whose key a test doesn't hold for", rest: true, apply: selected(true, false)},
	"replace":    {doc: "a text with a part replaced everywhere", params: []string{"old", "new"}, required: 2, apply: replace},
	"reverse":    {doc: "in the reverse order", apply: reverse},
	"round":      {doc: "a number rounded to this many decimals, by default none", params: []string{"precision"}, apply: round},
	"select":     {doc: "the items that a test holds for", rest: true, apply: selected(false, true)},
	"selectattr": {doc: "the items whose key a test holds for", rest: true, apply: selected(true, true)},
	"sort":       {doc: "a list, sorted", params: []string{"reverse", "case_sensitive", "attribute"}, apply: sorted},
	"split":      {doc: "the parts of a text between separators, by default white space", params: []string{"separator"}, apply: split},
	"string":     {doc: "the value as a text", apply: func(r *render, in any, _ []any) (any, error) { return r.show(in) }},
	"sum":        {doc: "the sum of the items, or of their key `attribute`", params: []string{"attribute", "start"}, apply: sum},
	"title":      {doc: "a text with a capital at the beginning of each word", apply: titled},
	"tojson":     {doc: "the same as json", params: []string{"indent"}, apply: toJSON},
	"trim":       {doc: "a text without white space around it", apply: onText(strings.TrimSpace)},
	"truncate":   {doc: "the first characters of a text, with … if it is longer", params: []string{"length"}, required: 1, apply: truncate},
	"unique":     {doc: "a list without repetitions", apply: unique},
	"upper":      {doc: "in capitals", apply: onText(strings.ToUpper)},
	"values":     {doc: "an object's values", apply: values},
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
