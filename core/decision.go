package core

import (
	"context"
	"encoding/json"
	"math"
	"time"

	"github.com/reflectory/reflectory/sdk"
)

// Policies, which belong to namespaces, and the expressions of a workflow file make
// decisions for the host. Their inputs and outcomes are typed here, so that the part that
// asks and package policy, which answers, don't import each other. An input holds
// everything that a policy may depend on, since a decision is recorded with its rule,
// and the same input has to give the same decision.

// Point is a point at which an expression or a policy decides. Each has its own
// variables.
type Point string

// The points at which the host's policies decide. Each point has its typed input and
// outcome below.
const (
	PointRetention Point = "retention" // which state a memory is in
	PointGate      Point = "gate"      // whether a memory is kept, purged or promoted
	PointReflect   Point = "reflect"   // whether a reflection may be written
	PointLoop      Point = "loop"      // whether an attempt passes, and whether a loop gives up
	PointInjection Point = "injection" // what a turn's prompt context holds
	PointRouting   Point = "routing"   // how sure a recommendation is
	PointAdmission Point = "admission" // whether a plugin may run
	PointAccess    Point = "access"    // whether somebody may do something
)

// PolicyPoints lists the points, in the order in which they are documented.
func PolicyPoints() []Point {
	return []Point{
		PointRetention, PointGate, PointReflect, PointLoop, PointInjection, PointRouting, PointAdmission, PointAccess,
	}
}

// Decision describes how a policy point was decided. Every outcome has one.
type Decision struct {
	Point     Point  `json:"point"`
	Namespace string `json:"namespace,omitempty"`
	// File is the policy's file, such as "gate/strict.yaml" or "default/gate.yaml", and
	// Digest is the digest of its text.
	File   string `json:"file"`
	Digest string `json:"digest"`
	// Rule is the id of the rule that decided, Path the path of the match in the file,
	// and Condition its condition; "" if it has none.
	Rule        string `json:"rule,omitempty"`
	Path        string `json:"path,omitempty"`
	Condition   string `json:"condition,omitempty"`
	Explanation string `json:"explanation,omitempty"`
	// Cost is in cel-go's units: the counted cost, or else the static upper bound.
	Cost    uint64        `json:"cost"`
	Latency time.Duration `json:"latency_ns"`
	// Failure is the reason why no policy could decide; the outcome is then the point's
	// safe outcome. nil if a policy decided.
	Failure *ErrorInfo `json:"failure,omitempty"`
	// Unread is the error with which the policies couldn't be read, such as a database that
	// can't be reached: then nobody refused anything. nil if they could. It isn't stored.
	Unread error `json:"-"`
}

// RetentionPolicy decides which state a memory is in.
type RetentionPolicy interface {
	Retention(ctx context.Context, in *RetentionInput) RetentionOutcome
}

// ReflectPolicy decides whether a reflection may be written.
type ReflectPolicy interface {
	Reflect(ctx context.Context, in *ReflectInput) Permission
}

// Permission is an outcome of reflect, admission and access. A policy that fails
// denies.
type Permission struct {
	Allow bool
	// Code is a snake_case name of a refusal, and Reason a line that explains it.
	Code, Reason string
	Decision     Decision
}

// MemoryFacts are the facts about a memory, without its signals, for policies.
type MemoryFacts struct {
	MemoryID               string
	Kind, AgentID          string
	Tags                   []string
	Priority               int64
	Importance, Confidence float64
	ReflectionDepth        int64
	// Revalidation is the utility that the gate's last decision found, 0 before the
	// first.
	Revalidation float64
}

// FactsOf are the facts of a memory. Its tags must not change while a policy decides.
func FactsOf(m *Memory) MemoryFacts {
	f := MemoryFacts{
		MemoryID: m.ID, Kind: string(m.Kind), AgentID: m.AgentID, Tags: m.Tags, Priority: int64(m.Priority),
		Importance: m.Importance, Confidence: m.Confidence, ReflectionDepth: int64(m.ReflectionDepth),
	}
	if m.Signals.Revalidation != nil {
		f.Revalidation = *m.Signals.Revalidation
	}
	return f
}

