// Package checkseval judges an output by a list of checks that need no model: its length, patterns,
// texts that must be in it, equality, numbers, similarity, forms and expressions. Each check has a
// score, and says what is wrong and where. It reads no file and no network.
//
//	config ─► prepare (compile once) ─► output ─► select by at ─► each check ─► verdict
//
// Outputs may be hostile: all checks of one output share a budget of steps (evaluation.go), and an
// output that is too large to be checked is a bad output, never a failure of the evaluator.
//
// It is internal to Reflectory: its API may change in any release.
package checkseval

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"github.com/reflectory/reflectory/plugins/internal/schema"
	"github.com/reflectory/reflectory/sdk"
)

// maxFindings limits the findings of a verdict: more than anyone corrects at once.
const maxFindings = 50

// Plugin is the evaluator as data.
func Plugin() sdk.Plugin {
	evaluator := func(_ context.Context, config json.RawMessage) (sdk.Evaluator, error) { return prepare(config) }
	return sdk.Plugin{
		Manifest: sdk.Manifest{
			Name:         "checks-eval",
			Version:      "0.1.0",
			Description:  "Judges outputs by checks that need no model",
			ConfigSchema: json.RawMessage(configSchema),
			// Evaluations share only what is compiled, which is read-only. Each may take tens of
			// MiB for a large output.
			Parallel: 4,
		},
		Evaluator: evaluator,
		Health: sdk.EvaluatorHealth(evaluator,
			`{"all": [{"max_chars": 10}, {"not_matches": "(?i)as an ai"}, {"cel": "output.startsWith('a')"}]}`,
			`"all well"`, `"As an AI"`),
	}
}

// evaluator judges outputs by its checks. It never changes, so it is safe for concurrent use.
type evaluator struct{ checks []check }

// check is one prepared check.
type check struct {
	// name is unique among the checks of a config: the kind, or the kind and a number.
	name string
	kind string
	// rule is the JSON Pointer to the check in the config.
	rule string
	// at selects the value that is judged; "" is the whole output.
	at    string
	judge judge
}

// judge judges one value.
type judge func(in *input) result

// input is what a check sees.
type input struct {
	// value is the selected value, decoded with exact numbers, and path the JSON Pointer to it.
	value any
	path  string
	*evaluation
}

// result is a check's score in [0,1] and what is wrong, nothing if the check passed.
type result struct {
	score    float64
	findings []sdk.Finding
}

func passed() result { return result{score: 1} }

// fail is a result with one finding. A failed check never has the full score.
func (in *input) fail(score float64, format string, args ...any) result {
	return failAt(in.path, score, format, args...)
}

func failAt(path string, score float64, format string, args ...any) result {
	return result{min(score, 0.999), []sdk.Finding{{Message: fmt.Sprintf(format, args...), Path: path}}}
}

// Evaluate judges one output: valid if each check passed, with the mean of their scores.
func (e *evaluator) Evaluate(ctx context.Context, req *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
	output, err := schema.Decode(req.Output, schema.MaxOutputBytes)
	if err != nil {
		if sdk.ReasonOf(err) != "json_limit" {
			return nil, sdk.Wrap("read the output", err)
		}
		return &sdk.EvaluateResponse{Verdict: sdk.Verdict{Errors: []sdk.Finding{{Message: "the output has " + err.Error(), Code: "limit"}}}}, nil
	}
	v := sdk.Verdict{Valid: true, Children: make(map[string]sdk.Verdict, len(e.checks))}
	one := &evaluation{ctx: ctx, output: output, state: req.State, left: maxSteps}
	for _, c := range e.checks {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r := c.run(one)
		child := sdk.Verdict{Valid: len(r.findings) == 0, Score: rounded(r.score), Errors: r.findings}
		for i := range child.Errors {
			child.Errors[i].Code, child.Errors[i].SchemaPath, child.Errors[i].Source = c.kind, c.rule, c.name
		}
		v.Children[c.name] = child
		v.Valid = v.Valid && child.Valid
		v.Score += r.score
		v.Errors = append(v.Errors, child.Errors...)
	}
	v.Score = rounded(v.Score / float64(len(e.checks)))
	v.Errors = listed(v.Errors)
	return &sdk.EvaluateResponse{Verdict: v}, nil
}

// run selects the check's value and judges it.
func (c *check) run(e *evaluation) result {
	value, wrong := lookUp(e.output, c.at)
	if wrong != "" {
		return failAt(c.at, 0, "%s", wrong)
	}
	return c.judge(&input{value, c.at, e})
}

// rounded keeps four digits, so that a mean of thirds is the same on every machine.
func rounded(score float64) float64 { return math.Round(score*1e4) / 1e4 }

func listed(findings []sdk.Finding) []sdk.Finding {
	if len(findings) <= maxFindings {
		return findings
	}
	more := fmt.Sprintf("%d further findings are not listed", len(findings)-maxFindings)
	return append(findings[:maxFindings:maxFindings], sdk.Finding{Message: more, Severity: "info"})
}
