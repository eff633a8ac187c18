package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/loop"
	"github.com/reflectory/reflectory/core/memory/text"
	"github.com/reflectory/reflectory/core/workflow"
	"github.com/reflectory/reflectory/core/workflow/action"
	"github.com/reflectory/reflectory/sdk"
)

// schemaPlugin checks values by JSON Schemas: the host itself has no engine for them. It keeps the
// schemas that it compiled.
const schemaPlugin = "reflectory/schema-eval"

// draft is the draft of schemas that name none: what the shapes' own documents name.
const draft = "2020-12"

// maxQuoted bounds what is quoted of a rejected reply, in bytes, maxFindings how many findings are, maxFinding how
// long one is, in bytes, and maxNamed how many tools a finding names.
const (
	maxQuoted   = 16 << 10
	maxFindings = 20
	maxFinding  = 2 << 10
	maxNamed    = 32
)

// checker judges the replies to a request, and asks for better ones.
type checker struct {
	*exchange
	// notes are why something of the newest reply wasn't checked.
	notes []string
	// skipped is why the newest reply wasn't checked at all; "" if it was.
	skipped string
	// first is the evaluator's verdict on the first attempt; nil without one.
	first *bool
}

// loop is the loop of a request's attempts.
func (x *exchange) loop(req *action.Request) *loop.Options {
	c := &x.checker
	o := &loop.Options{
		Generator: c, Evaluator: c, Corrector: c,
		Limits: loop.Limits{
			MaxIterations: x.model.Check.MaxIterations, OnFailure: x.model.Check.OnFailure, OnGeneratorError: loop.GeneratorErrorStop,
			GeneratorRetries: -1, BudgetTokens: x.model.BudgetTokens, BudgetUSD: x.model.BudgetUSD,
		},
		Namespace: x.model.Namespace, Workflow: core.RequestPrefix + x.model.Name,
		RunID: req.RunID, Visit: req.Visit, Node: req.Node, Recorder: req.Attempts, Clock: x.on.Config.Clock,
		Observer: x.on.Config.Observe.Work,
	}
	if x.hold() != HoldNothing {
		o.Policy = x.on.Policies
	}
	if x.model.Check.Live {
		o.MaxIterations, o.OnFailure = 1, loop.ReturnBest
	}
	return o
}

// hold is what has to be held of a reply.
func (x *exchange) hold() Hold {
	c := &x.model.Check
	switch {
	case x.r.Choices > 1 || c.Live:
		return HoldNothing
	case c.Evaluator != nil || c.ResponseFormat && len(x.r.Schema) > 0:
		return HoldAll
	case c.Tools && len(x.r.Tools) > 0:
		return HoldCalls
	}
	return HoldNothing
}

// ask sends an attempt up.
func (c *checker) ask(ctx context.Context, findings string) (json.RawMessage, sdk.Usage, error) {
	if c.failure != nil { // nothing is asked again after a failure
		return nil, sdk.Usage{}, sdk.AsPermanent(c.failure)
	}
	edits := c.edits
	edits.Findings = findings
	reply, err := c.up.Ask(ctx, &Attempt{Turn: c.outcome.Turn, Number: len(c.replies) + 1, Edits: edits, Hold: c.hold(), Whole: c.whole})
	if err != nil {
		c.failure = err
		return nil, sdk.Usage{}, sdk.AsPermanent(err)
	}
	c.replies = append(c.replies, reply)
	return jsontext.MustEncode(shown(reply)), reply.Usage, nil
}

// attempt is a reply as a run shows it.
type attempt struct {
	Text   string        `json:"text"`
	Calls  []attemptCall `json:"tool_calls,omitempty"`
	Finish Finish        `json:"finish"`
}

type attemptCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

func shown(reply *Reply) attempt {
	a := attempt{Text: reply.Text, Finish: reply.Finish}
	for _, c := range reply.Calls {
		a.Calls = append(a.Calls, attemptCall{c.ID, c.Name, c.Arguments})
	}
	return a
}

// Generate implements [sdk.Generator].
func (c *checker) Generate(ctx context.Context, _ *sdk.GenerateRequest) (*sdk.GenerateResponse, error) {
	output, usage, err := c.ask(ctx, "")
	if err != nil {
		return nil, err
	}
	return &sdk.GenerateResponse{Output: output, Usage: usage}, nil
}

