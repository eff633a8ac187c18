// Package expression compiles and evaluates the CEL expressions of the shipped evaluators' configs. What an
// expression may cost is bounded before and while it runs, since what it reads may be hostile.
//
// It is internal to Reflectory: its API may change in any release.
package expression

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/env"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/ext"
	"github.com/google/cel-go/interpreter"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/reflectory/reflectory/plugins/internal/schema"
	"github.com/reflectory/reflectory/policy/celcost"
)

// Bounds of expressions and patterns.
const (
	maxBytes = 16 << 10
	// Cost is what an evaluation of an expression over an output may cost, in cel-go's units:
	// 0.03 s for most, and about 1 s for loops in loops, where counting takes quadratic time.
	Cost = 250_000
	// maxTime is how long an evaluation takes at most: where counting takes quadratic time, it may be reached first.
	maxTime        = 20 * time.Second
	maxNesting     = 100 // levels of brackets and operators
	maxParseErrors = 20
	// MaxInput is the largest value that expressions should be given, in bytes as JSON: split makes lists
	// that take fifty times as much memory.
	MaxInput = 1 << 20
	// MaxPatternSize is the largest program of a pattern, in instructions: with it, a text of 20 KB takes
	// 100 million steps, which is 2 to 4 s. A pattern for e-mail addresses or dates has 50 to 500.
	MaxPatternSize  = 5_000
	maxPatternBytes = 10_000
	// stepsPerCost is how many steps of a match are a unit of cel-go's cost, each an instruction of a pattern's
	// program for a byte of the text.
	stepsPerCost = 10
)

// newEnvironment declares what expressions may name. Functions that make a text far longer than
// their arguments, whose cost is counted only afterwards, are left out; patterns are bounded.
func newEnvironment(cost int, variables []string) (*cel.Env, error) {
	text := cel.StringType
	removed := func(name string, overloads ...cel.FunctionOpt) cel.EnvOption {
		return cel.Function(name, append(overloads, cel.DisableDeclaration(true))...)
	}
	matches := func(text, pattern ref.Val) ref.Val {
		return matchBounded(string(text.(types.String)), string(pattern.(types.String)), cost*stepsPerCost)
	}
	e, err := cel.NewCustomEnv(
		cel.StdLib(cel.StdLibSubset(env.NewLibrarySubset().AddExcludedFunctions(env.NewFunction("matches")))),
		cel.Function("matches",
			cel.Overload("matches_text", []*cel.Type{text, text}, cel.BoolType, cel.BinaryBinding(matches)),
			cel.MemberOverload("text_matches", []*cel.Type{text, text}, cel.BoolType, cel.BinaryBinding(matches))),
		ext.Strings(ext.StringsVersion(5)),
		removed("format", cel.MemberOverload("string_format", []*cel.Type{text, cel.ListType(cel.DynType)}, text)),
		removed("replace", cel.MemberOverload("string_replace_string_string", []*cel.Type{text, text, text}, text),
			cel.MemberOverload("string_replace_string_string_int", []*cel.Type{text, text, text, cel.IntType}, text)),
		removed("join", cel.MemberOverload("list_join", []*cel.Type{cel.ListType(text)}, text),
			cel.MemberOverload("list_join_string", []*cel.Type{cel.ListType(text), text}, text)),
		cel.CrossTypeNumericComparisons(true), cel.DefaultUTCTimeZone(true), cel.OptionalTypes(),
		cel.ParserRecursionLimit(maxNesting), cel.ParserErrorRecoveryLimit(maxParseErrors),
	)
	for _, name := range variables {
		if err == nil {
			e, err = e.Extend(cel.Variable(name, cel.DynType))
		}
	}
	return e, err
}

// matchCost counts the size of a pattern's program, which cel-go doesn't.
type matchCost struct{}

// CallCost implements interpreter.ActualCostEstimator.
func (matchCost) CallCost(function, _ string, args []ref.Val, _ ref.Val) *uint64 {
	if function != "matches" {
		return nil
	}
	cost := uint64(1)
	if text, pattern := args[0].(types.String), args[1].(types.String); len(pattern) <= maxPatternBytes {
		cost += uint64(len(text) * schema.PatternSize(string(pattern)) / stepsPerCost)
	}
	return &cost
}

// matchBounded matches a text by a pattern, which an expression may have made of the output.
func matchBounded(text, pattern string, maxSteps int) ref.Val {
	re, size, err := CompilePattern(pattern)
	if err != nil {
		return types.WrapErr(err)
	}
	if len(text)*size > maxSteps {
		return types.NewErr("the pattern %.60q would take too long on a text of %d bytes", re.String(), len(text))
	}
	return types.Bool(re.MatchString(text))
}

// Expression is a compiled expression. It is safe for concurrent use.
type Expression struct {
	source  string
	cost    int
	program cel.Program
}

