package luaeval

import (
	"context"
	"encoding/json"

	"github.com/reflectory/reflectory/sdk"
)

// Version is the plugin's version.
const Version = "0.1.0"

// Plugin returns lua-eval as data. It is an evaluator, a generator and a corrector, and
// all three take the same config (see README.md). The values that its prepare functions
// return are safe for concurrent use.
//
// Errors of a prepare function: Invalid with reason config_invalid or lua_syntax,
// Exhausted with lua_memory, and Unavailable with lua_missing if the plugin was built
// without Lua.
func Plugin() sdk.Plugin {
	evaluator := func(_ context.Context, data json.RawMessage) (sdk.Evaluator, error) {
		r, err := prepare(data)
		if err != nil {
			return nil, err
		}
		return evaluator{r}, nil
	}
	return sdk.Plugin{
		Manifest: sdk.Manifest{
			Name:         "lua-eval",
			Version:      Version,
			Description:  "evaluates, generates and corrects with sandboxed Lua 5.4 scripts",
			ConfigSchema: json.RawMessage(configSchema),
			Parallel:     parallel(dataLimit()),
		},
		Evaluator: evaluator,
		Health:    sdk.EvaluatorHealth(evaluator, healthConfig, "1", "2"),
		Generator: func(_ context.Context, data json.RawMessage) (sdk.Generator, error) {
			r, err := prepare(data)
			if err != nil {
				return nil, err
			}
			return generator{r}, nil
		},
		Corrector: func(_ context.Context, data json.RawMessage) (sdk.Corrector, error) {
			r, err := prepare(data)
			if err != nil {
				return nil, err
			}
			return corrector{r}, nil
		},
	}
}

// healthConfig is a script that needs 1 MiB, far more than a state that could only be made.
const healthConfig = `{"code": "local t = {} for i = 1, 16 do t[i] = string.rep(tostring(i), 1 << 15) end return #table.concat(t) > 1 << 19 and output == 1"}`

// runner runs one prepared script. It is safe for concurrent use.
type runner interface {
	// run sets the script's globals and returns the script's result as JSON, or nil if
	// it returned no value. A value without a JSON form is an error of reason
	// lua_result.
	run(ctx context.Context, g *globals) (json.RawMessage, error)
}

// globals are a script's inputs. State and Output are JSON; "" is nil.
type globals struct {
	Verdict   bool // the return value is a verdict: an infinite score is clamped
	Iteration int
	State     json.RawMessage
	Output    json.RawMessage
	Errors    json.RawMessage // nil means that the globals errors and feedback don't exist
	Feedback  string
}

func prepare(data json.RawMessage) (runner, error) {
	c, err := parseConfig(data)
	if err != nil {
		return nil, err
	}
	return compile(c)
}

type evaluator struct{ runner }

// Evaluate runs the script on one output.
func (e evaluator) Evaluate(ctx context.Context, req *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
	if wrong := unfit(req.Output); wrong != nil {
		return &sdk.EvaluateResponse{Verdict: sdk.Verdict{Errors: []sdk.Finding{*wrong}}}, nil
	}
	value, err := e.run(ctx, &globals{
		Verdict: true, Iteration: req.Iteration, State: stateOf(req.State), Output: req.Output,
	})
	var v sdk.Verdict
	switch {
	case sdk.ReasonOf(err) == reasonResult:
		v = refused(sdk.AsError(err).Message)
	case err != nil:
		return nil, err
	default:
		v = verdictOf(value)
	}
	return &sdk.EvaluateResponse{Verdict: v}, nil
}

type generator struct{ runner }

// Generate runs the script, whose return value is the output.
func (g generator) Generate(ctx context.Context, req *sdk.GenerateRequest) (*sdk.GenerateResponse, error) {
	out, err := g.run(ctx, &globals{Iteration: req.Iteration, State: stateOf(req.State)})
	if err == nil && out == nil {
		err = noValue()
	}
	if err != nil {
		return nil, err
	}
	return &sdk.GenerateResponse{Output: out}, nil
}

type corrector struct{ runner }

// Correct runs the script, whose return value is the next attempt.
func (c corrector) Correct(ctx context.Context, req *sdk.CorrectRequest) (*sdk.CorrectResponse, error) {
	findings := req.Errors
	if findings == nil {
		findings = []sdk.Finding{}
	}
	list, err := json.Marshal(findings)
	if err != nil {
		return nil, sdk.Errorf(sdk.Internal, "", "encode the errors for the script: %w", err)
	}
	out, err := c.run(ctx, &globals{
		Iteration: req.Iteration, State: stateOf(req.State), Output: req.Output,
		Errors: list, Feedback: req.Feedback,
	})
	if err == nil && out == nil {
		err = noValue()
	}
	if err != nil {
		return nil, err
	}
	return &sdk.CorrectResponse{Output: out}, nil
}

func stateOf(state json.RawMessage) json.RawMessage {
	if len(state) == 0 {
		return json.RawMessage("{}")
	}
	return shown(state)
}

// reasonResult is the reason of errors about what a script returned, and reasonInput about
// what it was to be given.
const (
	reasonResult = "lua_result"
	reasonInput  = "lua_input"
)

func noValue() error {
	return sdk.Errorf(sdk.Invalid, reasonResult, "the script returned no value, so there is no output").
		WithHint("return the new output, or null for JSON null")
}
