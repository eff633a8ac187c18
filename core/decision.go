package core

import (
	"context"
	"encoding/json"
	"math"
	"time"

	"github.com/reflectory/reflectory/sdk"
)

// Policies, which hold for namespaces, and the expressions of a workflow file make
// decisions for the host. Their inputs and outcomes are typed here, so that the part that
// asks and package policy, which answers, don't import each other. An input holds all that
// a policy may depend on: a decision is recorded with its rule, and the same input has to
// give the same decision.

// Point is a place where an expression or a policy decides. Each has its own
// variables.
type Point string

// The points at which the host's policies decide. Each has its typed
// input and outcome below.
const (
	PointRetention Point = "retention" // which state a memory is in
	PointGate      Point = "gate"      // whether a memory is kept, purged or promoted
	PointReflect   Point = "reflect"   // whether a reflection may be written
	PointLoop      Point = "loop"      // whether an attempt passes, and a loop gives up
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

// Decision says how a policy point was decided. Every outcome has one.
type Decision struct {
	Point     Point  `json:"point"`
	Namespace string `json:"namespace,omitempty"`
	// File is the policy's, such as "gate/strict.yaml" or "default/gate.yaml", and
	// Digest is its text's.
	File   string `json:"file"`
	Digest string `json:"digest"`
	// Rule is the id of the rule that decided, Path the place of its match in the
	// file, Condition the match's source, "" where it always holds.
	Rule        string `json:"rule,omitempty"`
	Path        string `json:"path,omitempty"`
	Condition   string `json:"condition,omitempty"`
	Explanation string `json:"explanation,omitempty"`
	// Cost is in cel-go's units: what was counted, or else the static upper bound.
	Cost    uint64        `json:"cost"`
	Latency time.Duration `json:"latency_ns"`
	// Failure is why no policy could decide; the outcome is then the point's safe
	// one. nil where a policy decided.
	Failure *ErrorInfo `json:"failure,omitempty"`
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
	// Code is a snake_case name of a refusal, and Reason a line that says why.
	Code, Reason string
	Decision     Decision
}

// MemoryFacts are what a memory is, apart from what its use has shown, for policies.
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
	// State is the one that the memory is in.
	State string
	// Turn is the namespace's turn counter. LastHitTurn counts only if Hits > 0.
	Turn, CreatedTurn, LastHitTurn int64
	// AgeTurns are the turns since what it tells of happened, else since it was
	// written.
	AgeTurns         int64
	Hits, MissStreak int64
	// RelevantTurns counts the turns in which recall returned the memory.
	RelevantTurns int64
	// Gated is whether the gate ever decided on it, and SinceGate the relevant
	// turns since then.
	Gated     bool
	SinceGate int64
	// GateRest is how many relevant turns the gate isn't asked for after a decision.
	GateRest int64
	// SinceCooled are the relevant turns since it cooled, of which it needs CoolingWait
	// before it may be active again. They count only while it is cooling.
	SinceCooled, CoolingWait int64
	// Sessions counts the sessions that used it.
	Sessions                      int64
	Successes, Partials, Failures int64
	HitRate, Utility, Q           float64
	// TTLScore is the last one, which stays where the policy fails.
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

// DefaultRetentionWeights are those that hold where no namespace sets them.
func DefaultRetentionWeights() RetentionWeights {
	return RetentionWeights{Hit: 0.5, Utility: 0.5, Miss: 0.03, Stale: 0.005, Active: 0.35, Revalidate: 0.15, Hysteresis: 0.15}
}

// averageLeft is how much of an average a relevant turn leaves: it moves by a tenth.
const averageLeft = 0.9

// CorrectedHitRate is the hit rate without the weight of its start: the average of
// what the relevant turns earned, the newest counting most, from 0 to 1. Before the
// first it is 0.
func (in *RetentionInput) CorrectedHitRate() float64 {
	if in.RelevantTurns <= 0 {
		return 0
	}
	return min(1, in.HitRate/(1-math.Pow(averageLeft, float64(in.RelevantTurns))))
}

// maxInactivityGap is where the inactivity gap ends.
const maxInactivityGap = 40

// InactivityGap is how many turns the memory wasn't hit, at most 40.
func (in *RetentionInput) InactivityGap() int64 {
	since := in.CreatedTurn
	if in.Hits > 0 {
		since = in.LastHitTurn
	}
	return max(0, min(maxInactivityGap, in.Turn-since))
}

// Uses counts the turns in which the memory was used.
func (in *RetentionInput) Uses() int64 { return in.Successes + in.Partials + in.Failures }

// RetentionOutcome is the state that a memory should be in: the one that it is
// in, where nothing changes or the policy fails.
type RetentionOutcome struct {
	TTLScore float64
	State    string
	Decision Decision
}

// ReflectInput is what the reflect policy sees of a reflection to be written.
type ReflectInput struct {
	Namespace, AgentID, Kind, Title string
	Tags                            []string
	// Depth is the new one; Cap the namespace's, which holds whatever the policy
	// says.
	Depth, Cap       int64
	Priority         int64
	Confidence       float64
	SourceIDs        []string
	SourceNamespaces []string
	SourceKinds      []string
}

// LoopInput is what the loop policy sees after a verdict. What it
// refers to must not change while the policy decides.
type LoopInput struct {
	Namespace string
	Workflow  string
	// Valid is the evaluator's word, and Accepted the workflow's: what its
	// accept rule says, or Valid without one.
	Valid, Accepted bool
	// Score is this attempt's, BestScore the highest so far.
	Score, BestScore float64
	Iteration        int64
	Errors           []sdk.Finding
	Output           json.RawMessage
	// History are the judged attempts with this one, the oldest first, each as
	// JSON.
	History [][]byte
	Usage   RunUsage
}

// LoopOutcome is what the loop policy says. A policy that fails doesn't accept,
// and stops; its Decision has the failure, which is the run's error.
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
	// FailureClass is the previous turn's, "" after a success.
	FailureClass string
	// Blocks counts the candidates by category.
	Blocks map[string]int64
	// WindowFill is how full the session's window is, from 0 to 1.
	WindowFill float64
	// Bias is the session's, from -1 (its turns fail) to 1 (they succeed).
	Bias float64
}

