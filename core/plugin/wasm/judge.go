package wasm

import (
	"context"
	"encoding/json"

	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/check"
)

// Plug-ins that weren't written for this host can judge too: an expression in the step's
// config turns their output into a verdict.

// compileVerdict compiles a config's verdict.
func compileVerdict(g *guest, source string) (policypoint.ValueExpression, error) {
	expressions := g.instance.driver.options.Expressions
	if expressions == nil {
		return nil, sdk.Errorf(sdk.Invalid, "config_invalid", "the config of plugin %s has a verdict, and this host takes no expressions", g.plugin.Name).
			WithHint("leave verdict out, and have the plugin output the JSON of a verdict")
	}
	x, err := expressions.CompileValue(policypoint.Verdict, source)
	if err != nil {
		e := sdk.Errorf(sdk.Invalid, "config_invalid", "the verdict in the config of plugin %s: %s", g.plugin.Name, sdk.AsError(err).Message)
		e.Hint = sdk.AsError(err).Hint
		return nil, e
	}
	return x, nil
}

// judge returns the JSON of the verdict on an output. The expression gets the output's value
// if it is JSON, and its text otherwise.
func (c *plainConfig) judge(ctx context.Context, output []byte) ([]byte, error) {
	var value any = string(output)
	if check.JSON(output) == nil {
		decoded, err := jsontext.Decode(output)
		if err != nil {
			return nil, check.ResponseInvalid("what function %s outputs: %w", c.Function, err)
		}
		value = decoded
	}
	result, err := c.verdict.Value(ctx, map[string]any{"output": value})
	if err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "verdict_failed", "the verdict over the output of function %s: %w", c.Function, err).
			WithHint("write verdict in the config so that it holds for every output, with has() for keys that may be missing")
	}
	verdict, err := verdictOf(result)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(verdict)
	if err != nil {
		return nil, check.ResponseInvalid("what the verdict in the config gives: %w", err)
	}
	return text, nil
}

// verdictOf turns the result of an expression into a verdict: it is either whether the
// output is valid, or a verdict's fields. If there is no score, it is 1 or 0.
func verdictOf(result any) (map[string]any, error) {
	score := map[bool]float64{true: 1}
	switch v := result.(type) {
	case bool:
		return map[string]any{"valid": v, "score": score[v]}, nil
	case map[string]any:
		valid, ok := v["valid"].(bool)
		if !ok {
			break
		}
		if _, ok := v["score"]; !ok {
			v["score"] = score[valid]
		}
		return v, nil
	}
	return nil, sdk.Errorf(sdk.Invalid, "verdict_failed", "the verdict in the config must give true, false or an object with the field valid").
		WithHint(`write a condition, such as "output.count > 3", or {"valid": …, "score": …, "feedback": …}`)
}
