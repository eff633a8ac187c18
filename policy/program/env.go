package program

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
)

// Variable is an input that expressions may name.
type Variable struct {
	Name string `json:"name"`
	// Type is a CEL type: bool, int, uint, double, string, bytes, dyn,
	// list(T), map(K, V).
	Type string `json:"type"`
	Doc  string `json:"doc"`
	// Sizes are the largest sizes of its values, for the static cost: for a string its
	// characters, for a list its elements, and then the sizes of each element; for a map
	// its entries. A size that isn't given is unbounded.
	Sizes []uint64 `json:"-"`
}

// Field is a field of an output.
type Field struct {
	Name string `json:"name"`
	// Type is a CEL type.
	Type string `json:"type"`
	Doc  string `json:"doc"`
	// Values are the allowed texts, if there are only a few.
	Values []string `json:"values,omitempty"`
	// Optional is whether an output may leave it out.
	Optional bool `json:"optional,omitempty"`
	// Range is the smallest and the largest allowed number; nil allows any.
	Range *Range `json:"range,omitempty"`
}

// Range is from a smallest number to a largest, both included.
type Range struct {
	Least    float64 `json:"least"`
	Greatest float64 `json:"greatest"`
}

// holds reports whether a number is in the range.
func (r *Range) holds(x float64) bool { return r == nil || x >= r.Least && x <= r.Greatest }

// Options declare the inputs and outputs of one kind of policies.
type Options struct {
	Variables []Variable
	// Fields make the output a record, which is written as a map literal with
	// constant keys, so that each field is checked at load. Without any, an output
	// is any value.
	Fields []Field
}

// Env is where policies of one kind compile. It is immutable and safe for
// concurrent use.
type Env struct {
	cel *cel.Env
	// bare has only the functions.
	bare      *cel.Env
	variables []Variable
	fields    []Field
	types     []*cel.Type // types of the fields
	sizes     map[string][]uint64
}

// Bounds of the CEL parser, so that a hostile source can't exhaust the stack.
const (
	maxNesting     = 100 // levels of brackets and operators
	maxParseErrors = 20  // problems reported before the parser gives up
)

// NewEnv makes an environment. An error is a defect of the declarations.
func NewEnv(o Options) (*Env, error) {
	e := &Env{variables: slices.Clone(o.Variables), fields: slices.Clone(o.Fields), sizes: map[string][]uint64{}}
	options := []cel.EnvOption{
		cel.CrossTypeNumericComparisons(true),
		cel.DefaultUTCTimeZone(true),
		cel.OptionalTypes(),
		cel.ParserRecursionLimit(maxNesting),
		cel.ParserErrorRecoveryLimit(maxParseErrors),
	}
	options = append(options, textFunctions()...)
	for _, f := range functions() {
		options = append(options, f.option())
	}
	var err error
	if e.bare, err = cel.NewEnv(options...); err != nil {
		return nil, err
	}
	for _, v := range e.variables {
		t, err := parseType(v.Type)
		if err != nil {
			return nil, fmt.Errorf("variable %s: %w", v.Name, err)
		}
		e.sizes[v.Name] = v.Sizes
		options = append(options, cel.Variable(v.Name, t))
	}
	for _, f := range e.fields {
		t, err := parseType(f.Type)
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", f.Name, err)
		}
		e.types = append(e.types, t)
	}
	e.cel, err = cel.NewEnv(options...)
	return e, err
}

// Variables lists the inputs. An input's index here is its index in [Inputs].
func (e *Env) Variables() []Variable { return slices.Clone(e.variables) }

// Index is the index of an input by its name, or -1.
func (e *Env) Index(name string) int {
	return slices.IndexFunc(e.variables, func(v Variable) bool { return v.Name == name })
}

// Fields lists the fields of outputs; none if an output may be any value.
func (e *Env) Fields() []Field { return slices.Clone(e.fields) }

// parseType parses a CEL type.
func parseType(text string) (*cel.Type, error) {
	text = strings.TrimSpace(text)
	simple := map[string]*cel.Type{
		"bool": cel.BoolType, "int": cel.IntType, "uint": cel.UintType, "double": cel.DoubleType,
		"string": cel.StringType, "bytes": cel.BytesType, "dyn": cel.DynType,
	}
	if t := simple[text]; t != nil {
		return t, nil
	}
	if inner, ok := strings.CutPrefix(text, "list("); ok && strings.HasSuffix(inner, ")") {
		element, err := parseType(strings.TrimSuffix(inner, ")"))
		return cel.ListType(element), err
	}
	if inner, ok := strings.CutPrefix(text, "map("); ok && strings.HasSuffix(inner, ")") {
		keyText, valueText, _ := strings.Cut(strings.TrimSuffix(inner, ")"), ",")
		key, err := parseType(keyText)
		if err != nil {
			return nil, err
		}
		value, err := parseType(valueText)
		return cel.MapType(key, value), err
	}
	return nil, fmt.Errorf("there is no type %q", text)
}
