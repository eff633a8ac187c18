package action

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// A model that is offered tools is asked again and again: with the results of the calls that it
// asked for, until it answers. Each of its replies and each result is stored before it is used,
// under the idempotency key of the step with its number. A run that is killed and resumed, or a
// generator that is tried again, finds what was stored, and goes on where it was: no reply is paid
// for again, and no call made again. What was under way when the host was killed can't be known: a
// call of an idempotent tool is made again with its key, and any other isn't, which the model reads.
// So it is noted, before such a call, that it begins.

// Toolset are the tools that a model may call during a step.
type Toolset struct {
	Tools []Tool
	// MaxSteps is how often the model is asked at most.
	MaxSteps int
}

// Tool is something that a model may have done: by Step, unless Workflow or Recall is set.
type Tool struct {
	Name string
	// Step is the generator that does it. The arguments of a call are its state.
	Step Step
	// Define is the config with which the plugin of Step outputs the tool's definition as an MCP server
	// gives it; nil if the workflow says all.
	Define json.RawMessage
	// Workflow is run as a run of its own, whose state has the arguments.
	Workflow *core.Source
	// Recall is done with the arguments as the state.
	Recall *MemorySpec
	// Idempotent is whether a call that was under way when the host ended may be made again, with the
	// same idempotency key.
	Idempotent bool
}

// Bounds of tools.
const (
	// DefaultToolSteps is how often a model is asked unless the workflow says otherwise.
	DefaultToolSteps = 8
	// maxToolBytes is how much of a tool's result the model is sent, about 16,000 tokens.
	maxToolBytes = 64 << 10
)

// metadataUsage is the usage of a stored reply, which isn't free: its step counts it.
const metadataUsage = "usage"

// answer is what one call of a generator or a corrector returned.
type answer struct {
	output   json.RawMessage
	usage    sdk.Usage
	metadata map[string]string
}

// askOnce makes one call of a step.
type askOnce func(target core.Target, call sdk.Call) (*answer, error)

// toolCall is a call that a model asks for, as its plugin returns it.
type toolCall struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Problem   string          `json:"problem,omitempty"`
}

// toolUser asks a model that may use tools.
type toolUser struct {
	*Actions
	*Toolset
	tools map[string]*boundTool
	given *given
}

// boundTool is a tool for one action.
type boundTool struct {
	Tool
	step *step
	// described are the members of its definition that the workflow leaves to its plugin.
	described map[string]json.RawMessage
}

// useTools gives a step its tools.
func (a *Actions) useTools(ctx context.Context, req *Request, st *step, set *Toolset) error {
	u := &toolUser{Actions: a, Toolset: set, tools: map[string]*boundTool{}, given: req.given}
	for _, tool := range set.Tools {
		own := &boundTool{Tool: tool}
		u.tools[tool.Name] = own
		if tool.Recall != nil && a.Steps != nil && req.RunID != "" { // what the models of an interrupted run recalled
			ids, err := a.Steps.StepMemories(ctx, req.RunID)
			if err != nil {
				return err
			}
			u.given.add(ids)
		}
		if tool.Workflow != nil || tool.Recall != nil {
			continue
		}
		var err error
		if own.step, err = newStep(a.Plugins, tool.Step, listenerOf(req)); err == nil && tool.Define != nil {
			err = own.define(ctx)
		}
		if err != nil {
			return sdk.Wrap("tool "+tool.Name, err)
		}
	}
	st.tools = u
	return nil
}

// define asks the plugin what the model reads of the tool. The definition is pinned with the plugin.
func (t *boundTool) define(ctx context.Context) error {
	response, err := core.PluginGenerator(t.step.plugins, core.Target{Plugin: t.Step.Plugin, Config: t.Define}).Generate(ctx, &sdk.GenerateRequest{State: json.RawMessage("{}")})
	if err != nil {
		return err
	}
	var d struct {
		Description json.RawMessage `json:"description"`
		Parameters  json.RawMessage `json:"inputSchema"`
		Annotations struct {
			ReadOnly   bool `json:"readOnlyHint"`
			Idempotent bool `json:"idempotentHint"`
		} `json:"annotations"`
	}
	if err := json.Unmarshal(response.Output, &d); err != nil {
		return sdk.Errorf(sdk.Invalid, "response_invalid", "its definition can't be read: %w", err)
	}
	t.described = map[string]json.RawMessage{"description": d.Description, "parameters": d.Parameters}
	t.Idempotent = t.Idempotent || d.Annotations.ReadOnly || d.Annotations.Idempotent
	return nil
}

