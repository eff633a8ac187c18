package mcpserver

import (
	"encoding/json"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reflectory/reflectory/core/host/operation"
)

// tool is a row with what is made of its operations.
type tool struct {
	row       row
	described *mcp.Tool
	// operations are what it does, by the action; "" is the one of a tool without actions.
	operations map[string]*operation.Operation
	// fields are the arguments that it takes.
	fields []string
}

// newTool describes a tool.
func newTool(r row, requests Requests) (*tool, error) {
	t := &tool{row: r, operations: map[string]*operation.Operation{}}
	actions := r.actions
	if len(actions) == 0 {
		actions = []action{{"", r.operation}}
	}
	in, out := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}}, &jsonschema.Schema{Type: "object"}
	notes := &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: new(bool), OpenWorldHint: new(bool)}
	for i, a := range actions {
		o, err := operation.Find(a.operation)
		if err != nil {
			return nil, err
		}
		t.operations[a.name] = &o
		notes.ReadOnlyHint = notes.ReadOnlyHint && o.ReadOnly
		notes.IdempotentHint = notes.IdempotentHint && o.Idempotent
		*notes.DestructiveHint = *notes.DestructiveHint || o.Destructive
		if err := addRequest(in, requests, o.In(), i == 0); err != nil {
			return nil, err
		}
		if len(r.actions) > 0 {
			continue // what comes back depends on the action
		}
		if out, err = requests.Schema(o.Out(), false); err != nil {
			return nil, err
		}
	}
	t.addOwn(in)
	for name := range in.Properties {
		t.fields = append(t.fields, name)
	}
	slices.Sort(t.fields)
	closed := &jsonschema.Schema{Not: &jsonschema.Schema{}}
	in.AdditionalProperties = closed
	t.described = &mcp.Tool{Name: r.name, Description: r.doc, InputSchema: in, OutputSchema: topLevel(out), Annotations: notes}
	return t, nil
}

// The arguments that tools have besides their operations' requests.
const (
	actionArg = "action"
	tokenArg  = "page_token"
	offsetArg = "content_offset"
)

// addOwn adds the arguments that no operation has.
func (t *tool) addOwn(in *jsonschema.Schema) {
	if len(t.row.actions) > 0 {
		var names []any
		for _, a := range t.row.actions {
			names = append(names, a.name)
		}
		in.Properties[actionArg] = &jsonschema.Schema{Type: "string", Enum: names}
		in.Required = append([]string{actionArg}, in.Required...)
	}
	if t.row.list != "" {
		in.Properties[tokenArg] = &jsonschema.Schema{Type: "string", Description: "next_page_token of the page before"}
	}
	if t.row.text != "" {
		in.Properties[offsetArg] = &jsonschema.Schema{Type: "integer", Minimum: new(float64)}
	}
}

// addRequest adds the fields of an operation's request. Of a tool with several, a field is
// required that all of them require.
func addRequest(in *jsonschema.Schema, requests Requests, t reflect.Type, first bool) error {
	s, err := requests.Schema(t, true)
	if err != nil {
		return err
	}
	for name, p := range s.Properties {
		if in.Properties[name] == nil {
			in.Properties[name] = terse(p)
		}
	}
	if first {
		in.Required = s.Required
	}
	in.Required = slices.DeleteFunc(in.Required, func(name string) bool { return !slices.Contains(s.Required, name) })
	return nil
}

// terse leaves out of an argument's schema what a model needn't be told: that null is taken,
// too, and that nested objects take no other members, which are refused all the same.
func terse(s *jsonschema.Schema) *jsonschema.Schema {
	if kinds := slices.DeleteFunc(slices.Clone(s.Types), func(kind string) bool { return kind == "null" }); len(kinds) == 1 {
		s.Type, s.Types = kinds[0], nil
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Not != nil {
		s.AdditionalProperties = nil
	}
	for name, p := range s.Properties {
		s.Properties[name] = terse(p)
	}
	if s.Items != nil {
		s.Items = terse(s.Items)
	}
	if s.AdditionalProperties != nil {
		s.AdditionalProperties = terse(s.AdditionalProperties)
	}
	for i, p := range s.AnyOf {
		s.AnyOf[i] = terse(p)
	}
	return s
}

// topLevel names a result's members and their types, and nothing below: a model reads the
// result itself. None is required, since a result may be cut.
func topLevel(s *jsonschema.Schema) json.RawMessage {
	members := map[string]any{}
	for name, p := range s.Properties {
		switch {
		case p.Type != "":
			members[name] = map[string]any{"type": p.Type}
		case len(p.Types) > 0:
			members[name] = map[string]any{"type": p.Types}
		default:
			members[name] = map[string]any{}
		}
	}
	out := map[string]any{"type": "object"}
	if len(members) > 0 {
		out["properties"] = members
	}
	text, _ := json.Marshal(out) // it is plain
	return text
}
