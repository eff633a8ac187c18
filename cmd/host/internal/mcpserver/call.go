package mcpserver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reflectory/reflectory/cmd/host/internal/client"
	"github.com/reflectory/reflectory/cmd/host/internal/jsoncheck"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// arguments are a call's arguments: the request, and the tool's own arguments.
type arguments struct {
	action    string
	pageToken string
	offset    int
	detail    string
	// asked is the request as it was received. request is the request for the operation; for
	// a later page of a list it may have more members.
	asked, request json.RawMessage
}

// handler calls a tool. Every error is a result of the tool, so that the model can correct
// itself.
func (s *Server) handler(t *tool, in set) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (result *mcp.CallToolResult, _ error) {
		body := req.Params.Arguments
		defer func() {
			if what := recover(); what != nil {
				result = s.refused(ctx, in, body, sdk.Errorf(sdk.Internal, "panic", "panic: %v", what), nil)
			}
		}()
		out, err := s.call(ctx, t, in, req, body)
		if err != nil {
			return s.refused(ctx, in, body, err, out), nil
		}
		return succeeded(out), nil
	}
}

// succeeded is the result of a call in the protocol's form: the same JSON twice.
func succeeded(text json.RawMessage) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}, StructuredContent: text}
}

// call calls a tool's operation. Its result is JSON, which may come with an error.
func (s *Server) call(ctx context.Context, t *tool, tools set, req *mcp.CallToolRequest, body json.RawMessage) (json.RawMessage, error) {
	as := t.reading()
	body, err := t.read(body, &as)
	if err != nil {
		return nil, err
	}
	args, wrong := t.split(body)
	wrong = append(append(as.wrong, wrong...), t.missing(body, as.nulls)...)
	o := t.operations[args.action]
	if o == nil {
		return nil, core.JoinErrors(wrong...)
	}
	from, err := t.page(&args)
	if err != nil {
		wrong = append(wrong, err)
	}
	shape := func(result json.RawMessage) json.RawMessage { return result }
	if t.row.detour != nil && len(wrong) == 0 {
		if d := t.row.detour(core.CallerOf(ctx), args.request); d != nil {
			other, err := operation.Find(d.operation)
			if err != nil {
				return nil, err
			}
			o, args.request, shape = &other, d.request, d.result
		}
	}
	in := reflect.New(o.In()).Interface()
	if o.May(core.CallerOf(ctx)) { // otherwise the error is the missing scope, whatever else is wrong
		if err := s.config.Requests.Decode(o, args.request, in, wrong...); err != nil {
			return nil, err
		}
	}
	c := operation.Call{Queue: o.Job != ""}
	if p := s.progress(ctx, req); p != nil {
		c.Events, c.Progress, c.Pieces = p.event, p.step, true
	}
	out, failure := s.config.Client.Call(ctx, c, o.Name, in)
	if out == nil {
		return nil, failure
	}
	if q, is := out.(*operation.JobQueued); is {
		if made := madeTask(ctx); made != nil {
			*made = s.queued(q)
			s.follow(ctx, req, q.JobID)
		}
	}
	if spoken, is := out.(operation.Callable); is {
		out = spoken.WithCalls(func(name string, arguments map[string]any) string {
			return s.callOf(tools, name, operation.CallArgs(arguments))
		})
	}
	text, err := jsontext.Encode(out)
	text = shape(text)
	if args.detail != fullDetail {
		text = brief(text, t.row.brief)
	}
	text = as.addNotes(text)
	if err != nil || failure != nil {
		return text, core.JoinErrors(failure, err)
	}
	return t.cut(text, args, from)
}

// read checks the arguments as a text, and reads them by the tool's schema.
func (t *tool) read(body json.RawMessage, as *reading) (json.RawMessage, error) {
	if text := bytes.TrimSpace(body); len(text) == 0 || string(text) == "null" {
		return json.RawMessage("{}"), nil
	}
	if err := jsoncheck.Check(body, "the text of the arguments", jsontext.MaxDepth); err != nil { // of two names, one would be lost
		return nil, err
	}
	body = as.value(body, &jsonschema.Schema{Type: "object"}, "")
	body = as.unwrapped(body, t.input)
	return as.value(body, t.inputOf(body), ""), nil
}

