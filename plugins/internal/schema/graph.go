package schema

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// inPlace lists the subschemas that judge the same value as s.
func inPlace(s *jsonschema.Schema) []*jsonschema.Schema {
	out := []*jsonschema.Schema{s.Ref, s.Not, s.If, s.Then, s.Else}
	out = slices.Concat(out, s.AllOf, s.AnyOf, s.OneOf)
	for _, name := range sortedKeys(s.DependentSchemas) {
		out = append(out, s.DependentSchemas[name])
	}
	for _, name := range sortedKeys(s.Dependencies) {
		if dep, ok := s.Dependencies[name].(*jsonschema.Schema); ok {
			out = append(out, dep)
		}
	}
	return slices.DeleteFunc(out, isNil)
}

// below lists the subschemas that judge parts of s's value, and those that can only be
// determined at run time ($recursiveRef, $dynamicRef).
func below(s *jsonschema.Schema) []*jsonschema.Schema {
	out := []*jsonschema.Schema{s.PropertyNames, s.UnevaluatedProperties, s.UnevaluatedItems, s.Contains,
		s.Items2020, s.ContentSchema, s.RecursiveRef}
	if s.DynamicRef != nil {
		out = append(out, s.DynamicRef.Ref)
	}
	for _, v := range []any{s.AdditionalProperties, s.AdditionalItems, s.Items} {
		switch v := v.(type) {
		case *jsonschema.Schema:
			out = append(out, v)
		case []*jsonschema.Schema:
			out = append(out, v...)
		}
	}
	out = append(out, s.PrefixItems...)
	for _, name := range sortedKeys(s.Properties) {
		out = append(out, s.Properties[name])
	}
	for _, child := range s.PatternProperties {
		out = append(out, child)
	}
	return slices.DeleteFunc(out, isNil)
}

func isNil(s *jsonschema.Schema) bool { return s == nil }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// reachable lists s and every subschema that can be reached from it, each once.
func reachable(s *jsonschema.Schema) []*jsonschema.Schema {
	seen := map[*jsonschema.Schema]bool{s: true}
	list := []*jsonschema.Schema{s}
	for i := 0; i < len(list); i++ {
		for _, child := range slices.Concat(inPlace(list[i]), below(list[i])) {
			if !seen[child] {
				seen[child] = true
				list = append(list, child)
			}
		}
	}
	return list
}

// checkLoops refuses a schema that leads back to itself without going into the value:
// it has no meaning, and an engine that follows it never stops.
func checkLoops(root *jsonschema.Schema, base string) error {
	done := map[*jsonschema.Schema]bool{}
	var path []*jsonschema.Schema
	var visit func(s *jsonschema.Schema) error
	visit = func(s *jsonschema.Schema) error {
		if i := slices.Index(path, s); i >= 0 {
			return loopError(append(path[i:], s), base)
		}
		if done[s] {
			return nil
		}
		path = append(path, s)
		for _, child := range inPlace(s) {
			if err := visit(child); err != nil {
				return err
			}
		}
		path = path[:len(path)-1]
		done[s] = true
		return nil
	}
	for _, s := range reachable(root) {
		if err := visit(s); err != nil {
			return err
		}
	}
	return nil
}

func loopError(loop []*jsonschema.Schema, base string) error {
	var names []string
	for _, s := range loop {
		names = append(names, "#"+schemaPath(s.Location, base))
	}
	return schemaErrorAt(schemaPath(loop[0].Location, base), "it refers back to itself without going into the value: %s",
		abbreviate(strings.Join(names, " → "))).WithHint("put the $ref under properties or items, or remove it")
}

// wantsText reports whether a schema explicitly accepts strings. A schema that merely
// doesn't exclude them, such as {"required": […]}, describes JSON.
func wantsText(s *jsonschema.Schema) bool {
	seen := map[*jsonschema.Schema]bool{}
	var visit func(s *jsonschema.Schema) bool
	visit = func(s *jsonschema.Schema) bool {
		if s == nil || seen[s] {
			return false
		}
		seen[s] = true
		if s.Types != nil && slices.Contains(s.Types.ToStrings(), "string") || namesText(s) || visit(s.Ref) {
			return true
		}
		return slices.ContainsFunc(slices.Concat(s.AllOf, s.AnyOf, s.OneOf), visit)
	}
	return visit(s)
}

func namesText(s *jsonschema.Schema) bool {
	var values []any
	if s.Const != nil {
		values = append(values, *s.Const)
	}
	if s.Enum != nil {
		values = append(values, s.Enum.Values...)
	}
	return slices.ContainsFunc(values, func(v any) bool { _, ok := v.(string); return ok })
}

// reportAll changes a compiled schema so that every failing assertion is reported. The
// engine stops at the first failure of type, const, enum and format, and it reports
// propertyNames at a place that later siblings overwrite. Neither happens if these
// keywords are extensions.
func reportAll(s *jsonschema.Schema) {
	if s.Bool != nil || s.Ref != nil && s.DraftVersion < 2019 {
		return // before 2019-09, other keywords next to $ref are ignored
	}
	if s.PropertyNames != nil {
		s.Extensions = append(s.Extensions, propertyNames{s.PropertyNames})
		s.PropertyNames = nil
	}
	var parts assertions
	split := func(part jsonschema.Schema) {
		part.DraftVersion, part.Location = s.DraftVersion, s.Location
		parts = append(parts, &part)
	}
	if s.Types != nil {
		split(jsonschema.Schema{Types: s.Types})
	}
	if s.Const != nil {
		split(jsonschema.Schema{Const: s.Const})
	}
	if s.Enum != nil {
		split(jsonschema.Schema{Enum: s.Enum})
	}
	if s.Format != nil {
		split(jsonschema.Schema{Format: s.Format})
	}
	if len(parts) == 1 && s.Types != nil && len(inPlace(s)) == 0 {
		return // no other assertion can fail on a value of the wrong type
	}
	if len(parts) > 0 {
		s.Types, s.Const, s.Enum, s.Format = nil, nil, nil, nil
		s.Extensions = append(s.Extensions, parts)
	}
}

// assertions are the parts of one schema that are checked independently.
type assertions []*jsonschema.Schema

// Validate reports each part that fails.
func (a assertions) Validate(ctx *jsonschema.ValidatorContext, v any) {
	for _, part := range a {
		for _, e := range Causes(part.Validate(v)) {
			ctx.AddError(e.ErrorKind)
		}
	}
}

// propertyNames is the keyword of that name.
type propertyNames struct{ schema *jsonschema.Schema }

// Validate reports each property whose name fails.
func (p propertyNames) Validate(ctx *jsonschema.ValidatorContext, v any) {
	m, _ := v.(map[string]any)
	for _, name := range sortedKeys(m) {
		if failed := Causes(p.schema.Validate(name)); len(failed) > 0 {
			ctx.AddErrors(failed, &kind.PropertyNames{Property: name})
		}
	}
}

// Causes are the errors under the root of a validation's error.
func Causes(err error) []*jsonschema.ValidationError {
	var e *jsonschema.ValidationError
	if errors.As(err, &e) {
		return e.Causes
	}
	return nil
}
