package program

import (
	"math"
	"slices"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

const (
	// CheapCost is the static upper bound up to which a policy runs without measuring its
	// cost, in cel-go's units.
	CheapCost = 10_000
	// CostLimit bounds the cost of a policy, when it is loaded by its static upper bound,
	// and at run time by measuring: about 0.1 s of work.
	CostLimit = 1_000_000
	// MaxTime stops a policy for which the measuring itself is slow: cel-go's time for
	// that is quadratic in the steps of a comprehension.
	MaxTime = time.Second
	// AssumedSize is the assumed maximum size of values of unknown size, for the decision
	// whether a policy's static cost is acceptable. The cost of policies that depend on
	// this assumption is measured.
	AssumedSize = 1000
)

// estimator gives cel-go the sizes of the inputs and the costs of our own functions.
type estimator struct {
	sizes map[string][]uint64
	// unknown is the size of a value about which nothing is known.
	unknown uint64
	own     map[string]Function // by overload
}

func newEstimator(sizes map[string][]uint64, unknown uint64) estimator {
	return estimator{sizes: sizes, unknown: unknown, own: ownByOverload()}
}

// EstimateSize implements checker.CostEstimator.
func (e estimator) EstimateSize(node checker.AstNode) *checker.SizeEstimate {
	most := e.unknown
	if path := node.Path(); len(path) > 0 {
		if sizes := e.sizes[path[0]]; len(path)-1 < len(sizes) {
			most = sizes[len(path)-1]
		}
	}
	return &checker.SizeEstimate{Min: 0, Max: most}
}

// EstimateCallCost implements checker.CostEstimator.
func (e estimator) EstimateCallCost(_, overload string, target *checker.AstNode, args []checker.AstNode) *checker.CallEstimate {
	if most, printed := printedSizes()[overload]; printed {
		return &checker.CallEstimate{
			CostEstimate: checker.FixedCostEstimate(1), ResultSize: &checker.SizeEstimate{Min: 1, Max: most},
		}
	}
	if isMatch(overload) {
		return e.estimateMatch(target, args)
	}
	f, own := e.own[overload]
	if !own {
		return nil
	}
	if target != nil {
		args = append([]checker.AstNode{*target}, args...)
	}
	return f.estimate(e.size, args)
}

// size is the size of a value, as far as it is known.
func (e estimator) size(node checker.AstNode) checker.SizeEstimate {
	if s := node.ComputedSize(); s != nil {
		return *s
	}
	return *e.EstimateSize(node)
}

// printedSizes are the most characters that conversions to text produce, which cel-go
// assumes to be unbounded.
func printedSizes() map[string]uint64 {
	return map[string]uint64{
		overloads.BoolToString: 5, overloads.IntToString: 20, overloads.UintToString: 20, overloads.DoubleToString: 24,
	}
}

// CallCost implements interpreter.ActualCostEstimator.
func (e estimator) CallCost(_, overload string, args []ref.Val, _ ref.Val) *uint64 {
	if isMatch(overload) && len(args) == 2 {
		cost := actualMatch(args)
		return &cost
	}
	f, own := e.own[overload]
	if !own {
		return nil
	}
	cost := f.actual(args)
	return &cost
}

// costs are the static bounds of an expression.
type costs struct {
	// least is its cost in any case.
	least uint64
	// proven is its highest cost, for any inputs.
	proven uint64
	// assumed is its highest cost if values of unknown size have AssumedSize.
	assumed uint64
}

func (c costs) plus(o costs) costs {
	return costs{add(c.least, o.least), add(c.proven, o.proven), add(c.assumed, o.assumed)}
}

// add stops at the largest number.
func add(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}

func (e *Env) costsOf(scope *cel.Env, checked *cel.Ast) (costs, error) {
	proven, err := scope.EstimateCost(checked, newEstimator(e.sizes, math.MaxUint64))
	if err != nil {
		return costs{}, err
	}
	assumed, err := scope.EstimateCost(checked, newEstimator(e.sizes, AssumedSize))
	if nests(checked.NativeRep()) {
		proven.Max = math.MaxUint64
	}
	return costs{least: proven.Min, proven: proven.Max, assumed: assumed.Max}, err
}

// nests reports whether an expression makes lists or maps that hold others or texts, adds lists, or compares such:
// cel-go's estimate counts only the elements of the outer one.
func nests(tree *ast.AST) bool {
	composite := func(e ast.Expr) bool {
		switch tree.GetType(e.ID()).Kind() {
		case types.DynKind, types.ListKind, types.MapKind, types.OpaqueKind, types.TypeParamKind:
			return true
		}
		return false
	}
	large := func(e ast.Expr) bool {
		kind := tree.GetType(e.ID()).Kind()
		return composite(e) || e.Kind() != ast.LiteralKind && (kind == types.StringKind || kind == types.BytesKind)
	}
	found := ast.MatchDescendants(ast.NavigateAST(tree), func(e ast.NavigableExpr) bool {
		switch e.Kind() {
		case ast.ListKind:
			return slices.ContainsFunc(e.AsList().Elements(), large)
		case ast.MapKind:
			return slices.ContainsFunc(e.AsMap().Entries(), func(entry ast.EntryExpr) bool { return large(entry.AsMapEntry().Value()) })
		case ast.CallKind:
			args := e.AsCall().Args()
			switch e.AsCall().FunctionName() {
			case operators.Equals, operators.NotEquals:
				return composite(args[0]) && composite(args[1])
			case operators.In:
				return composite(args[0])
			case operators.Add: // a list that a variable doubles, which the next one does, too
				return composite(e)
			}
		}
		return false
	})
	return len(found) > 0
}
