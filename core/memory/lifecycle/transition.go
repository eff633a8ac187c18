package lifecycle

import (
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// Actor is who may move a memory from one state to another.
type Actor string

// The actors.
const (
	ByRetention Actor = "retention" // the retention policy, after feedback or in a sweep
	ByGate      Actor = "gate"      // a recorded decision of the gate
	ByErasure   Actor = "erasure"   // a request to erase it, which puts it before the gate
	ByDream     Actor = "dream"     // a step of a dream pass
	ByRestore   Actor = "restore"   // a request to restore it
	ByUndo      Actor = "undo"      // a request to undo a step of a dream pass
)

// Actors lists every actor.
func Actors() []Actor {
	return []Actor{ByRetention, ByGate, ByErasure, ByDream, ByRestore, ByUndo}
}

// Transition is an allowed change of state.
type Transition struct {
	From, To core.MemoryState
	By       Actor
}

// transitions are all allowed transitions.
var transitions = [...]Transition{
	{core.StateOpen, core.StateActive, ByRetention},
	{core.StateOpen, core.StateCooling, ByRetention},
	{core.StateOpen, core.StateRevalidatePending, ByRetention},
	{core.StateActive, core.StateCooling, ByRetention},
	{core.StateActive, core.StateRevalidatePending, ByRetention},
	{core.StateCooling, core.StateActive, ByRetention},
	{core.StateCooling, core.StateRevalidatePending, ByRetention},
	// Knowledge whose last uses failed.
	{core.StatePromoted, core.StateRevalidatePending, ByRetention},

	{core.StateRevalidatePending, core.StateActive, ByGate},
	{core.StateRevalidatePending, core.StateCooling, ByGate},
	{core.StateRevalidatePending, core.StatePurged, ByGate},
	{core.StateRevalidatePending, core.StatePromoted, ByGate},

	{core.StateOpen, core.StateRevalidatePending, ByErasure},
	{core.StateActive, core.StateRevalidatePending, ByErasure},
	{core.StateCooling, core.StateRevalidatePending, ByErasure},

	{core.StateOpen, core.StateArchived, ByDream},
	{core.StateOpen, core.StateConsolidated, ByDream},
	{core.StateActive, core.StateArchived, ByDream},
	{core.StateActive, core.StateConsolidated, ByDream},
	{core.StateCooling, core.StateArchived, ByDream},
	{core.StateCooling, core.StateConsolidated, ByDream},

	{core.StateArchived, core.StateActive, ByRestore},
	{core.StateConsolidated, core.StateActive, ByRestore},
	{core.StateArchived, core.StateOpen, ByUndo},
	{core.StateArchived, core.StateActive, ByUndo},
	{core.StateArchived, core.StateCooling, ByUndo},
	{core.StateConsolidated, core.StateOpen, ByUndo},
	{core.StateConsolidated, core.StateActive, ByUndo},
	{core.StateConsolidated, core.StateCooling, ByUndo},
	// With the memory that it was merged into, or by an erasure.
	{core.StateArchived, core.StatePurged, ByGate},
	{core.StateConsolidated, core.StatePurged, ByGate},
	// By an erasure only: a right to be forgotten holds even if the memory became
	// knowledge.
	{core.StatePromoted, core.StatePurged, ByGate},
}

// Transitions lists every transition that is allowed. The caller owns the list.
func Transitions() []Transition { return slices.Clone(transitions[:]) }

// Check refuses a transition that isn't allowed: sdk.Conflict, reason "state_conflict",
// which names both states and what would be allowed.
func Check(from, to core.MemoryState, by Actor) error {
	if slices.Contains(transitions[:], Transition{from, to, by}) {
		return nil
	}
	return sdk.Errorf(sdk.Conflict, "state_conflict", "a memory that is %s can't become %s by %s", from, to, by).
		WithHint("%s", allowed(from)).
		WithDetail("state_before", from).WithDetail("state_after", to).WithDetail("by", by)
}

// allowed lists the states that may follow a state.
func allowed(from core.MemoryState) string {
	var ways []string
	for _, t := range transitions {
		if t.From == from {
			ways = append(ways, string(t.To)+" by "+string(t.By))
		}
	}
	if len(ways) == 0 {
		return "no state follows " + string(from)
	}
	return "from " + string(from) + " it can become " + strings.Join(ways, ", ")
}
