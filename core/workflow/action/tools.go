package action

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// A model that is offered tools is asked again and again: with the results of the calls that it
// asked for, until it answers. Each of its replies and each result is stored before it is used,
// under the idempotency key of the step with its number. A run that is killed and resumed, or a
// generator that is tried again, finds what was stored, and goes on where it was: no reply is paid
// for again, and no call made again. A call that was made, but whose result wasn't stored, is made
// again with the same idempotency key.

// Toolset are the tools that a model may call during a step.
type Toolset struct {
	Tools []Tool
	// MaxSteps is how often the model is asked at most.
	MaxSteps int
}

// Tool is something that a model may have done.
type Tool struct {
	Name string
	// Step is the generator that does it. The arguments of a call are its state.
	Step Step
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
	*Toolset
	steps     map[string]*step
	store     core.Replies
	namespace string
	memories  []string
	hear      listener
}

// useTools gives a step its tools.
func (a *Actions) useTools(req *Request, st *step, tools *Toolset) error {
	u := &toolUser{Toolset: tools, steps: map[string]*step{}, store: a.Replies, namespace: a.Namespace, memories: req.Memories, hear: listenerOf(req)}
	for _, tool := range tools.Tools {
		own, err := newStep(a.Plugins, tool.Step, u.hear)
		if err != nil {
			return sdk.Wrap("tool "+tool.Name, err)
		}
		u.steps[tool.Name] = own
	}
	st.tools = u
	return nil
}

// converse asks until the model answers without asking for tools.
func (u *toolUser) converse(ctx context.Context, target core.Target, call sdk.Call, role sdk.Role, s *step, ask askOnce) (*answer, error) {
	config, messages := conversation(target.Config)
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
		a, err := u.once(ctx, call.RunID, []any{call.IdempotencyKey, n, target.Plugin, target.Digest}, func() (*answer, error) { return ask(target, one) })
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
	tool := u.steps[c.Name]
	if tool == nil {
		return "error: there is no such tool", used, nil
	}
	a, err := u.once(ctx, call.RunID, []any{key, c.Name, c.Arguments}, func() (*answer, error) {
		own := call
		own.Role, own.IdempotencyKey = sdk.RoleGenerate, key
		response, err := tool.Generate(ctx, &sdk.GenerateRequest{Call: own, State: c.Arguments})
		code := sdk.CodeOf(err)
		switch {
		case err == nil:
			return &answer{response.Output, response.Usage, nil}, nil
		case code == sdk.NotFound && sdk.ReasonOf(err) != "plugin_not_found", !sdk.Permanent(err) && (code == sdk.Invalid || code == sdk.Exhausted):
			return &answer{jsontext.MustEncode("error: " + core.Cut(err.Error())), sdk.UsageOf(err), nil}, nil
		}
		return nil, err
	})
	if err != nil {
		return "", used, err
	}
	if json.Unmarshal(a.output, &text) != nil {
		text = string(a.output)
	}
	if len(text) > maxToolBytes {
		text = strings.ToValidUTF8(text[:maxToolBytes], "") + fmt.Sprintf("\n(cut here: it has %d bytes)", len(text))
	}
	return text, a.usage, nil
}

// once does something unless its result is stored, and stores the result. Without a run there is
// nothing to resume, and nothing is stored.
func (u *toolUser) once(ctx context.Context, runID string, what []any, do func() (*answer, error)) (*answer, error) {
	if runID == "" || u.store == nil {
		return do()
	}
	digest := core.Digest(jsontext.MustEncode(append([]any{"tools", u.namespace, runID}, what...)))
	known, err := u.store.Reply(ctx, digest, u.memories)
	if err != nil {
		return nil, err
	}
	if known != nil {
		a := &answer{output: known.Output, metadata: known.Metadata}
		_ = json.Unmarshal([]byte(known.Metadata[metadataUsage]), &a.usage) // it was encoded here
		return a, nil
	}
	a, err := do()
	if err != nil {
		return nil, err
	}
	metadata := map[string]string{metadataUsage: string(jsontext.MustEncode(a.usage))}
	maps.Copy(metadata, a.metadata)
	// A run that is being stopped keeps what it paid for.
	err = u.store.KeepReply(context.WithoutCancel(ctx), digest, &core.Reply{Output: a.output, Metadata: metadata}, u.memories)
	return a, sdk.Wrap("store what a tool returned", err)
}
