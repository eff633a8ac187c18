package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/policy/program"
	"github.com/reflectory/reflectory/sdk"
)

// given holds the values of inputs, from a file, a test case or a record.
type given struct {
	values []program.Value
}

// Input implements [program.Inputs].
func (g given) Input(i int) program.Value { return g.values[i] }

// given makes inputs from decoded JSON values. An absent input is empty: 0, "",
// false, no elements. All mistakes are reported at once.
func (d *definition) given(values map[string]any) (named, error) {
	variables := d.env.Variables()
	in := given{values: make([]program.Value, len(variables))}
	var errs []error
	var known []string
	for i, v := range variables {
		known = append(known, v.Name)
		value, there := values[v.Name]
		if !there || value == nil {
			value = empty(v.Type)
		}
		made, ok := typed(v.Type, value)
		if !ok {
			errs = append(errs, sdk.Errorf(sdk.Invalid, "policy_input_invalid", "the input %s must be %s, not %s", v.Name, v.Type, kindOf(value)))
		}
		in.values[i] = made
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(known, name) {
			errs = append(errs, sdk.Errorf(sdk.Invalid, "policy_input_invalid", "point %s has no input %q", d.name, name).
				WithHint("%s", sdk.DidYouMean(name, known, "the inputs are "+strings.Join(known, ", "))))
		}
	}
	return named{d.env, in}, core.JoinErrors(errs...)
}

// empty is the value of an input that wasn't given.
func empty(kind string) any {
	switch kind {
	case "bool":
		return false
	case "int":
		return int64(0)
	case "double":
		return 0.0
	case "string":
		return ""
	case "dyn":
		return nil
	}
	if strings.HasPrefix(kind, "list") {
		return []any{}
	}
	return map[string]any{}
}

// typed makes a value of a CEL type from a JSON value or a Go value.
func typed(kind string, v any) (program.Value, bool) {
	switch x := v.(type) {
	case bool:
		return program.Bool(x), kind == "bool" || kind == "dyn"
	case string:
		return program.Text(x), kind == "string" || kind == "dyn"
	case float64:
		if whole := int64(x); kind == "int" && float64(whole) == x {
			return program.Int(whole), true
		}
		return program.Double(x), kind == "double" || kind == "dyn"
	case int64:
		if kind == "double" {
			return program.Double(float64(x)), true
		}
		return program.Int(x), kind == "int" || kind == "dyn"
	case map[string]any:
		return program.Any(x), strings.HasPrefix(kind, "map") || kind == "dyn"
	case []any:
		return program.Any(x), (kind != "list(string)" && strings.HasPrefix(kind, "list") || kind == "dyn") || allTexts(kind, x)
	}
	return program.Any(v), kind == "dyn"
}

// allTexts reports whether all elements of a list are texts, if its type requires that.
func allTexts(kind string, list []any) bool {
	return kind == "list(string)" && !slices.ContainsFunc(list, func(v any) bool { _, ok := v.(string); return !ok })
}

func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "bool"
	case string:
		return "string"
	case float64:
		return "double"
	case int64, uint64:
		return "int"
	case map[string]any:
		return "map"
	case []any:
		return "list"
	}
	return fmt.Sprintf("%T", v)
}
