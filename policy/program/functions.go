package program

import (
	"math"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// Function is a function for policies in addition to CEL's own.
type Function struct {
	Name string `json:"name"`
	// Signature is its signature, with the result's type.
	Signature string `json:"signature"`
	Doc       string `json:"doc"`

	args   []*cel.Type
	result *cel.Type
	// perCharacter is the cost for each character of the arguments, in addition to the 1
	// that every call costs.
	perCharacter float64
	// math is its implementation if all arguments are doubles, at most three; call is its
	// implementation otherwise.
	math func(a, b, c float64) float64
	call func(args ...ref.Val) ref.Val
}

// Functions lists the functions for policies in addition to CEL's own.
func Functions() []Function { return append(functions(), textSignatures()...) }

// functions is the table of our own functions, with their costs.
func functions() []Function {
	double, text := cel.DoubleType, cel.StringType
	return []Function{
		{
			Name: "clamp", Signature: "clamp(x double, low double, high double) double",
			Doc:  "x, or the bound if x is beyond it",
			args: []*cel.Type{double, double, double}, result: double,
			math: func(x, low, high float64) float64 { return max(low, min(x, high)) },
		},
		{
			Name: "least", Signature: "least(a double, b double) double", Doc: "the smaller of two numbers",
			args: []*cel.Type{double, double}, result: double,
			math: func(a, b, _ float64) float64 { return min(a, b) },
		},
		{
			Name: "greatest", Signature: "greatest(a double, b double) double", Doc: "the larger of two numbers",
			args: []*cel.Type{double, double}, result: double,
			math: func(a, b, _ float64) float64 { return max(a, b) },
		},
		{
			Name: "distance", Signature: "distance(a double, b double) double", Doc: "the distance between two numbers",
			args: []*cel.Type{double, double}, result: double,
			math: func(a, b, _ float64) float64 { return math.Abs(a - b) },
		},
		{
			Name: "rounded", Signature: "rounded(x double) double", Doc: "x rounded to 1e-9, so that sums of decimal fractions compare as expected",
			args: []*cel.Type{double}, result: double,
			math: func(x, _, _ float64) float64 { return core.Rounded(x) },
		},
		{
			Name: "within", Signature: "within(namespace string, pattern string) bool",
			Doc:  "whether a namespace is the one that the pattern names (a/b) or lies in it (a/**, **)",
			args: []*cel.Type{text, text}, result: cel.BoolType, perCharacter: 0.1,
			call: func(a ...ref.Val) ref.Val {
				namespace, _ := a[0].(types.String)
				pattern, _ := a[1].(types.String)
				return types.Bool(core.NamespaceMatches(string(namespace), string(pattern)))
			},
		},
	}
}

// number is an argument that the checker knows to be a double, or NaN.
func number(v ref.Val) float64 {
	if d, ok := v.(types.Double); ok {
		return float64(d)
	}
	return math.NaN()
}

func (f Function) overloadID() string { return "reflectory_" + f.Name }

// ownByOverload finds our own functions by their overloads.
func ownByOverload() map[string]Function {
	own := map[string]Function{}
	for _, f := range functions() {
		own[f.overloadID()] = f
	}
	return own
}

// onValues is the function on CEL values.
func (f Function) onValues(args ...ref.Val) ref.Val {
	if f.math == nil {
		return f.call(args...)
	}
	var x [3]float64
	for i, arg := range args {
		x[i] = number(arg)
	}
	return types.Double(f.math(x[0], x[1], x[2]))
}

func (f Function) option() cel.EnvOption {
	var binding cel.OverloadOpt
	switch len(f.args) {
	case 1:
		binding = cel.UnaryBinding(func(v ref.Val) ref.Val { return f.onValues(v) })
	case 2:
		binding = cel.BinaryBinding(func(a, b ref.Val) ref.Val { return f.onValues(a, b) })
	default:
		binding = cel.FunctionBinding(f.onValues)
	}
	return cel.Function(f.Name, cel.Overload(f.overloadID(), f.args, f.result, binding))
}

// estimate is the static cost of a call.
func (f Function) estimate(size func(checker.AstNode) checker.SizeEstimate, args []checker.AstNode) *checker.CallEstimate {
	cost := checker.FixedCostEstimate(1)
	if f.perCharacter > 0 {
		for _, arg := range args {
			cost = cost.Add(size(arg).MultiplyByCostFactor(f.perCharacter))
		}
	}
	return &checker.CallEstimate{CostEstimate: cost}
}

// actual is the actual cost of a call.
func (f Function) actual(args []ref.Val) uint64 {
	cost := 1.0
	for _, arg := range args {
		if s, ok := arg.(types.String); ok {
			cost += f.perCharacter * float64(len(s))
		}
	}
	return uint64(math.Ceil(cost))
}

// unknownFunction is the name of the call with an expression id if there is no such
// function, else "".
func (c *compiler) unknownFunction(parsed *ast.AST, id int64) string {
	if parsed == nil {
		return ""
	}
	calls := ast.MatchDescendants(ast.NavigateAST(parsed), func(e ast.NavigableExpr) bool {
		return e.ID() == id && e.Kind() == ast.CallKind
	})
	if len(calls) == 0 {
		return ""
	}
	call := calls[0].AsCall()
	if c.env.cel.HasFunction(call.FunctionName()) {
		return ""
	}
	return call.FunctionName()
}

// functionHint names the function that is nearest to an unknown name, or lists those
// beyond CEL's own.
func (e *Env) functionHint(unknown string) string {
	names := []string{"all", "exists", "exists_one", "filter", "has", "map"} // CEL's macros
	for name := range e.cel.Functions() {
		if !strings.ContainsAny(name, "_@!-") { // operators
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var own []string
	for _, f := range Functions() {
		own = append(own, f.Name)
	}
	return sdk.DidYouMean(unknown, names, "beyond CEL's own there are "+strings.Join(own, ", "))
}
