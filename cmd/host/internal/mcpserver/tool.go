package mcpserver

import (
	"maps"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
)

// tool is a row, with the parts that are generated from its operations.
type tool struct {
	row       row
	described *mcp.Tool
	// input is the schema of its arguments, and inputs are the schemas of the arguments of each of
	// its actions.
	input  *jsonschema.Schema
	inputs map[string]*jsonschema.Schema
	// others are the operations of its detour.
	others []*operation.Operation
	// operations are its operations by action; "" is the operation of a tool without actions.
	operations map[string]*operation.Operation
	// fields are the arguments that it takes.
	fields []string
}

// newTool describes a tool.
func newTool(r row, requests Requests) (*tool, error) {
	t := &tool{row: r, operations: map[string]*operation.Operation{}, inputs: map[string]*jsonschema.Schema{}}
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
		if err := t.addRequest(in, requests, o.In(), i == 0); err != nil {
			return nil, err
		}
		own := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}}
		if err := t.addRequest(own, requests, o.In(), true); err != nil {
			return nil, err
		}
		t.addOwn(own)
		t.inputs[a.name] = own
		if len(r.actions) > 0 || o.Job != "" || o.Out() == reflect.TypeFor[core.Memory]() || o.Out() == reflect.TypeFor[operation.Memory]() {
			continue // the result depends on the action or on whether a job does it, or every tool would repeat two dozen members
		}
		if out, err = requests.Schema(o.Out(), false); err != nil {
			return nil, err
		}
	}
	for _, name := range r.others {
		o, err := operation.Find(name)
		if err != nil {
			return nil, err
		}
		t.others = append(t.others, &o)
	}
	if notes.ReadOnlyHint { // it implies the others
		notes.IdempotentHint, notes.DestructiveHint = false, nil
	}
	t.addOwn(in)
	for name := range in.Properties {
		t.fields = append(t.fields, name)
	}
	slices.Sort(t.fields)
	t.input = in
	t.described = &mcp.Tool{Name: r.name, Description: r.doc, InputSchema: t.shown(), OutputSchema: topLevel(out), Annotations: notes}
	return t, nil
}

// destroys reports whether it may remove something.
func (t *tool) destroys() bool {
	hint := t.described.Annotations.DestructiveHint
	return hint != nil && *hint
}

// The arguments that tools have besides their operations' requests.
const (
	actionArg = "action"
	idArg     = "id" // of an operation's request, for the argument that chooses the operation
	tokenArg  = "page_token"
	offsetArg = "content_offset"
	detailArg = "detail"
)

// addOwn adds the tool's own arguments, which no operation has.
func (t *tool) addOwn(in *jsonschema.Schema) {
	names := t.row.actionNames()
	switch {
	case t.row.byID:
		delete(in.Properties, idArg)
		in.Required = slices.DeleteFunc(in.Required, func(name string) bool { return name == idArg })
		for _, name := range names {
			in.Properties[name] = &jsonschema.Schema{Type: "string"}
		}
	case len(names) > 0:
		list := make([]any, len(names))
		for i, name := range names {
			list[i] = name
		}
		in.Properties[actionArg] = &jsonschema.Schema{Type: "string", Enum: list}
		in.Required = append([]string{actionArg}, in.Required...)
	}
	if t.row.list != "" {
		in.Properties[tokenArg] = &jsonschema.Schema{Type: "string"}
	}
	if t.row.text != "" {
		in.Properties[offsetArg] = &jsonschema.Schema{Type: "integer", Minimum: new(float64)}
	}
	if len(t.row.brief) > 0 {
		in.Properties[detailArg] = &jsonschema.Schema{Type: "string", Enum: []any{briefDetail, fullDetail}}
	}
	for name, p := range in.Properties {
		if p.Description == "" {
			refine(t.row.name, name, p)
		}
	}
}

// shown is the schema of its arguments without the ones that few calls need.
func (t *tool) shown() *jsonschema.Schema {
	in := *t.input
	in.Properties = maps.Clone(in.Properties)
	for _, name := range rare()[t.row.name] {
		delete(in.Properties, name)
	}
	return &in
}

// addRequest adds the fields of an operation's request. In a tool with several operations,
// a field is required if all of them require it.
func (t *tool) addRequest(in *jsonschema.Schema, requests Requests, request reflect.Type, first bool) error {
	s, err := requests.Schema(request, true)
	if err != nil {
		return err
	}
	for name, p := range s.Properties {
		if in.Properties[name] == nil && !slices.Contains(t.row.leaves, name) {
			in.Properties[name] = argument(name, p)
			refine(t.row.name, name, in.Properties[name])
		}
	}
	if first {
		in.Required = s.Required
	}
	in.Required = slices.DeleteFunc(in.Required, func(name string) bool {
		return !slices.Contains(s.Required, name) || slices.Contains(t.row.may, name)
	})
	return nil
}

// argument is the schema of an argument. For raw JSON, the Go type shows only that it is
// JSON.
func argument(name string, s *jsonschema.Schema) *jsonschema.Schema {
	s = terse(s)
	switch {
	case s.Type != "" || len(s.Types) > 0:
		return s
	case name == "metadata" || name == "state":
		return &jsonschema.Schema{Type: "object"}
	}
	return &jsonschema.Schema{}
}

// terse removes from an argument's schema what a model needn't know or clients can't read:
// that null is accepted too, that nested objects allow no other members (which are still
// refused), and all forms except the first.
func terse(s *jsonschema.Schema) *jsonschema.Schema {
	if len(s.AnyOf) > 0 {
		return terse(s.AnyOf[0])
	}
	if kinds := slices.DeleteFunc(slices.Clone(s.Types), func(kind string) bool { return kind == "null" }); len(kinds) == 1 {
		s.Type, s.Types = kinds[0], nil
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Not != nil {
		s.AdditionalProperties = nil
	}
	for name, p := range s.Properties {
		s.Properties[name] = argument(name, p)
	}
	if s.Items != nil {
		s.Items = terse(s.Items)
	}
	if s.AdditionalProperties != nil {
		s.AdditionalProperties = terse(s.AdditionalProperties)
	}
	return s
}

// maxNamed is how many members of a result its schema names at most. A longer list would
// use context in each turn for what the result itself shows later.
const maxNamed = 5

// topLevel names only a result's own members that have a single type: a model sees the
// rest in the result. No member is required, since a result may be cut.
func topLevel(s *jsonschema.Schema) *jsonschema.Schema {
	out := &jsonschema.Schema{Type: "object"}
	for name, p := range s.Properties {
		if p.Type != "" {
			if out.Properties == nil {
				out.Properties = map[string]*jsonschema.Schema{}
			}
			out.Properties[name] = &jsonschema.Schema{Type: p.Type}
		}
	}
	if len(out.Properties) > maxNamed {
		out.Properties = nil
	}
	return out
}
