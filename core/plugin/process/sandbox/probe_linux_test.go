package sandbox

import (
	"slices"
	"strings"
	"testing"
)

// TestStatus_NamesAbstractSockets where nothing keeps other programs from a plugin that listens.
func TestStatus_NamesAbstractSockets(t *testing.T) {
	for abi := range 9 {
		for _, network := range []bool{false, true} {
			note := unscoped(abi, network)
			if named := strings.Contains(note, "abstract Unix socket"); named == network {
				t.Errorf("Landlock %d, network namespace %t: %q", abi, network, note)
			}
			if named := strings.Contains(note, "signals"); named != (abi < scopeABI) {
				t.Errorf("Landlock %d, network namespace %t: %q", abi, network, note)
			}
		}
	}
	here := Probe()
	if note := unscoped(here.Landlock, here.Network); note != "" && !slices.Contains(here.Notes, note) {
		t.Errorf("the notes are %q", here.Notes)
	}
}
