package coretest

import (
	"math"
	"testing"
)

// Budget is what a path may cost each time, as counts, which don't depend on how busy the machine is. A
// bound has about a tenth of room, so that a test of it fails before the path does its work twice.
type Budget struct {
	// Path names what is counted.
	Path string
	// Allocations is how many the process may make, the caller's own included.
	Allocations float64
	// Commits is how many the store may make, if Store is set.
	Commits uint64
	Store   interface{ Commits() uint64 }
}

const (
	budgetRounds = 3
	budgetRuns   = 20
	// BudgetCalls is how often [Budget.Check] calls the path.
	BudgetCalls = budgetRounds * (budgetRuns + 1)
)

// Check fails if the path costs more than its budget, or so little that the bound wouldn't notice if the
// work doubled. What runs besides the path counts too, so that the cheapest of some rounds counts. Call
// [Plain] first, since the race detector makes allocations.
func (b Budget) Check(t *testing.T, path func()) {
	t.Helper()
	commits := func() uint64 {
		if b.Store == nil {
			return 0
		}
		return b.Store.Commits()
	}
	allocations, before := math.Inf(1), commits()
	for range budgetRounds {
		allocations = min(allocations, testing.AllocsPerRun(budgetRuns, path))
	}
	made := float64(commits()-before) / BudgetCalls
	t.Logf("%s: %.0f allocations (limit %.0f), %.2f commits (limit %d)", b.Path, allocations, b.Allocations, made, b.Commits)
	if allocations > b.Allocations {
		t.Errorf("%s makes %.0f allocations (limit %.0f): make fewer, or say in the commit why it needs them", b.Path, allocations, b.Allocations)
	}
	if allocations < 0.7*b.Allocations {
		t.Errorf("%s makes only %.0f allocations: lower its limit to %.0f, so that it is noticed if they double", b.Path, allocations, math.Ceil(1.1*allocations))
	}
	if made > float64(b.Commits)+0.5 { // such as one that says when a token was used
		t.Errorf("%s makes %.2f commits (limit %d)", b.Path, made, b.Commits)
	}
}