// described adds to the tools of a config what their plugins say of them.
func (u *toolUser) described(tools json.RawMessage) json.RawMessage {
	var list []map[string]json.RawMessage
	_ = json.Unmarshal(tools, &list) // the loader made it
	for _, offered := range list {
		var name string
		_ = json.Unmarshal(offered["name"], &name)
		for key, value := range u.tools[name].described {
			if offered[key] == nil && len(value) > 0 && string(value) != "null" {
				offered[key] = value
			}
		}
	}
	return jsontext.MustEncode(list)
}

// converse asks until the model answers without asking for tools.
func (u *toolUser) converse(ctx context.Context, target core.Target, call sdk.Call, role sdk.Role, s *step, ask askOnce) (*answer, error) {
	config, messages := conversation(target.Config)
	config["tools"] = u.described(config["tools"])
	var used sdk.Usage
	for n := 1; n <= u.MaxSteps; n++ {
		target.Config = jsontext.MustEncode(config)
		if n > 1 {
			config["messages"] = jsontext.MustEncode(messages)
			target.Config = jsontext.MustEncode(config)
		}
		target.Digest = core.Digest(target.Config)
		one := call
		if n > 1 {
			one.IdempotencyKey = stepKey(call.IdempotencyKey, n)
		}
		a, err := u.once(ctx, call.RunID, true, []any{call.IdempotencyKey, n, target.Plugin, target.Digest}, func() (*answer, error) { return ask(target, one) })
		if err != nil {
			return nil, s.failed(role, withUsage(err, used))
		}
		s.called(role, a.metadata)
		used = used.Add(a.usage)
		if a.metadata[sdk.MetadataToolCalls] == "" {
			a.usage = used
			return a, nil
		}
		said, spent, err := u.results(ctx, call, n, a.output)
		if err != nil {
			return nil, withUsage(err, used)
		}
		used, messages = used.Add(spent), append(messages, said...)
		delete(config, "prompt")
		delete(config, "system")
		if choice := string(config["tool_choice"]); choice != `"none"` {
			delete(config, "tool_choice") // it is obeyed once
		}
	}
	return nil, withUsage(sdk.Errorf(sdk.Invalid, "tool_steps", "the model asked for tools %d times and gave no answer", u.MaxSteps).
		WithHint("raise max_steps, or tell the model in the prompt when to answer"), used)
}

// withUsage adds to an error what was spent before it, if it ends the attempt. Otherwise the next
// try finds what is stored, and counts that.
func withUsage(err error, used sdk.Usage) error {
	if sdk.CodeOf(err) != sdk.Invalid || used == (sdk.Usage{}) {
		return err
	}
	e := *sdk.AsError(err)
	e.Details = maps.Clone(e.Details)
	return e.WithDetail(sdk.UsageDetail, used.Add(sdk.UsageOf(err)))
}

func stepKey(key string, n int) string { return fmt.Sprintf("%s/step/%d", key, n) }

// conversation is a config with its messages, to which more are added.
func conversation(raw json.RawMessage) (config map[string]json.RawMessage, messages []json.RawMessage) {
	config = map[string]json.RawMessage{}
	_ = json.Unmarshal(raw, &config) // the loader made it
	for key, role := range map[string]string{"system": "system", "prompt": "user"} {
		if text := config[key]; text != nil {
			messages = append(messages, jsontext.MustEncode(map[string]any{"role": role, "content": text}))
		}
	}
	slices.SortFunc(messages, func(a, b json.RawMessage) int { // the system message is the first
		return cmp.Compare(strings.Count(string(b), `"role":"system"`), strings.Count(string(a), `"role":"system"`))
	})
	var own []json.RawMessage
	_ = json.Unmarshal(config["messages"], &own)
	return config, append(messages, own...)
}

