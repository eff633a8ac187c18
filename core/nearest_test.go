package core_test

import (
	"testing"

	"github.com/reflectory/reflectory/core"
)

func TestNearestFindsMisspellings(t *testing.T) {
	names := []string{"max_iterations", "name", "on_failure", "state", "type"}
	for word, want := range map[string]string{
		"max_iteration": "max_iterations",
		"on_fialure":    "on_failure",
		"tpye":          "type",
		"stat":          "state",
		"namee":         "name",
		"colour":        "",
		"":              "",
	} {
		if got := core.Nearest(word, names); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}
