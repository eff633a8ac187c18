package gate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/sdk"
)

// Policy decides whether a memory is kept, purged or promoted.
type Policy interface {
	Gate(ctx context.Context, r core.Reader, in *policypoint.GateInput) policypoint.GateOutcome
	// GateWorkings are how the policy came to a decision. The gate reads the figures utility,
	// retain (the confidence of a retain in place of another verdict), failure_rate, frequency
	// and evidence_ttl; those that the policy that decided doesn't have are the default's.
	GateWorkings(ctx context.Context, r core.Reader, in *policypoint.GateInput, made policypoint.Decision) policypoint.GateWorkings
}

// Gate implements [verdict.Gate]. It is safe for concurrent use.
type Gate struct{ policy Policy }

var _ verdict.Gate = (*Gate)(nil)

// New returns a gate that decides with a policy.
func New(policy Policy) *Gate { return &Gate{policy: policy} }

// Decide implements [verdict.Gate]: it collects the evidence on the memory, asks the policy,
// and checks the engine's own conditions. If the policy fails or is cancelled, the memory
// is retained, with confidence 0. An error comes from the store, or from invalid factors
// and notes.
func (g *Gate) Decide(ctx context.Context, r core.Reader, c *verdict.GateCase) (*verdict.GateDecision, error) {
	if err := CheckFactors(c.Omega, c.Notes); err != nil {
		return nil, err
	}
	e, err := collect(r, c.Memory, c.Merged)
	if err != nil {
		return nil, err
	}
	in := e.input(c)
	var d *verdict.GateDecision
	if c.Erase != "" {
		d = erase(c)
		record(d, in, g.policy.GateWorkings(ctx, r, in, d.Policy))
	} else {
		d = g.decide(ctx, r, c, in)
		d.ReactRefs, d.GraphRefs = e.toolRefs, append([]string{}, e.graph.refs...)
	}
	d.Evidence = e.digest(c.Effect)
	d.Omega.UpstreamStatus, d.Omega.CodebaseVerification, d.Omega.RuntimeUtilityTrend =
		in.Omega.UpstreamStatus, in.Omega.CodebaseVerification, in.Omega.RuntimeUtilityTrend
	d.Omega.Notes = append(e.notes(), c.Notes...)
	d.Numbers.Workflow = e.graph.workflow
	return d, nil
}

// evidence is everything that is recorded about a memory.
type evidence struct {
	tally    *tally
	tools    policypoint.ReactEvidence
	toolRefs []string
	graph    inGraphs
	omega    keptOmega
}

// collect collects the evidence of a memory, and the tool evidence of the memories that were
// merged into it.
func collect(r core.Reader, m *core.Memory, merged []string) (e evidence, err error) {
	if e.tally, err = readTallies(r, m.ID, merged); err == nil {
		e.tools, e.toolRefs, err = react(r, m, merged, e.tally)
	}
	if err != nil {
		return e, sdk.Wrap("collect the tool evidence of memory "+m.ID, err)
	}
	if e.graph, err = graphs(r, m.ID); err != nil {
		return e, sdk.Wrap("collect the graph evidence of memory "+m.ID, err)
	}
	if e.omega, err = readOmega(r, m.ID); err != nil {
		return e, sdk.Wrap("collect the factors of memory "+m.ID, err)
	}
	return e, nil
}

// input is the policy's input.
func (e *evidence) input(c *verdict.GateCase) *policypoint.GateInput {
	m, s := c.Memory, &c.Memory.Signals
	return &policypoint.GateInput{
		NamedSessions: s.NamedSessions(), NamedFailures: s.NamedFailures(), MinConfidence: minimumConfidence(c.Governance),
		SettingsFail: c.Governance != nil && c.Governance.Failure != nil,
		Namespace:    m.Namespace, Successes: s.Successes, Partials: s.Partials, Failures: s.Failures, Named: s.Named(),
		RelevantTurns: s.RelevantTurns, Sessions: s.Sessions, LastOutcomeError: s.LastOutcomeError,
		Q: s.Q, Utility: s.Utility, React: e.tools, Graph: e.graph.GraphEvidence, Omega: e.omega.above(c.Omega),
		AgeTurns: m.AgeTurns(c.Turn), Gated: s.Gated || s.Revalidation != nil, Facts: policypoint.FactsOf(m),
		Effect: c.Effect, Tested: c.Effect != nil && s.RidesAlong(),
	}
}

// notes are the notes of the evidence.
func (e *evidence) notes() []string {
	if e.omega.Note == "" {
		return []string{}
	}
	return []string{e.omega.Note}
}

// digest identifies the evidence, with what a trial shows if there is one: if it changes, there is new evidence.
func (e *evidence) digest(effect *core.Effect) string {
	const length = 16 // hexadecimal digits: it only distinguishes the states of one memory
	parts := []any{e.tally.Outcomes, e.graph.refs, e.omega.Seq}
	if effect != nil && effect.With+effect.Without > 0 {
		parts = append(parts, effect.With, effect.Without)
	}
	_, sum, _ := strings.Cut(core.Digest(jsontext.MustEncode(parts)), ":")
	return sum[:length]
}

// erase is the decision on a memory that somebody wants erased. The request counts as
// both the tool and the graph evidence, and no policy is asked.
func erase(c *verdict.GateCase) *verdict.GateDecision {
	refs := []string{"erasure:" + core.Digest([]byte(c.Erase))}
	return &verdict.GateDecision{
		MemoryID: c.Memory.ID, Namespace: c.Memory.Namespace, Verdict: policypoint.VerdictObsolete, Confidence: 1,
		Reason: "its erasure was requested: " + cut(c.Erase), NextAction: nextAction(policypoint.VerdictObsolete),
		ReactRefs: refs, GraphRefs: refs, Omega: verdict.OmegaRecord{Erasure: core.Digest([]byte(c.Erase))},
		Policy: policypoint.Decision{Point: policypoint.Gate, Namespace: c.Memory.Namespace, File: "the engine", Rule: "erasure"},
	}
}