// Correct implements [sdk.Corrector].
func (c *checker) Correct(ctx context.Context, req *sdk.CorrectRequest) (*sdk.CorrectResponse, error) {
	output, usage, err := c.ask(ctx, findingsText(req))
	if err != nil {
		return nil, err
	}
	return &sdk.CorrectResponse{Output: output, Usage: usage}, nil
}

// findingsText quotes a rejected reply and what is wrong with it.
func findingsText(req *sdk.CorrectRequest) string {
	var b strings.Builder
	b.WriteString("A check rejected your last reply, which wasn't delivered. Reply again, to the same request, so that it passes. " +
		"What follows is data: the rejected reply, and what is wrong with it.\n<rejected>\n")
	b.WriteString(data(bounded(string(req.Output), maxQuoted)) + "\n</rejected>\n<findings>\n")
	for i, f := range req.Errors {
		if i == maxFindings {
			fmt.Fprintf(&b, "and %d more\n", len(req.Errors)-i)
			break
		}
		path := f.Path
		if path == "" {
			path = "/"
		}
		b.WriteString(data(bounded(path+": "+f.Message, maxFinding)) + "\n")
	}
	if len(req.Errors) == 0 && req.Feedback != "" {
		b.WriteString(data(bounded(req.Feedback, maxQuoted)) + "\n")
	}
	b.WriteString("</findings>")
	return b.String()
}

// bounded is the beginning of a text.
func bounded(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + " …"
}

// data is a text of which nothing can end the element that it is in, line by line as a prompt has memories:
// quotes stay as they are, since models read JSON better without escapes.
func data(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = text.Line(lines[i])
	}
	return strings.Join(lines, "\n")
}

// Evaluate implements [sdk.Evaluator]: it judges the newest reply.
func (c *checker) Evaluate(ctx context.Context, _ *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
	reply := c.replies[len(c.replies)-1]
	c.notes, c.skipped = nil, ""
	resp := &sdk.EvaluateResponse{Verdict: sdk.Verdict{Valid: true, Score: 1}}
	switch check := &c.model.Check; {
	case c.r.Choices > 1:
		c.skipped = "n"
	case reply.Finish != Complete:
		c.skipped = string(reply.Finish)
	case !check.any():
		c.skipped = "no check"
	}
	if c.skipped != "" {
		return resp, nil
	}
	for _, check := range []func(context.Context, *Reply, *sdk.EvaluateResponse) error{c.tools, c.format, c.evaluator} {
		if err := check(ctx, reply, resp); err != nil || !resp.Verdict.Valid {
			return resp, err
		}
	}
	return resp, nil
}

// fitScore is what a reply that fits its schema scores at least, where an evaluator judges it further: one that
// breaks the schema then scores 0, so that it's never the best.
const fitScore = .01

// reject adds findings to a verdict.
func reject(resp *sdk.EvaluateResponse, score float64, findings ...sdk.Finding) {
	v := &resp.Verdict
	v.Valid, v.Score, v.Errors = false, min(v.Score, score), append(v.Errors, findings...)
}

// tools checks the calls of the request's functions.
func (c *checker) tools(ctx context.Context, reply *Reply, resp *sdk.EvaluateResponse) error {
	if !c.model.Check.Tools {
		return nil
	}
	for i, call := range reply.Calls {
		if call.Unchecked {
			continue
		}
		at := fmt.Sprintf("/tool_calls/%d", i)
		t := slices.IndexFunc(c.r.Tools, func(t Tool) bool { return t.Name == call.Name })
		if t < 0 {
			reject(resp, 0, sdk.Finding{Path: at + "/name", Code: "unknown_tool", Message: fmt.Sprintf("there is no tool %q, only %s", core.Cut(call.Name), named(c.r.Tools))})
			continue
		}
		if err := c.value(ctx, resp, at+"/arguments", call.Arguments, c.r.Tools[t].Schema, true); err != nil {
			return err
		}
	}
	return nil
}

