package commandeval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"

	"github.com/reflectory/reflectory/plugins/command-eval/report"
	"github.com/reflectory/reflectory/sdk"
)

// Bounds of expressions. What they read may come from the code under test.
const (
	maxExpression = 16 << 10
	// maxText is how much of each text an expression reads.
	maxText = 1 << 20
	// maxCost is in cel-go's units: a search for a pattern of 50 characters in a text of maxText.
	maxCost = 3_000_000
	// maxEvaluation is how long an evaluation takes at most, and interruptEvery how many steps of
	// a comprehension are between two looks at the clock.
	maxEvaluation  = 5 * time.Second
	interruptEvery = 100
)

// expression is a CEL expression over what the host saw. It says whether the output passes, or
// gives its score, or both with a message.
type expression struct{ program cel.Program }

func compile(source string) (*expression, error) {
	if source == "" {
		return nil, nil
	}
	if len(source) > maxExpression {
		return nil, wrongExpression(fmt.Errorf("it is longer than %d bytes", maxExpression))
	}
	text := cel.StringType
	env, err := cel.NewEnv(cel.Variable("exit", cel.IntType), cel.Variable("stdout", text), cel.Variable("stderr", text),
		cel.Variable("report", text), cel.Variable("json", cel.DynType), cel.CrossTypeNumericComparisons(true))
	if err != nil {
		return nil, wrongExpression(err)
	}
	checked, issues := env.Compile(source)
	if err := issues.Err(); err != nil {
		return nil, wrongExpression(err)
	}
	switch checked.OutputType().Kind() {
	case types.BoolKind, types.DoubleKind, types.IntKind, types.DynKind, types.MapKind:
	default:
		return nil, wrongExpression(fmt.Errorf("it gives %s, neither a condition, a score nor an object of valid, score and message", checked.OutputType()))
	}
	program, err := env.Program(checked, cel.CostLimit(maxCost), cel.InterruptCheckFrequency(interruptEvery))
	if err != nil {
		return nil, wrongExpression(err)
	}
	return &expression{program}, nil
}

func wrongExpression(err error) error {
	return sdk.Errorf(sdk.Invalid, "config_invalid", "command-eval config: report.cel: %w", err).
		WithHint("write a CEL expression over exit, stdout, stderr, report and json, such as exit == 0 && json.errors == 0")
}

// judge evaluates the expression. What can't be evaluated isn't valid: the program's output
// decides that, and it may be hostile.
func (x *expression) judge(ctx context.Context, resp *sdk.ExecResponse) (*sdk.Verdict, error) {
	ctx, cancel := context.WithTimeout(ctx, maxEvaluation)
	defer cancel()
	var parsed any
	for _, text := range []string{resp.Report, resp.Stdout} {
		if len(text) <= maxText && json.Unmarshal([]byte(text), &parsed) == nil {
			break
		}
	}
	result, _, err := x.program.ContextEval(ctx, map[string]any{
		"exit": resp.Exit, "stdout": cut(resp.Stdout), "stderr": cut(resp.Stderr), "report": cut(resp.Report), "json": parsed,
	})
	if err != nil {
		return &sdk.Verdict{Errors: []sdk.Finding{{Message: "the expression can't be evaluated: " + last(report.Plain(err.Error()), 500), Code: reportCEL}}}, nil
	}
	as := reflect.TypeFor[any]()
	if result.Type() == types.MapType {
		as = reflect.TypeFor[map[string]any]()
	}
	native, err := result.ConvertToNative(as)
	if err == nil {
		var v *sdk.Verdict
		if v, err = verdictOf(native); err == nil {
			return v, nil
		}
	}
	return &sdk.Verdict{Errors: []sdk.Finding{{Message: "the expression gives no verdict: " + err.Error(), Code: reportCEL}}}, nil
}

// verdictOf reads a condition, a score, or an object of both.
func verdictOf(value any) (*sdk.Verdict, error) {
	v := &sdk.Verdict{}
	switch value := value.(type) {
	case bool:
		v.Valid = value
		if value {
			v.Score = 1
		}
	case float64:
		v.Score, v.Valid = value, value >= 1
	case int64:
		v.Score, v.Valid = float64(value), value >= 1
	default:
		return objectVerdict(value)
	}
	if err := v.Check(); err != nil {
		return nil, err
	}
	if !v.Valid {
		v.Errors = []sdk.Finding{{Message: "the expression isn't true", Code: reportCEL}}
	}
	return v, nil
}

func objectVerdict(value any) (*sdk.Verdict, error) {
	var o struct {
		Valid   *bool
		Score   *float64
		Message string
	}
	data, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(data, &o)
	}
	if err != nil || o.Valid == nil {
		return nil, errors.New("it gives neither a condition, a score nor an object with valid")
	}
	v := &sdk.Verdict{Valid: *o.Valid}
	switch {
	case o.Score != nil:
		v.Score = *o.Score
	case v.Valid:
		v.Score = 1
	}
	if o.Message != "" || !v.Valid {
		v.Errors = []sdk.Finding{{Message: report.Plain(last(o.Message+" ", 2000)), Code: reportCEL}}
	}
	if o.Message == "" && !v.Valid {
		v.Errors[0].Message = "the expression isn't true"
	}
	return v, v.Check()
}

func cut(text string) string { return text[:min(len(text), maxText)] }