// decide asks the policy, and applies the engine's conditions to its verdict.
func (g *Gate) decide(ctx context.Context, r core.Reader, c *verdict.GateCase, in *policypoint.GateInput) *verdict.GateDecision {
	out := safe(ctx, g.policy.Gate(ctx, r, in))
	out.Decision.Latency = 0 // a record doesn't depend on the machine's speed
	d := follow(in, out, g.policy.GateWorkings(ctx, r, in, out.Decision))
	d.MemoryID, d.Namespace = c.Memory.ID, c.Memory.Namespace
	return d
}

// follow is the decision that follows from a policy's outcome by the engine's conditions.
func follow(in *policypoint.GateInput, out policypoint.GateOutcome, w policypoint.GateWorkings) *verdict.GateDecision {
	d := &verdict.GateDecision{
		Verdict: out.Verdict, Confidence: out.Confidence, Reason: out.Reason, Policy: out.Decision,
		Conditions: Conditions(in, out),
	}
	if d.Unmet = Unmet(d.Conditions); len(d.Unmet) > 0 {
		d.Intended, d.IntendedConfidence = out.Verdict, out.Confidence
		d.Verdict, d.Confidence = policypoint.VerdictRetain, clamp(w.Figure(retainFigure).Value)
		d.Reason = shortfall(out.Verdict, d.Conditions)
	}
	d.NextAction = nextAction(d.Verdict)
	record(d, in, w)
	return d
}

// The figures that the engine uses, whatever else a policy has: the utility becomes the
// memory's revalidation_score, and retain is the confidence of a retain that the engine
// puts in place of another verdict.
const utilityFigure, retainFigure = "utility", "retain"

// record adds the numbers behind a decision to it. Of the default policy's figures it keeps
// only those that were used although another policy decided.
func record(d *verdict.GateDecision, in *policypoint.GateInput, w policypoint.GateWorkings) {
	d.Numbers = numbers(in, &w)
	d.Workings = w
	d.Workings.Figures = slices.DeleteFunc(slices.Clone(w.Figures), func(f policypoint.GateFigure) bool {
		return f.File != d.Policy.File && f.Name != utilityFigure && (f.Name != retainFigure || d.Intended == "")
	})
}

// safe is a policy's outcome, or a retain if the outcome can't be acted on.
func safe(ctx context.Context, out policypoint.GateOutcome) policypoint.GateOutcome {
	retain := func(reason string) policypoint.GateOutcome {
		return policypoint.GateOutcome{Verdict: policypoint.VerdictRetain, Reason: reason, Decision: out.Decision}
	}
	switch err := ctx.Err(); {
	case out.Decision.Failure != nil:
		return retain("the policy failed: " + cut(out.Decision.Failure.Message))
	case err != nil:
		return retain("the decision was cancelled")
	case nextAction(out.Verdict) == "":
		return retain(fmt.Sprintf("the policy gave the unknown verdict %.64q", out.Verdict))
	}
	out.Confidence, out.Reason = clamp(out.Confidence), cut(out.Reason)
	return out
}

// maxReason bounds a policy's reason, in characters.
const maxReason = 500

// cut shortens a text that is recorded.
func cut(text string) string {
	if runes := []rune(text); len(runes) > maxReason {
		return string(runes[:maxReason]) + "…"
	}
	return text
}

// nextAction is the consequence of a verdict; "" if there is no such verdict.
func nextAction(given string) string {
	switch given {
	case policypoint.VerdictRetain:
		return verdict.NextRetain
	case policypoint.VerdictObsolete:
		return verdict.NextPurge
	case policypoint.VerdictPromote:
		return verdict.NextPromote
	}
	return ""
}

// numbers are the numbers behind a decision.
func numbers(in *policypoint.GateInput, w *policypoint.GateWorkings) verdict.GateNumbers {
	return verdict.GateNumbers{
		React: in.React.Lane(), Good: in.React.Good, ToolFailures: in.React.ToolFailures, RecoverySuccess: in.React.RecoverySuccess,
		Recurrence: in.React.Recurrence,
		Graph:      in.Graph.Lane(), GraphKnown: in.Graph.Known, PathReachable: in.Graph.PathReachable,
		Dependency: in.Graph.Dependency, Decomposition: in.Graph.Decomposition,
		Omega: in.OmegaLane(), Q: in.Q, UtilityScore: in.Utility,
		Utility: clamp(w.Figure(utilityFigure).Value), Frequency: w.Figure("frequency").Value, EvidenceTTL: w.Figure("evidence_ttl").Value, FailureRate: w.Figure("failure_rate").Value,
		Uses: in.Uses(), Successes: in.Successes, Failures: in.Failures, Named: in.Named,
		RelevantTurns: in.RelevantTurns, Sessions: in.Sessions,
		MinimumConfidence: in.MinConfidence, Effect: in.Effect,
	}
}

// CheckFactors refuses factors outside 0 to 1, and notes that are too many or too long.
func CheckFactors(factors policypoint.OmegaFactors, notes []string) error {
	var p problems
	p.factors(factors)
	if p.in("notes").atMost("notes", len(notes), MaxNotes) {
		for i, note := range notes {
			p.list, p.item, p.field = "notes", i, ""
			p.text(note, "note %d", i+1)
		}
	}
	return p.err()
}