// RetentionInput is what the retention policy sees of a memory.
type RetentionInput struct {
	Namespace string
	// State is the memory's present state.
	State string
	// Turn is the namespace's turn counter. LastHitTurn has a meaning only if Hits > 0.
	Turn, CreatedTurn, LastHitTurn int64
	// AgeTurns are the turns since the described event happened, or else since the memory
	// was written.
	AgeTurns         int64
	Hits, MissStreak int64
	// RelevantTurns counts the turns in which recall returned the memory.
	RelevantTurns int64
	// Gated is whether the gate ever decided on it, and SinceGate the relevant
	// turns since then.
	Gated     bool
	SinceGate int64
	// GateRest is how many relevant turns the memory rests after a decision of the gate.
	GateRest int64
	// SinceCooled are the relevant turns since it cooled, and CoolingWait how many it
	// needs before it may be active again. They only count while it is cooling.
	SinceCooled, CoolingWait int64
	// Sessions counts the sessions that used it.
	Sessions                      int64
	Successes, Partials, Failures int64
	HitRate, Utility, Q           float64
	// TTLScore is the last score, which is kept if the policy fails.
	TTLScore float64
	// Weights and thresholds come from the namespace's governance.
	Weights RetentionWeights
	Facts   MemoryFacts
}

// RetentionWeights are the settings of the retention formula.
type RetentionWeights struct {
	Hit, Utility, Miss, Stale      float64
	Active, Revalidate, Hysteresis float64
}

// DefaultRetentionWeights are the weights if no namespace sets them.
func DefaultRetentionWeights() RetentionWeights {
	return RetentionWeights{Hit: 0.5, Utility: 0.5, Miss: 0.03, Stale: 0.005, Active: 0.35, Revalidate: 0.15, Hysteresis: 0.15}
}

// averageLeft is the part of an average that is left after a relevant turn: it moves by a
// tenth.
const averageLeft = 0.9

// CorrectedHitRate is the hit rate without the effect of its start at 0. It is the
// average of what the relevant turns earned, from 0 to 1; newer turns count more. Before
// the first turn it is 0.
func (in *RetentionInput) CorrectedHitRate() float64 {
	if in.RelevantTurns <= 0 {
		return 0
	}
	return min(1, in.HitRate/(1-math.Pow(averageLeft, float64(in.RelevantTurns))))
}

// maxInactivityGap is the upper limit of the inactivity gap.
const maxInactivityGap = 40

// InactivityGap is the number of turns since the memory's last hit, at most 40.
func (in *RetentionInput) InactivityGap() int64 {
	since := in.CreatedTurn
	if in.Hits > 0 {
		since = in.LastHitTurn
	}
	return max(0, min(maxInactivityGap, in.Turn-since))
}

// Uses counts the turns in which the memory was used.
func (in *RetentionInput) Uses() int64 { return in.Successes + in.Partials + in.Failures }

// RetentionOutcome is the state that a memory should be in: its present state if
// nothing changes or the policy fails.
type RetentionOutcome struct {
	TTLScore float64
	State    string
	Decision Decision
}

// ReflectInput is what the reflect policy sees of a reflection to be written.
type ReflectInput struct {
	Namespace, AgentID, Kind, Title string
	Tags                            []string
	// Depth is the depth of the new reflection; Cap is the namespace's limit, which
	// applies whatever the policy says.
	Depth, Cap       int64
	Priority         int64
	Confidence       float64
	SourceIDs        []string
	SourceNamespaces []string
	SourceKinds      []string
}

// LoopInput is what the loop policy sees after a verdict. The data that it refers to must
// not change while the policy decides.
type LoopInput struct {
	Namespace string
	Workflow  string
	// Valid is the evaluator's verdict, and Accepted the result of the workflow's accept
	// rule, or Valid without one.
	Valid, Accepted bool
	// Score is the score of this attempt, BestScore the highest so far.
	Score, BestScore float64
	Iteration        int64
	Errors           []sdk.Finding
	Output           json.RawMessage
	// History are the judged attempts including this one, the oldest first, each as JSON.
	History [][]byte
	Usage   RunUsage
}

// LoopOutcome is the loop policy's answer. A policy that fails doesn't accept, and
// stops the loop; its Decision has the failure, which is the run's error.
type LoopOutcome struct {
	Accept, Stop bool
	Decision     Decision
}

