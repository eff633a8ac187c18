// Package commandeval judges an output by a program of the machine: tests, a compiler, a linter.
//
//	config ─► prepare ─► output ─► put into a workspace ─► the host runs the program ─► report + exit status ─► verdict
//
// The plugin starts nothing. The host's service exec runs the program in a sandbox of its own, so
// the plugin shares no process, user or folder with it, and what the program wrote is only read
// here. The exit status is the host's own wait; a report must agree with it. What a report from
// inside the judged program is worth is said in the verdict (in_process).
//
// It is internal to Reflectory: its API may change in any release.
package commandeval

import (
	"context"
	"encoding/json"

	"github.com/reflectory/reflectory/plugins/command-eval/report"
	"github.com/reflectory/reflectory/plugins/internal/expression"
	"github.com/reflectory/reflectory/sdk"
)

// parallel is how many programs run at once. Each is itself as parallel as it likes, and has the
// memory that its limits say.
const parallel = 2

// Plugin is the plugin as data. It is an evaluator, a generator and a corrector, and all three
// take the same config (see README.md).
func Plugin() sdk.Plugin {
	return sdk.Plugin{
		Manifest: sdk.Manifest{
			Name:         "command-eval",
			Version:      "0.1.0",
			Description:  "Judges, generates and corrects with programs of the machine",
			ConfigSchema: json.RawMessage(configSchema),
			Capabilities: []string{"host:" + string(sdk.ServiceExec)},
			Parallel:     parallel,
		},
		Evaluator: func(_ context.Context, data json.RawMessage) (sdk.Evaluator, error) { return prepare(data) },
		Generator: func(_ context.Context, data json.RawMessage) (sdk.Generator, error) { return prepare(data) },
		Corrector: func(_ context.Context, data json.RawMessage) (sdk.Corrector, error) { return prepare(data) },
		Health: func(context.Context) error {
			r, err := report.Read(report.Lines, "a.go:1:2: wrong\n")
			if err == nil && r.Found != 1 {
				err = sdk.Errorf(sdk.Internal, "verdict_wrong", "a report with one finding has %d", r.Found)
			}
			return err
		},
	}
}

// command is a prepared config. It never changes, so it is safe for concurrent use.
type command struct {
	*config
	rule *expression.Expression
}

func prepare(data json.RawMessage) (*command, error) {
	c, err := parseConfig(data)
	if err != nil {
		return nil, err
	}
	rule, err := compile(c.CEL)
	return &command{c, rule}, err
}

// Evaluate runs the program on one output.
func (c *command) Evaluate(ctx context.Context, req *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
	request, wrong := c.request(req.Output, &input{Iteration: req.Iteration, State: req.State, Output: req.Output})
	if wrong != nil {
		return &sdk.EvaluateResponse{Verdict: sdk.Verdict{Errors: []sdk.Finding{*wrong}}}, nil
	}
	resp, err := sdk.Exec(ctx, request)
	if err != nil {
		return nil, err
	}
	v, err := c.verdict(ctx, resp)
	if v, err = c.compare(ctx, request, resp, v, err); err != nil {
		return nil, err
	}
	return &sdk.EvaluateResponse{Verdict: *v, Metadata: c.facts(resp)}, nil
}

// Generate runs the program, whose output is the attempt.
func (c *command) Generate(ctx context.Context, req *sdk.GenerateRequest) (*sdk.GenerateResponse, error) {
	output, facts, err := c.output(ctx, nil, &input{Iteration: req.Iteration, State: req.State})
	if err != nil {
		return nil, err
	}
	return &sdk.GenerateResponse{Output: output, Metadata: facts}, nil
}

// Correct runs the program with the attempt, and its output is the next one.
func (c *command) Correct(ctx context.Context, req *sdk.CorrectRequest) (*sdk.CorrectResponse, error) {
	in := &input{Iteration: req.Iteration, State: req.State, Output: req.Output, Errors: req.Errors, Feedback: req.Feedback}
	output, facts, err := c.output(ctx, req.Output, in)
	if err != nil {
		return nil, err
	}
	return &sdk.CorrectResponse{Output: output, Metadata: facts}, nil
}

// output runs the program and returns its report, or else what it printed, as text.
func (c *command) output(ctx context.Context, attempt json.RawMessage, in *input) (json.RawMessage, map[string]string, error) {
	request, wrong := c.request(attempt, in)
	if wrong != nil {
		return nil, nil, sdk.Errorf(sdk.Conflict, "attempt_unfit", "%s", wrong.Message)
	}
	resp, err := sdk.Exec(ctx, request)
	if err != nil {
		return nil, nil, err
	}
	switch why := c.unusable(resp); {
	case why != "":
		// A failed program made nothing usable, which counts as an attempt.
		return nil, nil, sdk.Errorf(sdk.Conflict, "command_failed", "%s: %s", c.name(), why).
			WithDetail("output", c.end(resp))
	case c.classify(resp.Exit) == fault:
		return nil, nil, c.fault(resp)
	}
	text := resp.Stdout
	if c.ReportFile != "" {
		text = resp.Report
	}
	output, err := json.Marshal(text)
	if err != nil {
		return nil, nil, sdk.Errorf(sdk.Internal, "", "encode the output: %w", err)
	}
	return output, c.facts(resp), nil
}
