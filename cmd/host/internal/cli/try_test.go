//go:build cgo && lua54

package cli

import (
	"encoding/json"
	"slices"
	"testing"
)

// What try says is what happened: the second day's run was given the memory that the first one
// wrote, and needs fewer attempts than the same run without it.
func TestTry_TheSecondRunIsBetterBecauseOfTheFirst(t *testing.T) {
	w := newWorld(t)
	code, stdout, stderr := w.run(t.Context(), "try", "--json")
	var told trial
	if err := json.Unmarshal([]byte(stdout), &told); err != nil || code != exitPassed || stderr != "" {
		t.Fatalf("exit %d, error %v\n%s%s", code, err, stdout, stderr)
	}
	monday, tuesday, without := told.Runs[0], told.Runs[1], told.Runs[2]
	if len(monday.Written) != 1 || !slices.Equal(tuesday.Given, monday.Written) || len(monday.Given)+len(without.Given) != 0 {
		t.Errorf("Monday's run wrote %v; Tuesday's was given %v, without the memory %v", monday.Written, tuesday.Given, without.Given)
	}
	if first := monday.Attempts[0]; first.Accepted || len(first.Errors) != 1 || first.Errors[0].Path != "/total" {
		t.Errorf("Monday's first attempt: %+v", first)
	}
	if a, b, c := len(monday.Attempts), len(tuesday.Attempts), len(without.Attempts); a != 2 || b != 1 || c != 2 {
		t.Errorf("%d, %d and %d attempts", a, b, c)
	}
	if string(tuesday.Output) != string(without.Output) {
		t.Errorf("the results differ: %s, %s", tuesday.Output, without.Output)
	}
	if told.Memory.ID != monday.Written[0] || told.Gate.MemoryID != told.Memory.ID || told.Dir != "" {
		t.Errorf("memory %s, gate %s, dir %q", told.Memory.ID, told.Gate.MemoryID, told.Dir)
	}
}