// InjectionInput is what the injection policy sees of a turn.
type InjectionInput struct {
	Namespace, SessionID string
	Turn                 int64
	// Complexity and Risk are from 0 to 1.
	Complexity, Risk float64
	// FailureClass is the class of the previous turn's failure; "" after a success.
	FailureClass string
	// Blocks counts the candidates by category.
	Blocks map[string]int64
	// WindowFill is how full the session's window is, from 0 to 1.
	WindowFill float64
	// Bias is the session's bias, from -1 (its turns fail) to 1 (they succeed).
	Bias float64
}

// InjectionOutcome bounds a turn's prompt context. A policy that fails gives the
// built-in defaults.
type InjectionOutcome struct {
	Mode, Route         string
	MaxBlocks, MaxChars int64
	// MaxTokens bounds the tokens too; 0 is no limit.
	MaxTokens   int64
	CategoryCap map[string]int64
	// Ordering and Dedupe are strategies; "" is the default: priority_then_category, and
	// block_id.
	Ordering, Dedupe string
	// EnabledCategories are the categories that may be in the prompt; nil means all.
	EnabledCategories []string
	// RoleMix is a profile's id, or "".
	RoleMix  string
	Decision Decision
}

// RoutingInput is what the routing policy sees of the best candidate.
type RoutingInput struct {
	Namespace string
	// Score is the score of the match alone, FinalScore includes the success rate.
	Score, SuccessRate, FinalScore float64
	// Lead is how far ahead of the next candidate it is; FinalScore if there is no other.
	Lead       float64
	Candidates int64
}

// RoutingOutcome is how sure a recommendation is: high, medium or low. A policy
// that fails gives low.
type RoutingOutcome struct {
	Confidence string
	Decision   Decision
}

// AdmissionInput is what the admission policy sees of a plugin that is to run.
type AdmissionInput struct {
	Namespace string
	// Plugin is publisher/name.
	Plugin, Version, Digest string
	Kinds                   []string
	// Runtime is process or wasm.
	Runtime string
	// Capabilities are the granted capabilities, as operators write them:
	// "network:example.org:443".
	Capabilities []string
	// Shipped is whether it came with the host; Locked whether a lock pins it.
	Shipped, Locked bool
}

// AccessInput is what the access policy sees of a request.
type AccessInput struct {
	// Subject is the authorised user or program: a token's subject, or [OperatorSubject].
	Subject string
	// Local is whether the request came from the command line of this machine.
	Local bool
	// Operation is the operation, such as "memory_reflect", and Scope the scope that a
	// token needs for it, such as "memory:write".
	Operation, Scope string
	// Namespace is the namespace in which it is to be done.
	Namespace string
	// Scopes and Namespaces are the token's scopes and namespaces.
	Scopes, Namespaces []string
}

// The points at which expressions of a workflow decide, with their variables.
const (
	// PointWhen decides whether a node runs and where goto leads: state.
	PointWhen Point = "when"
	// PointAccept decides whether an attempt passes: valid, score, errors,
	// output, iteration.
	PointAccept Point = "accept"
	// PointStop decides whether a loop gives up: iteration, score, best_score,
	// errors, history, usage.
	PointStop Point = "stop"
	// PointVerdict makes a verdict from the output of a plug-in that wasn't written for
	// this host: output.
	PointVerdict Point = "verdict"
)

// Expressions compiles conditions. If one is invalid, the error is sdk.Invalid, reason
// "expression_invalid", with details line and column (from 1, within the source) of its
// first problem.
type Expressions interface {
	Compile(point Point, source string) (Expression, error)
}

// Expression is a compiled condition. It is safe for concurrent use.
type Expression interface {
	// Eval decides. vars are the variables of the expression's point, as encoding/json
	// and DecodeJSON make them. A missing key is an error.
	Eval(ctx context.Context, vars map[string]any) (bool, error)
}

// ValueExpressions compiles expressions that give a value of any type. Its errors are
// the same as [Expressions]'s.
type ValueExpressions interface {
	CompileValue(point Point, source string) (ValueExpression, error)
}

// ValueExpression is a compiled expression. It is safe for concurrent use.
type ValueExpression interface {
	// Value returns the expression's value, as encoding/json would have it: nil, bool, a
	// number, string, []any or map[string]any. vars are the variables of its point.
	Value(ctx context.Context, vars map[string]any) (any, error)
}

// Rounded rounds a score to 1e-9, the precision with which scores are compared and
// recorded. The errors of sums of decimal fractions are smaller, and so are differences
// between processors, so numbers that look equal are equal.
func Rounded(x float64) float64 { return math.Round(x*1e9) / 1e9 }
