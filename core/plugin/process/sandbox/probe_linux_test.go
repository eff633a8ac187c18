package sandbox

import (
	"slices"
	"strings"
	"testing"
)

// TestStatus_NamesAbstractSockets where the kernel can't hold plugins back from them.
func TestStatus_NamesAbstractSockets(t *testing.T) {
	for abi := range 9 {
		if named := strings.Contains(unscoped(abi), "abstract Unix socket"); named != (abi < scopeABI) {
			t.Errorf("Landlock %d: %q", abi, unscoped(abi))
		}
	}
	here := look()
	if note := unscoped(here.Landlock); note != "" && !slices.Contains(here.Notes, note) {
		t.Errorf("the notes are %q", here.Notes)
	}
}
