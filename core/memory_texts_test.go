package core_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
)

// TestMemoryTexts_AreKnownOfEachField: a text that no purge knows of would stay in results of runs.
func TestMemoryTexts_AreKnownOfEachField(t *testing.T) {
	others := []string{ // numbers, times, names of things, and words that are one of a few
		"id", "namespace", "agent_id", "kind", "priority", "importance", "confidence", "reflection_depth", "access_count", "state", "state_before",
		"embedding_model", "occurred_at", "occurred_turn", "created_at", "updated_at", "last_accessed_at", "created_turn", "signals",
		"merged_into", "promoted_to", "version", "-",
	}
	for f := range reflect.TypeFor[core.Memory]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if slices.Contains(core.MemoryTexts(), name) == slices.Contains(others, name) {
			t.Errorf("add %s to MemoryTexts in core/memory.go if it is a text of the memory's writer, otherwise to others here", name)
		}
	}
}
