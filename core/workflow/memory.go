package workflow

import (
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core/document"
	"github.com/reflectory/reflectory/core/workflow/action"
	"github.com/reflectory/reflectory/core/workflow/template"
)

// memory reads the with: block of a memory.* action. Its keys are the keys of the
// request; any value may have templates, so types are checked when it is rendered.
// Without a namespace, the run's is used.
func (l *loader) memory(b *block, verb action.MemoryVerb) action.Spec {
	for _, key := range b.keys {
		if key.Required {
			b.Need(key.Name)
		}
	}
	if verb == action.VerbFeedback {
		b.outcome()
	}
	return &action.MemorySpec{Verb: verb, Request: l.request(b)}
}

// request is a with: block whose keys are the keys of a request.
func (l *loader) request(b *block) action.Value {
	request := object{}
	for _, key := range slices.SortedFunc(slices.Values(b.keys), func(a, b Key) int { return strings.Compare(a.Name, b.Name) }) {
		if n := b.Get(key.Name); n != nil {
			request = append(request, field{key.Name, l.part(n, key.Sees)})
		}
	}
	return newValue(request, nil)
}

// outcome checks the outcome of a feedback, unless it is a template.
func (b *block) outcome() {
	for _, key := range []string{"outcome", "source", "failure_class"} {
		if n := b.Get(key); n != nil && (n.Kind != document.Text || !template.Is(n.Text)) {
			b.oneOf(key)
		}
	}
}
