package program

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// slotNode reads an input or a variable by its slot, where cel-go would look up its name
// each time. Within a comprehension, whose own names come first, it leaves the lookup to
// cel-go.
type slotNode struct {
	interpreter.InterpretableV2
	slot int
}

// Exec implements interpreter.InterpretableV2.
func (n *slotNode) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	if r, ok := frame.Activation.(*run); ok {
		return r.value(n.slot)
	}
	return n.InterpretableV2.Exec(frame)
}

// float implements doubleNode, for inputs and variables that are doubles.
func (n *slotNode) float(frame *interpreter.ExecutionFrame) (float64, ref.Val) {
	if r, ok := frame.Activation.(*run); ok {
		if x, ok := r.number(n.slot); ok {
			return x, nil
		}
	}
	v := n.Exec(frame)
	if x, ok := v.(types.Double); ok {
		return float64(x), nil
	}
	return 0, types.MaybeNoSuchOverloadErr(v)
}

// bySlot replaces the names of a scope in a program's plan.
func (s *scope) bySlot(node interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	attribute, ok := node.(interpreter.InterpretableAttribute)
	if !ok {
		return node, nil
	}
	name, ok := attribute.Attr().(interpreter.NamespacedAttribute)
	if !ok || len(name.Qualifiers()) > 0 || len(name.CandidateVariableNames()) != 1 {
		return node, nil
	}
	if slot, known := s.slots[name.CandidateVariableNames()[0]]; known {
		return &slotNode{InterpretableV2: plain{node}, slot: slot}, nil
	}
	return node, nil
}

// plain hides that a node is an attribute. Otherwise the planner would add the selectors
// after a name: state.x would then read x of the slot's value.
type plain struct{ interpreter.InterpretableV2 }
