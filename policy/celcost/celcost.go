// Package celcost bounds what the evaluation of a CEL expression may use: of time, and so of memory.
//
// cel-go counts the cost of each step, and stops an evaluation at a limit. But it counts 1 for what depends
// on sizes that only show at run time: a call whose arguments have no static type (a + a of two texts), lists in
// lists ([a, a] holds everything in a twice, so 40 of them in each other hold 2^40 values, which
// a comparison visits one by one), comparisons of lists and maps, and the length of a text. Here each call costs
// what it reads, and each list or map what it holds, with everything in its values. So nothing
// that an expression makes holds more than its limit, wherever it is used afterwards.
//
// It is internal to Reflectory: its API may change in any release.
package celcost

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

const (
	// interruptEvery is how many steps of a comprehension are between two checks of the context.
	interruptEvery = 100
	// copiedPerUnit is how many bytes of a text are read and copied for a unit of cost, as cel-go counts, and
	// comparedPerUnit how many are compared.
	copiedPerUnit, comparedPerUnit = 10, 100
	// construct is the function as which lists and maps of an expression are counted.
	construct = "@construct"
)

// Options make a program measure its cost, and stop at a limit or at the end of its context. own gives the cost of
// further functions; nil means that there are none.
func Options(limit uint64, own interpreter.ActualCostEstimator) []cel.ProgramOption {
	return []cel.ProgramOption{
		cel.CustomDecoratorV2(countConstructors), cel.CostLimit(limit), cel.InterruptCheckFrequency(interruptEvery),
		cel.CostTracking(estimator{limit, own}),
	}
}

// countConstructors makes cel-go count lists and maps of an expression like calls with their elements.
func countConstructors(node interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	if c, ok := node.(interpreter.InterpretableConstructor); ok {
		for _, element := range c.InitVals() {
			if _, constant := element.(interpreter.InterpretableConst); !constant {
				return call{node, c.InitVals()}, nil
			}
		}
	}
	return node, nil // it holds no more than the source says
}

// call implements interpreter.InterpretableCall.
type call struct {
	interpreter.InterpretableV2
	elements []interpreter.InterpretableV2
}

func (call) Function() string                      { return construct }
func (call) OverloadID() string                    { return "" }
func (c call) Args() []interpreter.InterpretableV2 { return c.elements }

// estimator implements interpreter.ActualCostEstimator.
type estimator struct {
	limit uint64
	own   interpreter.ActualCostEstimator
}

// CallCost is the cost of a call; nil leaves it to cel-go, which counts sizes where it knows the types.
func (e estimator) CallCost(function, overload string, args []ref.Val, result ref.Val) *uint64 {
	if e.own != nil {
		if cost := e.own.CallCost(function, overload, args, result); cost != nil {
			return cost
		}
	}
	var cost uint64
	switch function {
	case construct:
		cost = e.weight(result)
	case operators.Add:
		if cost = texts(args, copiedPerUnit); cost == 1 {
			cost = e.weight(args[1]) // what is added to a list; the rest was counted before
		}
	case operators.Equals, operators.NotEquals:
		cost = min(e.weight(args[0]), e.weight(args[1]))
	case operators.In:
		cost = e.search(args[0], args[1])
	default:
		switch overload {
		case overloads.StartsWithString, overloads.EndsWithString, overloads.ContainsString,
			overloads.LessString, overloads.LessEqualsString, overloads.GreaterString, overloads.GreaterEqualsString:
			return nil
		}
		cost = texts(args, copiedPerUnit)
	}
	return &cost
}

// texts is the cost of reading the texts among the arguments.
func texts(args []ref.Val, perUnit int) uint64 {
	size := 0
	for _, v := range args {
		switch v := v.(type) {
		case types.String:
			size += len(v)
		case types.Bytes:
			size += len(v)
		}
	}
	return 1 + uint64(size/perUnit)
}

// search is the cost of searching a list, or a key in a map.
func (e estimator) search(v, in ref.Val) uint64 {
	one := e.weight(v)
	list, ok := in.(traits.Lister)
	if !ok {
		return one
	}
	size, _ := list.Size().(types.Int)
	if one == 1 {
		return 1 + uint64(size)
	}
	return 1 + uint64(size) + e.weight(in)
}

// weight is how much a value holds: 1 for each value in it, at any depth, and more for texts. It stops
// counting above the limit.
func (e estimator) weight(v ref.Val) (sum uint64) {
	switch v := v.(type) {
	case types.String, types.Bytes:
		return texts([]ref.Val{v}, comparedPerUnit)
	case *types.Optional:
		if v.HasValue() {
			return e.weight(v.GetValue())
		}
	case traits.Mapper:
		for it := v.Iterator(); it.HasNext() == types.True && sum <= e.limit; {
			key := it.Next()
			sum += e.weight(key) + e.weight(v.Get(key))
		}
	case traits.Lister:
		for it := v.Iterator(); it.HasNext() == types.True && sum <= e.limit; {
			sum += e.weight(it.Next())
		}
	}
	return 1 + sum
}
