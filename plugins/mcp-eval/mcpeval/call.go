package mcpeval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reflectory/reflectory/plugins/internal/expression"
	"github.com/reflectory/reflectory/plugins/internal/schema"
	"github.com/reflectory/reflectory/sdk"
)

// answer is the result of a tool, as an expression sees it.
type answer struct {
	// value is the decoded result: content, structuredContent, isError; and text, which is the text of the content.
	// In place of these, error is an error of the protocol, with code and message.
	value map[string]any
	text  string
	// structured is the JSON of the structured content; nil if there is none.
	structured json.RawMessage
	isError    bool
	// protocol is an error of the protocol.
	protocol *jsonrpc.Error
}

// call calls the tool, if its definition is still the pinned one.
func (t *tool) call(ctx context.Context) (*answer, error) {
	var result *mcp.CallToolResult
	err := t.session.do(ctx, func(open *mcp.ClientSession) error {
		found, err := list(ctx, open)
		if err != nil {
			if wire := protocolError(err); wire != nil {
				return sdk.Errorf(sdk.Unavailable, "tools_unknown", "server %s doesn't say which tools it has: %s", t.session.server.Name, describe(wire))
			}
			return err
		}
		if err := t.session.server.check(t.name, found); err != nil {
			return err
		}
		result, err = open.CallTool(ctx, &mcp.CallToolParams{Name: t.name, Arguments: t.arguments})
		return err
	})
	if wire := protocolError(err); wire != nil {
		return &answer{protocol: wire, isError: true, value: map[string]any{
			"isError": true, "content": []any{}, "text": "", "error": map[string]any{"code": json.Number(fmt.Sprint(wire.Code)), "message": wire.Message},
		}}, nil
	}
	if err != nil {
		return nil, err
	}
	return t.read(result)
}

// read decodes a result.
func (t *tool) read(result *mcp.CallToolResult) (*answer, error) {
	text, err := json.Marshal(result)
	if err != nil {
		return nil, t.invalid("can't be read: %v", err)
	}
	decoded, err := schema.Decode(text, schema.MaxOutputBytes)
	if err != nil {
		return nil, t.invalid("has %v", err)
	}
	a := &answer{isError: result.IsError}
	a.value, _ = decoded.(map[string]any)
	a.value["isError"] = result.IsError // false is left out
	if result.StructuredContent != nil {
		if a.structured, err = schema.Encode(a.value["structuredContent"]); err != nil {
			return nil, t.invalid("can't be read: %v", err)
		}
	}
	var parts []string
	for _, c := range result.Content {
		if part, ok := c.(*mcp.TextContent); ok {
			parts = append(parts, part.Text)
		}
	}
	a.text = strings.Join(parts, "\n")
	a.value["text"] = a.text
	return a, nil
}

func (t *tool) invalid(format string, args ...any) *sdk.Error {
	return sdk.Errorf(sdk.Invalid, "result_invalid", "the result of tool %q of server %s "+format, append([]any{t.name, t.session.server.Name}, args...)...)
}

// failure is the error for a result that reports one: of the tool, or of the protocol.
func (t *tool) failure(a *answer) error {
	if a.protocol != nil {
		return sdk.Errorf(sdk.Invalid, "tool_refused", "server %s refused the call of tool %q: %s", t.session.server.Name, t.name, describe(a.protocol)).
			WithHint("check arguments; a verdict that names result.error decides itself what that means")
	}
	return sdk.Errorf(sdk.Unavailable, "tool_failed", "tool %q of server %s failed: %s", t.name, t.session.server.Name, cut(a.text, 0)).
		WithHint("check arguments; a verdict that names result.isError decides itself what that means")
}

func describe(e *jsonrpc.Error) string { return fmt.Sprintf("%s (%d)", cut(e.Message, 0), e.Code) }

// protocolError is the error with which a server answered; nil if it didn't answer.
func protocolError(err error) *jsonrpc.Error {
	var wire *jsonrpc.Error
	if e := new(sdk.Error); errors.As(err, &e) || !errors.As(err, &wire) {
		return nil
	}
	return wire
}

// output is what the tool outputs: its structured content, or its text, which is read as JSON if it is an object or a list.
func (t *tool) output(ctx context.Context) (json.RawMessage, error) {
	a, err := t.call(ctx)
	if err != nil {
		return nil, err
	}
	if a.isError {
		return nil, t.failure(a)
	}
	return a.output(), nil
}

func (a *answer) output() json.RawMessage {
	if a.structured != nil {
		return a.structured
	}
	if text := strings.TrimSpace(a.text); text != "" && (text[0] == '{' || text[0] == '[') && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	text, _ := schema.Encode(a.text) // a text can always be encoded
	return text
}

// evaluate judges by the tool's result. The attempt itself reaches the tool through the arguments.
func (t *tool) evaluate(ctx context.Context, _ *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
	a, err := t.call(ctx)
	if err != nil {
		return nil, err
	}
	if a.protocol != nil && !t.decides("error") || a.protocol == nil && a.isError && !t.decides("isError") {
		return nil, t.failure(a)
	}
	verdict, err := t.judge(ctx, a)
	if err != nil {
		return nil, err
	}
	return &sdk.EvaluateResponse{Verdict: *verdict}, nil
}

// decides reports whether the verdict names a member of the result, and so decides itself about failures.
func (t *tool) decides(member string) bool { return t.verdict != nil && t.verdict.Names(member) }

// judge makes a verdict of a result.
func (t *tool) judge(ctx context.Context, a *answer) (*sdk.Verdict, error) {
	text := a.output()
	if t.verdict != nil {
		if whole, err := schema.Encode(a.value); err != nil || len(whole) > expression.MaxInput {
			return nil, t.invalid("has more than %d bytes, which is what a verdict reads", expression.MaxInput)
		}
		given, err := t.verdict.Object(ctx, map[string]any{"result": a.value})
		if err != nil {
			return nil, sdk.Errorf(sdk.Invalid, "verdict_failed", "the verdict over the result of tool %q can't be evaluated: %w", t.name, err).
				WithHint("write verdict so that it holds for every result, with has() for members that may be missing")
		}
		if fault, ok := given["fault"].(string); ok {
			return nil, sdk.Errorf(sdk.Unavailable, "tool_failed", "tool %q of server %s: %s", t.name, t.session.server.Name, cut(fault, 0))
		}
		if text, err = schema.Encode(given); err != nil {
			return nil, t.invalid("gives a verdict that can't be read: %v", err)
		}
	}
	var v struct {
		Valid *bool `json:"valid"`
		sdk.Verdict
	}
	if err := json.Unmarshal(text, &v); err != nil || v.Valid == nil {
		return nil, t.invalid("is no verdict, an object with the field valid").
			WithHint("write a verdict in the step, such as !result.isError && result.structuredContent.ok")
	}
	v.Verdict.Valid, v.Verdict.Output = *v.Valid, nil
	if t.verdict == nil && !hasScore(text) && *v.Valid {
		v.Score = 1
	}
	if !*v.Valid && len(v.Errors) == 0 && v.Feedback == "" {
		v.Feedback = strings.ToValidUTF8(a.text[:min(len(a.text), maxFeedback)], "")
	}
	return &v.Verdict, nil
}

// maxFeedback is how much of a tool's text is the feedback of a verdict that has none, in bytes.
const maxFeedback = 4 << 10

func hasScore(text json.RawMessage) bool {
	var v struct{ Score *float64 }
	return json.Unmarshal(text, &v) == nil && v.Score != nil
}