// Compile compiles an expression over the named variables, whose types aren't known before, and which gives a boolean, a
// score or an object. An evaluation may cost that much. The problems are what is wrong with it, each with its place; there are none if
// there is an expression.
func Compile(source string, cost int, variables ...string) (x *Expression, problems []string) {
	if strings.TrimSpace(source) == "" || len(source) > maxBytes {
		return nil, []string{fmt.Sprintf("must be a CEL expression (limit %d bytes)", maxBytes)}
	}
	environment, err := newEnvironment(cost, variables)
	if err != nil {
		return nil, []string{err.Error()}
	}
	checked, issues := environment.Compile(source)
	for _, issue := range issues.Errors() {
		problems = append(problems, fmt.Sprintf("line %d, column %d: %s", issue.Location.Line(), issue.Location.Column()+1, issue.Message))
	}
	if len(problems) > 0 {
		return nil, problems
	}
	results := []types.Kind{types.BoolKind, types.IntKind, types.DoubleKind, types.DynKind, types.MapKind}
	if kind := checked.OutputType(); !slices.Contains(results, kind.Kind()) {
		return nil, []string{fmt.Sprintf("gives %s, neither a condition, a score nor an object with the field valid", kind)}
	}
	program, err := environment.Program(checked, celcost.Options(uint64(cost), matchCost{})...)
	if err != nil {
		return nil, []string{err.Error()}
	}
	return &Expression{source, cost, program}, nil
}

// Names reports whether the expression's text has a word, without which it can't name what is called so.
func (x *Expression) Names(word string) bool { return strings.Contains(x.source, word) }

// String is the expression's source.
func (x *Expression) String() string { return x.source }

// Object evaluates the expression over decoded JSON. The result is an object with the field valid, which is true or
// false, and score, which is from 0 to 1 and 1 or 0 by default; and with what else the expression gave. The error is
// what kept it from being evaluated, such as a member that isn't there.
func (x *Expression) Object(ctx context.Context, variables map[string]any) (object map[string]any, err error) {
	values := make(map[string]any, len(variables))
	for name, v := range variables {
		values[name] = native(v)
	}
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	out, _, err := x.program.ContextEval(ctx, values)
	var stopped interpreter.EvalCancelledError
	if errors.As(err, &stopped) && stopped.Cause == interpreter.CostLimitExceeded {
		return nil, fmt.Errorf("it was stopped at the cost limit, %d units of work: look at fewer or shorter values", x.cost)
	}
	if err != nil {
		return nil, err
	}
	switch v := out.(type) {
	case types.Bool:
		return map[string]any{"valid": bool(v), "score": map[bool]float64{true: 1}[bool(v)]}, nil
	case types.Int, types.Double:
		score, _ := v.ConvertToType(types.DoubleType).(types.Double)
		return scored(map[string]any{"valid": score >= 1, "score": float64(score)})
	}
	converted, err := out.ConvertToNative(reflect.TypeFor[*structpb.Value]())
	if err != nil {
		return nil, fmt.Errorf("it gives a value of type %s, neither true or false, a score nor an object with the field valid", out.Type().TypeName())
	}
	object, _ = converted.(*structpb.Value).AsInterface().(map[string]any)
	valid, ok := object["valid"].(bool)
	if !ok {
		return nil, fmt.Errorf("it gives neither true or false, a score nor an object whose field valid is true or false")
	}
	if object["score"] == nil {
		object["score"] = map[bool]float64{true: 1}[valid]
	}
	return scored(object)
}

// scored checks the score of an object.
func scored(object map[string]any) (map[string]any, error) {
	score, ok := object["score"].(float64)
	if !ok || math.IsNaN(score) {
		return nil, fmt.Errorf("it gives a score that is not a number")
	}
	object["score"] = min(1, max(0, score))
	return object, nil
}

// CompilePattern compiles a regular expression (RE2), and returns the size of its program.
func CompilePattern(text string) (*regexp.Regexp, int, error) {
	if len(text) > maxPatternBytes {
		return nil, 0, fmt.Errorf("the regular expression has %d bytes (limit %d)", len(text), maxPatternBytes)
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, 0, err
	}
	size := schema.PatternSize(text)
	if size > MaxPatternSize {
		return nil, 0, fmt.Errorf("the regular expression makes a program of %d instructions (limit %d): repeat less in it, as {1000} makes a thousand copies", size, MaxPatternSize)
	}
	return re, size, nil
}

// native turns decoded JSON into values of CEL: whole numbers that fit are int, others double.
func native(v any) any {
	switch v := v.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i
		}
		f, err := v.Float64()
		if err != nil && !math.IsInf(f, 0) {
			return math.NaN()
		}
		return f
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = native(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = native(e)
		}
		return out
	}
	return v
}