// reading reads the arguments of a call.
func (t *tool) reading() reading { return reading{strict: t.destroys(), leaves: t.row.leaves} }

// missing lists the required arguments that a call doesn't have. What the operation says about the ones
// that are null is more exact.
func (t *tool) missing(body json.RawMessage, nulls []string) (problems []error) {
	members := jsontext.Members(body)
	for _, name := range t.inputOf(body).Required {
		if !slices.ContainsFunc(members, func(m jsontext.Member) bool { return m.Key == name }) && name != actionArg && !slices.Contains(nulls, name) {
			problems = append(problems, sdk.Errorf(sdk.Invalid, "argument_missing", "%s is missing", name).WithDetail("field", name))
		}
	}
	return problems
}

// inputOf is the schema of the arguments of a call's action, or of all actions if it isn't known.
func (t *tool) inputOf(body json.RawMessage) *jsonschema.Schema {
	if len(t.row.actions) == 0 || t.row.byID {
		return t.input
	}
	action := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{actionArg: t.input.Properties[actionArg]}}
	var quiet reading
	for _, m := range jsontext.Members(quiet.value(body, action, "")) {
		var name string
		if json.Unmarshal(m.Value, &name) == nil && t.inputs[name] != nil {
			return t.inputs[name]
		}
	}
	return t.input
}

// split separates the tool's own arguments from the request's, and lists what is wrong with its own.
func (t *tool) split(body json.RawMessage) (args arguments, problems []error) {
	args.request = body
	var rest []jsontext.Member
	own, ids := false, 0
	for _, m := range jsontext.Members(args.request) {
		var into any
		switch {
		case t.row.byID && t.operations[m.Key] != nil:
			if args.action, own = m.Key, true; ids == 0 {
				rest = append(rest, jsontext.Member{Key: idArg, Value: m.Value})
			}
			ids++
			continue
		case m.Key == actionArg && len(t.row.actions) > 0 && !t.row.byID:
			into = &args.action
		case m.Key == tokenArg && t.row.list != "":
			into = &args.pageToken
		case m.Key == detailArg && len(t.row.brief) > 0:
			into = &args.detail
		case m.Key == offsetArg && t.row.text != "":
			into = &args.offset
		default:
			rest = append(rest, m)
			continue
		}
		own = true
		if whole, is := sdk.WholeNumber(m.Value); is {
			m.Value = whole
		}
		if json.Unmarshal(m.Value, into) != nil || args.offset < 0 || args.detail != "" && args.detail != briefDetail && args.detail != fullDetail {
			problems = append(problems, sdk.Errorf(sdk.Invalid, "field_type_invalid", "%s isn't what its schema says", m.Key).WithDetail("field", m.Key))
		}
	}
	names := t.row.actionNames()
	switch {
	case t.row.byID && ids != 1:
		problems = append(problems, sdk.Errorf(sdk.Invalid, "id_invalid", "%d ids are given, not one of %s", ids, strings.Join(names, ", ")).WithDetail("field", names[0]))
	case t.operations[args.action] == nil && !slices.ContainsFunc(problems, func(err error) bool { return sdk.AsError(err).Details["field"] == actionArg }):
		problems = append(problems, sdk.Errorf(sdk.Invalid, "action_unknown", "action %q is not one of %s", core.Cut(args.action), strings.Join(names, ", ")).
			WithHint("%s", sdk.DidYouMean(args.action, names, "")).WithDetail("field", actionArg))
	}
	if own { // otherwise the text is unchanged, even if it isn't an object
		args.request = jsontext.JoinMembers(rest)
	}
	args.asked = args.request
	return args, problems
}

// refusal is an error in the form of a tool's result.
type refusal struct {
	Code    string         `json:"code"`
	Message string         `json:"message"`
	Hint    string         `json:"hint,omitempty"`
	Details map[string]any `json:"details,omitempty"`
	Errors  []client.Fault `json:"errors,omitempty"`
}

