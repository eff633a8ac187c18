package workflow

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/document"
	"github.com/reflectory/reflectory/core/workflow/action"
	"github.com/reflectory/reflectory/core/workflow/template"
)

// memory reads the with: block of a memory.* action. Its keys are the keys of the
// request; any value may have templates, so types are checked when it is rendered.
// Without a namespace, the run's is used.
func (l *loader) memory(b *block, verb action.MemoryVerb) action.Spec {
	var keys []string
	switch verb {
	case action.VerbObserve:
		b.Need("content")
		keys = jsonKeys(reflect.TypeFor[core.ObserveRequest]())
	case action.VerbReflect:
		b.Need("source_ids")
		b.Need("content")
		keys = jsonKeys(reflect.TypeFor[core.ReflectRequest]())
	case action.VerbRecall:
		b.Need("query")
		keys = jsonKeys(reflect.TypeFor[core.RecallRequest]())
	case action.VerbFeedback:
		b.outcome()
		keys = jsonKeys(reflect.TypeFor[core.FeedbackRequest]())
	}
	request := object{}
	for _, key := range keys {
		if n := b.Get(key); n != nil {
			request = append(request, field{key, l.part(n, stateOnly())})
		}
	}
	return &action.MemorySpec{Verb: verb, Request: newValue(request, nil)}
}

// outcome checks the outcome of a feedback, unless it is a template.
func (b *block) outcome() {
	words := map[string][]string{
		"outcome": {string(core.OutcomeSuccess), string(core.OutcomeFailure), string(core.OutcomePartial)},
		"source":  {"user", "tool", "text"},
	}
	for _, key := range slices.Sorted(maps.Keys(words)) {
		if n := b.Get(key); n != nil && (n.Kind != document.Text || !template.Is(n.Text)) {
			b.oneOf(key, words[key]...)
		}
	}
}

// jsonKeys are the names of a struct's fields in JSON, sorted.
func jsonKeys(t reflect.Type) []string {
	var keys []string
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			keys = append(keys, name)
		}
	}
	slices.Sort(keys)
	return keys
}
