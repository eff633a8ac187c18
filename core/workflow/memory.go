package workflow

import (
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core/document"
	"github.com/reflectory/reflectory/core/workflow/action"
	"github.com/reflectory/reflectory/core/workflow/template"
)

// memory reads the with: block of a memory.* action. Its keys are the
// request's; any value may be templated, so types are checked when it is rendered.
// The namespace is the run's where the block has none.
func (l *loader) memory(b *block, verb action.MemoryVerb) action.Spec {
	for _, key := range b.keys {
		if key.Required {
			b.Need(key.Name)
		}
	}
	if verb == action.VerbFeedback {
		b.outcome()
	}
	request := object{}
	for _, key := range slices.SortedFunc(slices.Values(b.keys), func(a, b Key) int { return strings.Compare(a.Name, b.Name) }) {
		if n := b.Get(key.Name); n != nil {
			request = append(request, field{key.Name, l.part(n, key.Sees)})
		}
	}
	return &action.MemorySpec{Verb: verb, Request: newValue(request, nil)}
}

// outcome checks what a feedback says, where no template says it.
func (b *block) outcome() {
	for _, key := range []string{"outcome", "source"} {
		if n := b.Get(key); n != nil && (n.Kind != document.Text || !template.Is(n.Text)) {
			b.oneOf(key)
		}
	}
}
