package gate

import (
	"context"
	"fmt"
	"strings"

	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/policypoint"
)

// Explanation shows how a decision was made.
type Explanation struct {
	MemoryID  string `json:"memory_id"`
	Namespace string `json:"namespace"`
	// Decision is the explained decision, which may not have been recorded.
	Decision *verdict.GateAnswer `json:"decision"`
	// Lanes are the scores of the evidence: react, graph, omega, and q.
	Lanes []LaneExplanation `json:"lanes"`
	// Utility is what the policy makes of them, EvidenceTTL and Frequency are two more of its
	// numbers. The decision's workings have their expressions.
	Utility     float64 `json:"utility"`
	EvidenceTTL float64 `json:"evidence_ttl"`
	Frequency   float64 `json:"frequency"`
	// Rule is the rule that matched.
	Rule RuleExplanation `json:"rule"`
	// Note explains what the numbers don't mean.
	Note string `json:"note"`
}

// LaneExplanation is a lane with the numbers from which its score is computed.
type LaneExplanation struct {
	Name  string  `json:"name"`
	Score float64 `json:"score"`
	// Formula is how the score is computed from the parts.
	Formula string      `json:"formula"`
	Parts   []Explained `json:"parts"`
	Refs    []string    `json:"evidence_refs,omitempty"`
}

// Explained is a part of a lane. A null value means that it is absent.
type Explained struct {
	Name  string `json:"name"`
	Value any    `json:"value"`
}

// RuleExplanation is the rule that matched: its policy, where it is in the file, and its
// condition, "" if it has none.
type RuleExplanation struct {
	File      string `json:"file"`
	ID        string `json:"id"`
	Path      string `json:"path,omitempty"`
	Condition string `json:"condition,omitempty"`
	// Failure is why no rule could decide.
	Failure string `json:"failure,omitempty"`
}

// note is part of every explanation.
const note = "confidences of different verdicts aren't comparable: each verdict has a formula of its own"

// Explain shows how a decision was made, from what it records.
func Explain(d *verdict.GateDecision) *Explanation {
	e := &Explanation{
		MemoryID: d.MemoryID, Namespace: d.Namespace, Decision: d.Answer(), Lanes: lanes(d), Note: note,
		Utility: d.Numbers.Utility, EvidenceTTL: d.Numbers.EvidenceTTL, Frequency: d.Numbers.Frequency,
		Rule: RuleExplanation{File: d.Policy.File, ID: d.Policy.Rule, Path: d.Policy.Path, Condition: oneLine(d.Policy.Condition)},
	}
	if d.Policy.Failure != nil {
		e.Rule.Failure = d.Policy.Failure.Message
	}
	return e
}

// Recorded explains the decision that followed from a policy's outcome, from the inputs that
// the policy's log recorded. The names of the references aren't among them.
func (g *Gate) Recorded(ctx context.Context, in *policypoint.GateInput, out policypoint.GateOutcome) *Explanation {
	d := follow(in, safe(ctx, out), g.policy.GateWorkings(ctx, nil, in, out.Decision))
	d.MemoryID, d.Namespace = in.Facts.MemoryID, in.Namespace
	d.Omega.UpstreamStatus, d.Omega.CodebaseVerification, d.Omega.RuntimeUtilityTrend =
		in.Omega.UpstreamStatus, in.Omega.CodebaseVerification, in.Omega.RuntimeUtilityTrend
	return Explain(d)
}

