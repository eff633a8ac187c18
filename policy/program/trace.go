package program

import (
	"context"
	"fmt"

	"github.com/google/cel-go/common/types/ref"
)

// Trace describes how a run reached its result.
type Trace struct {
	// Steps are the conditions that were evaluated, in order.
	Steps []TraceStep `json:"steps"`
	// Variables are the policy's own variables that were needed, in the order in which
	// they were evaluated.
	Variables []TraceVariable `json:"variables,omitempty"`
	// whole is whether the variables that weren't needed are evaluated after the others.
	whole bool
}

// TraceStep is a condition that was evaluated.
type TraceStep struct {
	Match
	Holds bool `json:"holds"`
}

// TraceVariable is a variable that was needed.
type TraceVariable struct {
	Name  string `json:"name"`
	Value any    `json:"value"`
	// Expression is its source on one line.
	Expression string `json:"-"`
}

// Explain is [Program.Run] with a trace.
func (p *Program) Explain(ctx context.Context, inputs Inputs) (Result, Trace, error) {
	trace := &Trace{}
	result, err := p.run(ctx, inputs, trace)
	return result, *trace, err
}

// Workings is the trace of [Program.Run], with the variables that weren't needed too. It
// ends where the run failed.
func (p *Program) Workings(ctx context.Context, inputs Inputs) Trace {
	trace := &Trace{whole: true}
	_, _ = p.run(ctx, inputs, trace)
	return *trace
}

func (t *Trace) step(s *step, holds bool) {
	if t != nil {
		t.Steps = append(t.Steps, TraceStep{Match: s.match, Holds: holds})
	}
}

func (t *Trace) variable(of variable, v ref.Val) {
	if t == nil {
		return
	}
	left := 100 // more than a reader looks at
	value, err := native(v, &left)
	if err != nil {
		value = fmt.Sprintf("(%v)", err)
	}
	t.Variables = append(t.Variables, TraceVariable{Name: of.name, Value: value, Expression: oneLine(of.expression.text.Value)})
}
