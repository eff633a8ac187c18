package httpapi

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/governance"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/sdk"
)

// Schemas are generated from the Go types of requests and results, so they can't disagree.
// This file adds what a Go type doesn't show: the values of enumerations, the limits that
// the domain checks, from its constants, and the JSON of types with their own encoding.
// Requests allow no unknown members. Results do, since a later version may have more
// members.

// words are the enumerations, with their values.
func words() map[reflect.Type][]any {
	return map[reflect.Type][]any{
		reflect.TypeFor[core.MemoryKind](): anys([]core.MemoryKind{
			core.KindObservation, core.KindReflection, core.KindSemantic, core.KindProcedural, core.KindNotification,
		}),
		reflect.TypeFor[core.MemoryState]():     anys(core.MemoryStates()),
		reflect.TypeFor[core.Status]():          anys(core.RunStatuses()),
		reflect.TypeFor[core.Outcome]():         anys([]core.Outcome{core.OutcomeSuccess, core.OutcomeFailure, core.OutcomePartial}),
		reflect.TypeFor[policypoint.Point]():    anys(policypoint.Points()),
		reflect.TypeFor[job.Type]():             anys(job.Types()),
		reflect.TypeFor[job.Status]():           anys(job.Statuses()),
		reflect.TypeFor[operation.StatsScope](): anys(operation.StatsScopes()),
		reflect.TypeFor[core.BudgetSpan]():      anys(core.BudgetSpans()),
	}
}

func anys[T ~string](list []T) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = string(v)
	}
	return out
}

// written are the types that read or write their own JSON.
func written() map[reflect.Type]*jsonschema.Schema {
	return map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage]():    {},
		reflect.TypeFor[time.Time]():          {Type: "string", Format: "date-time"},
		reflect.TypeFor[operation.RunEnded](): {Type: "object"},
		reflect.TypeFor[sdk.Args]():           {Type: "object"},
		reflect.TypeFor[sdk.Verdict]():        {Type: "object"}, // it contains other objects
		reflect.TypeFor[governance.Scalar]():  {Types: []string{"string", "number", "boolean"}},
	}
}

// bound is the domain's limits for a field.
type bound struct {
	of    reflect.Type
	field string
	set   func(*jsonschema.Schema)
}

func between(least, most int) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) {
		s.Minimum, s.Maximum = jsonschema.Ptr(float64(least)), jsonschema.Ptr(float64(most))
	}
}

func items(least, most int) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) { s.MinItems, s.MaxItems = jsonschema.Ptr(least), jsonschema.Ptr(most) }
}

func chars(most int) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) { s.MaxLength = jsonschema.Ptr(most) }
}

func oneOf[T ~string](list []T) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) { s.Enum = anys(list) }
}

func bounds() []bound {
	list := []bound{
		{reflect.TypeFor[operation.Paging](), "limit", between(0, operation.MaxLimit)},
		{reflect.TypeFor[operation.Waiting](), "wait", between(0, operation.MaxWait)},
		{reflect.TypeFor[core.RecallRequest](), "limit", between(0, memory.MaxRecall)},
		{reflect.TypeFor[memory.KnowledgeQuery](), "limit", between(0, memory.MaxRecall)},
		{reflect.TypeFor[core.Attributes](), "tags", items(0, memory.MaxTags)},
		{reflect.TypeFor[core.Attributes](), "priority", between(memory.MinPriority, memory.MaxPriority)},
		{reflect.TypeFor[core.Attributes](), "importance", between(0, 1)},
		{reflect.TypeFor[core.Attributes](), "confidence", between(0, 1)},
		{reflect.TypeFor[operation.MemoryObserveAll](), "items", items(0, memory.MaxBatch)},
		{reflect.TypeFor[operation.JobEnqueue](), "type", oneOf(operation.MaintenanceTypes())},
		{reflect.TypeFor[operation.DreamDates](), "text", chars(operation.MaxDreamText)},
	}
	for _, written := range []reflect.Type{reflect.TypeFor[core.ObserveRequest](), reflect.TypeFor[core.ReflectRequest]()} {
		list = append(list, bound{written, "title", chars(memory.MaxTitleRunes)}, bound{written, "content", chars(memory.MaxContentBytes)})
	}
	return list
}

// mayMiss are the fields of requests that may be missing although their Go type requires
// them: a missing namespace is the configured one, and a missing list is empty.
var mayMiss = []string{"namespace", "outcomes", "memories", "edges", "items", "files"}

// schemaOf is the schema of a request or result.
func schemaOf(t reflect.Type, request bool) (*jsonschema.Schema, error) {
	types := written()
	for word, values := range words() {
		types[word] = &jsonschema.Schema{Type: "string", Enum: values}
	}
	if t == reflect.TypeFor[operation.EvidenceTool]() {
		return outcomes(types)
	}
	if s := types[t]; s != nil {
		return s, nil
	}
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: types})
	if err != nil {
		return nil, fmt.Errorf("the schema of %s: %w", t, err)
	}
	for _, b := range bounds() {
		if f := s.Properties[b.field]; f != nil && has(t, b.of) {
			b.set(f)
		}
	}
	if request {
		s.Required = slices.DeleteFunc(s.Required, func(name string) bool { return slices.Contains(mayMiss, name) })
	}
	adaptSchema(s, request)
	return s, nil
}

// outcomes are a list of outcomes, or a single outcome.
func outcomes(types map[reflect.Type]*jsonschema.Schema) (*jsonschema.Schema, error) {
	one, err := jsonschema.ForType(reflect.TypeFor[core.ToolOutcome](), &jsonschema.ForOptions{TypeSchemas: types})
	if err != nil {
		return nil, err
	}
	adaptSchema(one, true)
	(&annotator{}).fields(reflect.TypeFor[core.ToolOutcome](), one)
	list := &jsonschema.Schema{Type: "array", Items: one}
	return &jsonschema.Schema{
		Type: "object", AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
		Properties: map[string]*jsonschema.Schema{"outcomes": {AnyOf: []*jsonschema.Schema{list, one.CloneSchemas()}}},
	}, nil
}

// has reports whether a struct has a type, or embeds it.
func has(t, of reflect.Type) bool {
	if t == of {
		return true
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	for i := range t.NumField() {
		if f := t.Field(i); f.Anonymous && f.Type.Kind() == reflect.Struct && has(f.Type, of) {
			return true
		}
	}
	return false
}

// adaptSchema adapts a Go type's schema to what is sent: lists are never null, and results allow
// unknown members.
func adaptSchema(s *jsonschema.Schema, request bool) {
	if s == nil {
		return
	}
	if slices.Contains(s.Types, "array") && !request {
		s.Type, s.Types = "array", nil
	}
	if !request && len(s.Properties) > 0 {
		s.AdditionalProperties = nil
	}
	for _, p := range s.Properties {
		adaptSchema(p, request)
	}
	adaptSchema(s.Items, request)
	if s.AdditionalProperties != nil && s.AdditionalProperties.Not == nil {
		adaptSchema(s.AdditionalProperties, request)
	}
}