// refused is the result of a call that failed: {"error": {code, message, hint, details,
// errors}}, with the members of the result that exists despite the error.
func (s *Server) refused(ctx context.Context, in set, body json.RawMessage, err error, out json.RawMessage) *mcp.CallToolResult {
	p := s.problem(ctx, in, body, err)
	text, encodeErr := jsontext.Encode(refusal{p.Code, p.Detail, p.Hint, p.Details, p.Errors})
	if encodeErr != nil { // a detail that can't be encoded as JSON
		text = jsontext.MustEncode(refusal{p.Code, p.Detail, p.Hint, nil, p.Errors})
	}
	members := append(jsontext.Members(out), jsontext.Member{Key: "error", Value: text})
	whole, _ := shorten(visible(jsontext.JoinMembers(members)), maxResult)
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: string(whole)}}}
}

// problem describes an error to the caller.
func (s *Server) problem(ctx context.Context, in set, body json.RawMessage, err error) *client.Problem {
	e := sdk.AsError(err)
	p := &client.Problem{Detail: err.Error(), Code: sdk.ReasonOf(err), Hint: s.hint(in, e)}
	for name, value := range e.Details {
		if name == "problems" || name == "pointer" {
			continue
		}
		if p.Details == nil {
			p.Details = map[string]any{}
		}
		p.Details[name] = value
	}
	if e.Code == sdk.Invalid {
		p.Errors = faultsOf(err)
	}
	if s.config.Refused != nil {
		s.config.Refused(ctx, err, body, p)
	}
	return p
}

// faultsOf lists everything that is wrong with a request, with the places in it.
func faultsOf(err error) []client.Fault {
	info := core.NewErrorInfo(err)
	problems, _ := info.Details["problems"].([]*core.ErrorInfo)
	if len(problems) == 0 {
		problems = []*core.ErrorInfo{info}
	}
	list := make([]client.Fault, len(problems))
	for i, p := range problems {
		list[i] = client.Fault{Pointer: operation.PointerOf(p.Details), Detail: p.Message, Code: p.Code}
	}
	return list
}

// verbs are the operations that actions name in other words than a noun and a verb.
var verbs = map[string]string{"jobs show": "job_result", "runs show": "run_get", "run": "run_start", "evidence tool": "evidence_tool"}

// hint is an error's hint, with the tool that follows it, if the caller has that tool.
func (s *Server) hint(in set, e *sdk.Error) string {
	if e.Try == nil {
		return e.Hint
	}
	name := verbs[e.Try.Verb]
	if name == "" {
		name = strings.ReplaceAll(e.Try.Verb, " ", "_")
	}
	call := s.callOf(in, name, e.Try.Args)
	if call == "" || e.Hint == "" {
		return cmp.Or(call, e.Hint)
	}
	return e.Hint + ": " + call
}

// callOf is the call of the tool for an operation; "" if the caller has none.
func (s *Server) callOf(in set, operation string, args sdk.Args) string {
	for _, t := range s.tools {
		for action, o := range t.operations {
			if o.Name == operation && in.lists(t) {
				return t.callText(action, args)
			}
		}
	}
	return ""
}

// callText is a call of a tool in the form of a hint.
func (t *tool) callText(action string, given sdk.Args) string {
	var args []jsontext.Member
	if action != "" && !t.row.byID {
		args = append(args, jsontext.Member{Key: actionArg, Value: jsontext.MustEncode(action)})
	}
	for _, arg := range given {
		name := arg.Name
		if !slices.Contains(t.fields, name) && slices.Contains(t.fields, idArg) {
			name = idArg // the command line's word for it, such as memory or run
		}
		if t.row.byID {
			name = action
		}
		if filled, is := arg.Value.(string); is && strings.HasPrefix(filled, "<") && slices.Contains(rare()[t.row.name], name) {
			continue // nobody could know what to fill in
		}
		if arg.Value != nil && slices.Contains(t.fields, name) {
			args = append(args, jsontext.Member{Key: name, Value: jsontext.MustEncode(arg.Value)})
		}
	}
	return "call " + t.row.name + " with " + string(jsontext.JoinMembers(args))
}