// results makes the calls that a reply asks for, and returns the messages that say so.
func (u *toolUser) results(ctx context.Context, call sdk.Call, n int, output json.RawMessage) (messages []json.RawMessage, used sdk.Usage, err error) {
	var reply struct {
		Calls []toolCall `json:"tool_calls"`
		Text  string     `json:"text"`
	}
	if err := json.Unmarshal(output, &reply); err != nil || len(reply.Calls) == 0 {
		return nil, used, sdk.Errorf(sdk.Internal, "tool_calls_invalid", "the plugin says that the model asks for tools, and returns no calls")
	}
	messages = append(messages, jsontext.MustEncode(map[string]any{"role": "assistant", "content": reply.Text, "tool_calls": reply.Calls}))
	for i, c := range reply.Calls {
		text, spent, err := u.result(ctx, call, fmt.Sprintf("%s/tool/%d", stepKey(call.IdempotencyKey, n), i+1), c)
		if err != nil {
			return nil, used, sdk.Wrap("tool "+core.Cut(c.Name), err)
		}
		used = used.Add(spent)
		messages = append(messages, jsontext.MustEncode(map[string]any{"role": "tool", "content": text, "tool_call_id": c.ID, "name": c.Name}))
	}
	return messages, used, nil
}

// result makes one call. What the model can do better, it reads; any other failure is the
// step's.
func (u *toolUser) result(ctx context.Context, call sdk.Call, key string, c toolCall) (text string, used sdk.Usage, err error) {
	if c.Problem != "" {
		return "error: " + c.Problem, used, nil
	}
	tool := u.tools[c.Name]
	if tool == nil {
		return "error: there is no such tool", used, nil
	}
	a, err := u.once(ctx, call.RunID, tool.Idempotent, []any{key, c.Name, c.Arguments}, func() (*answer, error) {
		own := call
		own.Role, own.IdempotencyKey = sdk.RoleGenerate, key
		a, err := u.callTool(ctx, own, tool, c.Arguments)
		code, reason := sdk.CodeOf(err), sdk.ReasonOf(err)
		switch {
		case err == nil:
			a.output = readable(a.output)
			return a, nil
		case code == sdk.NotFound && reason != "plugin_not_found", reason == "tool_failed", !sdk.Permanent(err) && (code == sdk.Invalid || code == sdk.Exhausted):
			return &answer{jsontext.MustEncode("error: " + core.Cut(err.Error())), sdk.UsageOf(err), nil}, nil
		}
		return nil, err
	})
	if err != nil {
		return "", used, err
	}
	_ = json.Unmarshal(a.output, &text) // a text
	return text, a.usage, nil
}

// readable is the text of an output that the model is sent, as JSON.
func readable(output json.RawMessage) json.RawMessage {
	var text string
	if json.Unmarshal(output, &text) != nil {
		text = string(output)
	}
	if len(text) > maxToolBytes {
		text = strings.ToValidUTF8(text[:maxToolBytes], "") + fmt.Sprintf("\n(cut here: it has %d bytes)", len(text))
	}
	return jsontext.MustEncode(text)
}

// callTool makes one call of a tool.
func (u *toolUser) callTool(ctx context.Context, call sdk.Call, tool *boundTool, arguments json.RawMessage) (*answer, error) {
	switch {
	case tool.Workflow != nil:
		return u.runWorkflow(ctx, call, tool, arguments)
	case tool.Recall != nil:
		return u.recall(ctx, call, tool, arguments)
	}
	response, err := tool.step.Generate(ctx, &sdk.GenerateRequest{Call: call, State: arguments})
	if err != nil {
		return nil, err
	}
	return &answer{response.Output, response.Usage, nil}, nil
}