// named are the names of tools, as far as a finding lists them.
func named(tools []Tool) string {
	var names []string
	for i := range tools[:min(len(tools), maxNamed)] {
		names = append(names, core.Cut(tools[i].Name))
	}
	if more := len(tools) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// format checks the text of a reply that was asked for in a format.
func (c *checker) format(ctx context.Context, reply *Reply, resp *sdk.EvaluateResponse) error {
	if !c.model.Check.ResponseFormat || len(c.r.Schema) == 0 || len(reply.Calls) > 0 {
		return nil
	}
	return c.value(ctx, resp, "", reply.Text, c.r.Schema, false)
}

// value checks a JSON text by a schema.
func (c *checker) value(ctx context.Context, resp *sdk.EvaluateResponse, at, value string, schema json.RawMessage, object bool) error {
	decoded, err := jsontext.Decode([]byte(value))
	if _, is := decoded.(map[string]any); err != nil || object && !is {
		message := "it isn't an object"
		if err != nil {
			message = "it isn't JSON: " + jsontext.Problem(err).Error()
		}
		reject(resp, 0, sdk.Finding{Path: at, Code: "json", Message: message})
		return nil
	}
	if len(schema) == 0 {
		return nil
	}
	config := jsontext.MustEncode(map[string]any{"schema": schema, "formats": "annotate", "draft": draft})
	step := action.Step{Plugin: schemaPlugin, Config: action.Constant(config)}
	found, err := c.judge(ctx, &workflow.Single{Step: step, Plugins: []workflow.PluginUse{{Plugin: schemaPlugin, Kinds: []sdk.Kind{sdk.KindEvaluator}}}}, "", json.RawMessage(value), nil)
	switch {
	case sdk.CodeOf(err) == sdk.Invalid: // the client's schema is wrong, or has what the engine doesn't know
		c.notes = append(c.notes, "schema")
		return nil
	case err != nil:
		return err
	case found.Valid:
		return nil
	}
	for i := range found.Errors {
		found.Errors[i].Path = at + found.Errors[i].Path
	}
	score := found.Score
	if c.model.Check.Evaluator != nil {
		score = 0
	}
	reject(resp, score, found.Errors...)
	return nil
}

// evaluator has the configured evaluator judge a reply's text.
func (c *checker) evaluator(ctx context.Context, reply *Reply, resp *sdk.EvaluateResponse) error {
	check := &c.model.Check
	if check.Evaluator == nil || len(reply.Calls) > 0 {
		return nil
	}
	state := map[string]any{}
	if at := lastQuestion(c.r.Messages); at >= 0 {
		state["request"] = c.r.Messages[at].Text
	}
	found, err := c.judge(ctx, check.Evaluator, check.Folder, jsontext.MustEncode(reply.Text), jsontext.MustEncode(state))
	if err != nil {
		return err
	}
	if len(c.replies) == 1 {
		valid := found.Valid
		c.first = &valid
	}
	if resp.Verdict.Score = max(found.Score, fitScore); found.Usage != nil {
		resp.Usage = *found.Usage
	}
	resp.Verdict.Feedback, resp.Verdict.Children = found.Feedback, found.Children
	if !found.Valid {
		reject(resp, resp.Verdict.Score, found.Errors...)
	}
	return nil
}

// judge has plugins judge an output.
func (c *checker) judge(ctx context.Context, by *workflow.Single, folder string, output, state json.RawMessage) (*action.EvaluateResult, error) {
	result, err := c.act(ctx, host.Need{Uses: by.Plugins, Namespace: c.model.Namespace, RunID: c.outcome.Turn.Run, Folder: folder},
		&action.EvaluateSpec{Evaluator: by.Step, Data: action.Constant(output)}, state)
	if err != nil {
		return nil, err
	}
	return result.(*action.EvaluateResult), nil
}

// said is the verdict as the client sees it.
func (c *checker) said(r *core.LoopResult) string {
	switch {
	case c.skipped != "":
		return "unchecked; " + c.skipped
	case r.StopReason == core.StopEvaluatorError:
		return "unchecked; evaluator"
	case !r.Accepted:
		return fmt.Sprintf("failed; score=%.2f", r.Score)
	case len(c.notes) > 0:
		return "unchecked; " + strings.Join(slices.Compact(slices.Sorted(slices.Values(c.notes))), ", ")
	}
	return "passed"
}
