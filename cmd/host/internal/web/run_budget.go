package web

import (
	"fmt"
	"time"

	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/workflow"
	"github.com/reflectory/reflectory/core/workflow/action"
)

// budget is a limit of a loop, and how much of it was used.
type budget struct {
	Node string  `json:"node"`
	Name string  `json:"name"`
	Used float64 `json:"used"`
	Most float64 `json:"limit"`
	Text string  `json:"text"`
}

// Near is the use at which a budget begins to count as nearly used up.
func (b budget) Near() float64 { return b.Most * 0.8 }

// budgetsOf are the limits of the loops that a run has visited, with what the run used. If
// this version can no longer load the workflow, there are none.
func budgetsOf(r *operation.Run) []budget {
	list := []budget{}
	plan, err := workflow.Load(r.Source, host.LoadOptions())
	if err != nil {
		return list
	}
	for _, n := range plan.Nodes {
		spec, is := n.Action.(*action.LoopSpec)
		loop := visitOf(r.Loops, 0)
		for i := range r.Loops {
			if r.Loops[i].Node == n.Name {
				loop = &r.Loops[i]
			}
		}
		if !is || loop == nil || loop.Node != n.Name {
			continue
		}
		var tokens int64
		var usd float64
		for _, a := range loop.Attempts {
			tokens += a.Usage.TokensIn + a.Usage.TokensOut
			usd += a.Usage.CostUSD
		}
		active := loop.Attempts[len(loop.Attempts)-1].ActiveMillis
		add := func(name string, used, most float64, text string) {
			if most > 0 {
				list = append(list, budget{n.Name, name, min(used, most), most, text})
			}
		}
		l := spec.Limits
		add("Iterations", float64(len(loop.Attempts)), float64(l.MaxIterations), fmt.Sprintf("%d of %d", len(loop.Attempts), l.MaxIterations))
		add("Active time", float64(active), float64(l.Timeout/time.Millisecond), fmt.Sprintf("%s of %s", took(active), took(int64(l.Timeout/time.Millisecond))))
		add("Tokens", float64(tokens), float64(l.BudgetTokens), fmt.Sprintf("%s of %s", count(tokens), count(l.BudgetTokens)))
		add("Cost", usd, l.BudgetUSD, fmt.Sprintf("%s of %s", cost(usd), cost(l.BudgetUSD)))
	}
	return list
}