// runWorkflow runs the workflow of a tool. The id of its run follows from the call's key, so that a
// resumed run goes on with it.
func (u *toolUser) runWorkflow(ctx context.Context, call sdk.Call, tool *boundTool, arguments json.RawMessage) (*answer, error) {
	if u.RunWorkflow == nil {
		return nil, sdk.AsPermanent(sdk.Errorf(sdk.Unavailable, "run_not_available", "no workflow can be run here"))
	}
	run, err := u.RunWorkflow(ctx, core.NamedID(call.RunID, call.IdempotencyKey), *tool.Workflow, arguments)
	switch {
	case err != nil:
		return nil, err
	case run.Status.Resumable():
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		why := ""
		if run.Error != nil {
			why = ": " + run.Error.Message
		}
		return nil, sdk.Errorf(sdk.Unavailable, "tool_interrupted", "run %s of workflow %s ended: %s%s", run.ID, run.Workflow, run.Status, why)
	}
	var result struct {
		Output json.RawMessage `json:"output"`
	}
	_ = json.Unmarshal(run.Result, &result) // an evaluation has none
	a := &answer{output: result.Output, usage: run.Usage.Usage}
	if len(a.output) == 0 {
		a.output = run.Result
	}
	if run.Status != core.StatusPassed {
		a.output = jsontext.MustEncode(fmt.Sprintf("error: the workflow is %s; its last output is %s", run.Status, cmp.Or(string(a.output), "none")))
	}
	return a, nil
}

// recalledText is what the model reads of a recalled memory.
type recalledText struct {
	ID         string     `json:"id"`
	Content    string     `json:"content"`
	OccurredAt *time.Time `json:"occurred_at,omitempty"`
	// The ids of those that replace or contradict it.
	SupersededBy   []string `json:"superseded_by,omitempty"`
	ContradictedBy []string `json:"contradicted_by,omitempty"`
}

// recall recalls for a model. It isn't a turn of the run's session: nothing is learned from it.
func (u *toolUser) recall(ctx context.Context, call sdk.Call, tool *boundTool, arguments json.RawMessage) (*answer, error) {
	found, err := u.remember(ctx, &Request{RunID: call.RunID, State: arguments}, tool.Recall)
	if err != nil {
		return nil, err
	}
	list, ids := []recalledText{}, []string{}
	for _, m := range found.(*core.RecallResult).Memories {
		list, ids = append(list, recalledText{m.ID, m.Content, m.OccurredAt, m.SupersededBy, m.ContradictedBy}), append(append(ids, m.ID), m.SameAs...)
	}
	u.given.add(ids)
	return &answer{output: jsontext.MustEncode(map[string]any{"memories": list})}, nil
}

// lost is what a model reads in place of a result that isn't known.
const lost = "error: this call was begun, and then interrupted. Whether it had an effect isn't known, and it isn't made again."

// once does something unless its result is stored, and stores the result. Unless it may be done again, it
// is stored first that it begins. Without a run there is nothing to resume, and nothing is stored.
func (u *toolUser) once(ctx context.Context, runID string, again bool, what []any, do func() (*answer, error)) (*answer, error) {
	if runID == "" || u.Steps == nil {
		return do()
	}
	key := string(jsontext.MustEncode(what))
	// A run that is being stopped keeps what it paid for.
	keep := func(r *core.Reply) error {
		return sdk.Wrap("store what a tool returned", u.Steps.KeepStep(context.WithoutCancel(ctx), runID, key, r, u.given.list()))
	}
	known, err := u.Steps.Step(ctx, runID, key)
	switch {
	case err != nil:
		return nil, err
	case known != nil && len(known.Output) > 0:
		a := &answer{output: known.Output, metadata: known.Metadata}
		_ = json.Unmarshal([]byte(known.Metadata[metadataUsage]), &a.usage) // it was encoded here
		return a, nil
	case known != nil && !again:
		return &answer{output: jsontext.MustEncode(lost)}, nil
	case !again:
		if err := keep(&core.Reply{}); err != nil {
			return nil, err
		}
	}
	a, err := do()
	if err != nil {
		if !again && !interrupted(err) {
			err = core.JoinErrors(err, keep(nil))
		}
		return nil, err
	}
	if u.WithholdSteps {
		return a, nil
	}
	metadata := map[string]string{metadataUsage: string(jsontext.MustEncode(a.usage))}
	maps.Copy(metadata, a.metadata)
	return a, keep(&core.Reply{Output: a.output, Metadata: metadata})
}

// interrupted reports whether a failed call may have had its effect: it was no longer waited for, or what
// made it ended.
func interrupted(err error) bool {
	code := sdk.CodeOf(err)
	return code == sdk.Timeout || code == sdk.Cancelled ||
		slices.Contains([]string{"plugin_exited", "plugin_unhealthy", "plugin_replaced", "server_failed"}, sdk.ReasonOf(err))
}
