package commandeval

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/reflectory/reflectory/plugins/command-eval/report"
	"github.com/reflectory/reflectory/plugins/internal/expression"
	"github.com/reflectory/reflectory/sdk"
)

// Bounds of expressions. What they read may come from the code under test.
const (
	// maxText is how much of each text an expression reads.
	maxText = 1 << 20
	// maxCost is in cel-go's units: a search for a pattern of 30 characters in a text of maxText.
	maxCost = 3_000_000
)

// compile compiles a CEL expression over what the host saw. It says whether the output passes, or
// gives its score, or an object of both with a message.
func compile(source string) (*expression.Expression, error) {
	if source == "" {
		return nil, nil
	}
	x, problems := expression.Compile(source, maxCost, "exit", "stdout", "stderr", "report", "json")
	if len(problems) > 0 {
		return nil, sdk.Errorf(sdk.Invalid, "config_invalid", "command-eval config: report.cel: %s", strings.Join(problems, "; ")).
			WithHint("write a CEL expression over exit, stdout, stderr, report and json, such as exit == 0 && json.errors == 0")
	}
	return x, nil
}

// evaluate evaluates the rule. What can't be evaluated isn't valid: the program's output
// decides that, and it may be hostile.
func (c *command) evaluate(ctx context.Context, resp *sdk.ExecResponse) *sdk.Verdict {
	var parsed any
	for _, text := range []string{resp.Report, resp.Stdout} {
		if len(text) <= maxText && json.Unmarshal([]byte(text), &parsed) == nil {
			break
		}
	}
	o, err := c.rule.Object(ctx, map[string]any{
		"exit": resp.Exit, "stdout": cut(resp.Stdout), "stderr": cut(resp.Stderr), "report": cut(resp.Report), "json": parsed,
	})
	if err != nil {
		return &sdk.Verdict{Errors: []sdk.Finding{{Message: "the expression can't be evaluated: " + last(report.Plain(err.Error()), 500), Code: reportCEL}}}
	}
	v := &sdk.Verdict{}
	v.Valid, _ = o["valid"].(bool)
	v.Score, _ = o["score"].(float64)
	message, _ := o["message"].(string)
	if message == "" && !v.Valid {
		message = "the expression isn't true"
	}
	if message != "" {
		v.Errors = []sdk.Finding{{Message: report.Plain(last(message, 2000)), Code: reportCEL}}
	}
	return v
}

func cut(text string) string { return text[:min(len(text), maxText)] }