// InjectionOutcome bounds a turn's prompt context. A policy that fails gives the
// built-in defaults.
type InjectionOutcome struct {
	Mode, Route         string
	MaxBlocks, MaxChars int64
	// MaxTokens bounds the tokens too; 0 is no bound.
	MaxTokens   int64
	CategoryCap map[string]int64
	// Ordering and Dedupe are strategies; "" is the default: priority_then_category, and
	// block_id.
	Ordering, Dedupe string
	// EnabledCategories are those that may be in the prompt; nil is all of them.
	EnabledCategories []string
	// RoleMix is a profile's id, or "".
	RoleMix  string
	Decision Decision
}

// RoutingInput is what the routing policy sees of the best candidate.
type RoutingInput struct {
	Namespace string
	// Score is the match alone, FinalScore with the success rate.
	Score, SuccessRate, FinalScore float64
	// Lead is how far the next candidate lies behind; FinalScore without another.
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
	// Capabilities are those that were granted, as operators write them:
	// "network:example.org:443".
	Capabilities []string
	// Shipped is whether it came with the host; Locked whether a lock pins it.
	Shipped, Locked bool
}

// AccessInput is what the access policy sees of a request.
type AccessInput struct {
	// Subject is who was authorised: a token's subject, or [OperatorSubject].
	Subject string
	// Local is whether the request came from the command line of this machine.
	Local bool
	// Operation is what is to be done, such as "memory_reflect", and Scope what a token
	// needs for it, such as "memory:write".
	Operation, Scope string
	// Namespace is where it is to be done.
	Namespace string
	// Scopes and Namespaces are the token's.
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
	// PointVerdict makes a verdict of what a plug-in outputs that wasn't written for
	// this host: output.
	PointVerdict Point = "verdict"
)

// Expressions compiles conditions. The error of a bad one is sdk.Invalid,
// reason "expression_invalid", with details line and column (from 1, within
// the source) of its first problem.
type Expressions interface {
	Compile(point Point, source string) (Expression, error)
}

// Expression is a compiled condition. It is safe for concurrent use.
type Expression interface {
	// Eval decides. The variables are the ones of the expression's point, as
	// encoding/json and DecodeJSON make them. A missing key is an error.
	Eval(ctx context.Context, vars map[string]any) (bool, error)
}

// ValueExpressions compiles expressions that give a value of any type. The errors
// are the ones of [Expressions].
type ValueExpressions interface {
	CompileValue(point Point, source string) (ValueExpression, error)
}

// ValueExpression is a compiled one. It is safe for concurrent use.
type ValueExpression interface {
	// Value is what it gives, as encoding/json would have it: nil, bool, a number,
	// string, []any or map[string]any. The variables are the ones of its point.
	Value(ctx context.Context, vars map[string]any) (any, error)
}

// Rounded is a score as it is compared and recorded: to 1e-9. Sums of decimal fractions
// are off by less, and processors differ by less, so what reads as the same number is.
func Rounded(x float64) float64 { return math.Round(x*1e9) / 1e9 }
