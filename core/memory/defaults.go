package memory

import (
	"slices"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/internal/bounds"
	"github.com/reflectory/reflectory/core/memory/lifecycle"
)

// The defaults of a new memory.
const (
	defaultPriority   = 5
	defaultImportance = 0.5
	defaultConfidence = 1.0
)

// described checks what a caller says about a new memory, and makes the memory with it.
func described(p *bounds.Problems, a *core.Attributes, now time.Time) *core.Memory {
	p.Word("agent_id", a.AgentID)
	p.Tags(a.Tags)
	p.Priority(a.Priority)
	p.Unit("importance", a.Importance)
	p.Unit("confidence", a.Confidence)
	return &core.Memory{
		AgentID: a.AgentID, Tags: distinct(core.NormalTags(a.Tags)), Priority: orDefault(a.Priority, defaultPriority),
		Importance: orDefault(a.Importance, defaultImportance), Confidence: orDefault(a.Confidence, defaultConfidence),
		Metadata: p.Metadata(a.Metadata), OccurredAt: p.Occurred(a.OccurredAt, now),
		State: core.StateOpen, Signals: lifecycle.Initial(),
	}
}

// distinct returns the tags without repetitions, in the same order.
func distinct(tags []string) []string {
	var list []string
	for _, tag := range tags {
		if !slices.Contains(list, tag) {
			list = append(list, tag)
		}
	}
	return list
}

// orDefault returns the value that a pointer points to, or a default for nil.
func orDefault[T int | float64](p *T, value T) T {
	if p == nil {
		return value
	}
	return *p
}
