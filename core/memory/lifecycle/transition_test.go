package lifecycle_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/lifecycle"
	"github.com/reflectory/reflectory/sdk"
)

// allowed are the documented transitions, sentence by sentence: from, to, by. That a
// promoted memory can be erased follows from what an erasure is for.
const allowed = `
open               active             retention
open               cooling            retention
active             cooling            retention
cooling            active             retention
cooling            revalidate_pending retention
open               revalidate_pending retention
active             revalidate_pending retention
revalidate_pending active             gate
revalidate_pending cooling            gate
revalidate_pending purged             gate
revalidate_pending promoted           gate
open               archived           dream
active             archived           dream
cooling            archived           dream
open               consolidated       dream
active             consolidated       dream
cooling            consolidated       dream
archived           active             restore
consolidated       active             restore
archived           open               undo
archived           active             undo
archived           cooling            undo
consolidated       open               undo
consolidated       active             undo
consolidated       cooling            undo
archived           purged             gate
consolidated       purged             gate
promoted           purged             gate
promoted           revalidate_pending retention
open               revalidate_pending erasure
active             revalidate_pending erasure
cooling            revalidate_pending erasure
`

func TestTransitionsAreThoseOfTheSpecificationAndNoOthers(t *testing.T) {
	want := map[string]bool{}
	for line := range strings.Lines(strings.TrimSpace(allowed)) {
		want[strings.Join(strings.Fields(line), " ")] = true
	}
	seen := 0
	for _, from := range core.MemoryStates() {
		for _, to := range core.MemoryStates() {
			for _, by := range lifecycle.Actors() {
				err := lifecycle.Check(from, to, by)
				if name := string(from) + " " + string(to) + " " + string(by); want[name] != (err == nil) {
					t.Errorf("%s: %v, want allowed %v", name, err, want[name])
				}
				if err == nil {
					seen++
					continue
				}
				checkRefusal(t, err, from, to)
			}
		}
	}
	if seen != len(want) {
		t.Errorf("%d transitions are allowed, want %d", seen, len(want))
	}
}

// checkRefusal checks that a refusal names both states, and what to do instead.
func checkRefusal(t *testing.T, err error, from, to core.MemoryState) {
	t.Helper()
	e := sdk.AsError(err)
	if sdk.CodeOf(err) != sdk.Conflict || e.Reason != "state_conflict" || e.Hint == "" ||
		!strings.Contains(e.Message, string(from)) || !strings.Contains(e.Message, string(to)) ||
		e.Details["state_before"] != from || e.Details["state_after"] != to {
		t.Errorf("%s → %s: the refusal is %+v", from, to, e)
	}
}

func TestTransitionsListWhatCheckAllows(t *testing.T) {
	list := lifecycle.Transitions()
	for i, tr := range list {
		if err := lifecycle.Check(tr.From, tr.To, tr.By); err != nil {
			t.Errorf("%+v: %v", tr, err)
		}
		if slices.Contains(list[:i], tr) {
			t.Errorf("%+v is listed twice", tr)
		}
	}
	list[0].To = core.StatePurged
	if err := lifecycle.Check(core.StateOpen, core.StatePurged, lifecycle.ByRetention); err == nil {
		t.Error("changing the list changed the table")
	}
}

func TestUnknownStatesAndActorsAreRefused(t *testing.T) {
	for _, c := range []lifecycle.Transition{
		{From: "", To: core.StateActive, By: lifecycle.ByRestore},
		{From: core.StateArchived, To: "", By: lifecycle.ByRestore},
		{From: core.StateArchived, To: core.StateActive, By: ""},
		{From: "OPEN", To: core.StateActive, By: lifecycle.ByRetention},
	} {
		if err := lifecycle.Check(c.From, c.To, c.By); sdk.ReasonOf(err) != "state_conflict" {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestOnlyTheGateEndsAMemory(t *testing.T) {
	for _, tr := range lifecycle.Transitions() {
		ends := tr.To == core.StatePurged || tr.To == core.StatePromoted
		erased := tr.To == core.StatePurged && (tr.From == core.StateArchived || tr.From == core.StateConsolidated || tr.From == core.StatePromoted)
		if ends && (tr.By != lifecycle.ByGate || tr.From != core.StateRevalidatePending && !erased) {
			t.Errorf("%+v ends a memory around the gate", tr)
		}
		falls := tr.From == core.StatePromoted && tr.To == core.StateRevalidatePending && tr.By == lifecycle.ByRetention
		if tr.From == core.StatePurged || tr.From == core.StatePromoted && !erased && !falls {
			t.Errorf("%+v comes back from the end", tr)
		}
	}
}