func lanes(d *verdict.GateDecision) []LaneExplanation {
	n := &d.Numbers
	react := LaneExplanation{
		Name: "react", Score: n.React, Refs: d.ReactRefs,
		Formula: "p · (0.4 + 0.6 · recurrence_score), p = (good + 1) / (good + tool_failures + 2)",
		Parts: []Explained{
			{"good", n.Good}, {"tool_failures", n.ToolFailures}, {"recovery_success", n.RecoverySuccess}, {"recurrence_score", n.Recurrence},
		},
	}
	graph := LaneExplanation{
		Name: "graph", Score: n.Graph, Refs: d.GraphRefs, Formula: "0.5 without a graph",
		Parts: []Explained{{"graph_known", n.GraphKnown}},
	}
	if n.GraphKnown {
		graph.Formula = "0 if not reachable, else 0.4 + 0.35 · dependency_relevance_score + 0.25 · decomposition_impact_score"
		graph.Parts = []Explained{
			{"workflow", n.Workflow}, {"path_reachable", n.PathReachable},
			{"dependency_relevance_score", n.Dependency}, {"decomposition_impact_score", n.Decomposition},
		}
	}
	omega := LaneExplanation{
		Name: "omega", Score: n.Omega, Formula: "the mean of the three, an absent one 0.5, an absent trend the utility_score",

		Parts: []Explained{
			{"upstream_status_score", absent(d.Omega.UpstreamStatus)},
			{"codebase_verification_score", absent(d.Omega.CodebaseVerification)},
			{"runtime_utility_trend_score", absent(d.Omega.RuntimeUtilityTrend)}, {"utility_score", n.UtilityScore},
		},
	}
	q := LaneExplanation{
		Name: "q", Score: n.Q, Formula: "learned from recalls",
		Parts: []Explained{
			{"uses", n.Uses}, {"named_uses", n.Named}, {"successes", n.Successes}, {"failures", n.Failures}, {"failure_rate", n.FailureRate}, {"relevant_turns", n.RelevantTurns}, {"sessions", n.Sessions},
		},
	}
	return []LaneExplanation{react, graph, omega, q}
}

// absent is a factor's value, or nil.
func absent(factor *float64) any {
	if factor == nil {
		return nil
	}
	return *factor
}

// Lines are the explanation as text, one line each. label gives a name of JSON in the words that people
// read.
func (e *Explanation) Lines(label func(name string) string) []string {
	d := e.Decision
	lines := []string{
		fmt.Sprintf("memory %s in %s", e.MemoryID, e.Namespace),
		fmt.Sprintf("verdict: %s, confidence %s, next %s", d.Verdict, short(d.Confidence), d.NextAction),
		"reason: " + oneLine(d.Reason),
	}
	if d.Intended != "" {
		lines = append(lines, fmt.Sprintf("intended: %s, confidence %s", d.Intended, short(d.IntendedConfidence)))
	}
	lines = append(lines, "rule: "+e.Rule.line())
	for _, lane := range e.Lanes {
		lines = append(lines, lane.lines(label)...)
	}
	for _, f := range d.Workings.Figures {
		name, of := f.Name, ""
		if name == utilityFigure {
			name = label(name)
		}
		if f.File != e.Rule.File {
			of = ", as in " + f.File
		}
		lines = append(lines, fmt.Sprintf("%s: %s = %s%s", name, short(f.Value), f.Expression, of))
	}
	for _, t := range d.Workings.Tried {
		lines = append(lines, fmt.Sprintf("tried: %s: %s", t.Condition, map[bool]string{true: "holds", false: "doesn't hold"}[t.Holds]))
	}
	for _, c := range d.Conditions {
		met := "met"
		if !c.Met {
			met = "not met"
		}
		lines = append(lines, fmt.Sprintf("condition %s: %s (at least %s): %s", c.Name, figure(c.Have), figure(c.Need), met))
	}
	for _, text := range d.Notes() {
		lines = append(lines, "noted: "+oneLine(text))
	}
	return append(lines, "note: "+e.Note)
}

func (l *LaneExplanation) lines(label func(name string) string) []string {
	parts := make([]string, len(l.Parts))
	for i, part := range l.Parts {
		value := "absent"
		switch v := part.Value.(type) {
		case nil:
		case float64:
			value = short(v)
		default:
			value = fmt.Sprint(v)
		}
		parts[i] = part.Name + " " + value
	}
	lines := []string{
		fmt.Sprintf("%s: %s = %s", label(l.Name), short(l.Score), l.Formula),
		"  " + strings.Join(parts, ", "),
	}
	if len(l.Refs) > 0 {
		lines = append(lines, "  evidence: "+oneLine(strings.Join(l.Refs, ", ")))
	}
	return lines
}

func (r *RuleExplanation) line() string {
	line := r.File + ", rule " + r.ID
	if r.Path != "" {
		line += " at " + r.Path
	}
	switch {
	case r.Failure != "":
		return line + " failed: " + oneLine(r.Failure)
	case r.Condition == "":
		return line + ": always"
	}
	return line + ": " + r.Condition
}

// short formats a number for people.
func short(x float64) string { return fmt.Sprintf("%.4g", x) }

// oneLine puts a text on one line.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
