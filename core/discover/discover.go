package discover

import (
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/policypoint"
)

// MaxCandidates is how many candidates an answer has at most, and maxNearest how many if none fits well
// enough.
const (
	MaxCandidates = 5
	maxNearest    = 3
)

// The confidences.
const (
	High   = "high"
	Medium = "medium"
	Low    = "low"
)

// Answer is what fits an intent.
type Answer struct {
	// Intent is what was asked.
	Intent string `json:"intent"`
	// Confidence is how sure the first candidate is: high, medium or low.
	Confidence string `json:"confidence"`
	// Recommended is what to use, if the confidence is high.
	Recommended *Ranked `json:"recommended,omitempty"`
	// Candidates are the best ones, at most five; none if the confidence is low.
	Candidates []Ranked `json:"candidates"`
	// ClarificationRequired means that the confidence is medium: the caller should answer
	// Question before anything is done.
	ClarificationRequired bool   `json:"clarification_required"`
	Question              string `json:"question,omitempty"`
	// ExecutionBlocked means that the confidence is low: nothing should be done. Nearest are then the
	// best three at most, and Add is what the intent should say besides.
	ExecutionBlocked bool     `json:"execution_blocked"`
	Nearest          []Ranked `json:"nearest,omitempty"`
	Add              string   `json:"add,omitempty"`
}

// toAdd is what an intent that nothing fits should say.
const toAdd = "say what is to be done, and to what, such as a memory, an output, a run, a job, a policy or the store; or look at the nearest"

// RoutingInput is what the routing policy sees of the best candidates in a namespace; nil if
// there is none.
func RoutingInput(namespace string, best []Ranked) *policypoint.RoutingInput {
	if len(best) == 0 {
		return nil
	}
	in := &policypoint.RoutingInput{
		Namespace: namespace, Score: best[0].Score, FailureRate: best[0].FailureRate, FinalScore: best[0].FinalScore,
		Lead: best[0].FinalScore, Candidates: int64(len(best)),
	}
	if len(best) > 1 {
		in.Lead = core.Rounded(best[0].FinalScore - best[1].FinalScore)
	}
	return in
}

// NewAnswer is the answer for the best candidates with a confidence, which is low if there
// are none.
func NewAnswer(intent, confidence string, best []Ranked) *Answer {
	a := &Answer{Intent: intent, Confidence: confidence, Candidates: []Ranked{}}
	if len(best) == 0 {
		a.Confidence = Low
	}
	switch a.Confidence {
	case High:
		a.Recommended, a.Candidates = &best[0], best
	case Medium:
		a.Candidates, a.ClarificationRequired = best, true
		a.Question = question(best)
	default:
		a.Confidence, a.ExecutionBlocked, a.Nearest, a.Add = Low, true, best[:min(len(best), maxNearest)], toAdd
	}
	return a
}

// question asks which of the candidates is meant.
func question(best []Ranked) string {
	if len(best) == 1 {
		return "Do you mean the " + string(best[0].Kind) + " " + best[0].Name + "?"
	}
	names := make([]string, len(best))
	for i, r := range best {
		names[i] = "the " + string(r.Kind) + " " + r.Name
	}
	return "Which one do you mean: " + strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1] + "?"
}

// WithCalls is the answer with what to call in the words of a surface, for an operation with its arguments. What the
// surface has no call for is left out; if that was what fits, nothing is to be done there.
func (a *Answer) WithCalls(call func(operation string, arguments map[string]any) string) any {
	spelled := func(list []Ranked) []Ranked {
		own := []Ranked{}
		for _, r := range list {
			if r.Usage.Call = call(r.Usage.Operation, r.Usage.Arguments); r.Usage.Call != "" {
				own = append(own, r)
			}
		}
		return own
	}
	of := *a
	of.Candidates, of.Nearest = spelled(a.Candidates), spelled(a.Nearest)
	switch {
	case a.Recommended != nil && (len(of.Candidates) == 0 || of.Candidates[0].Name != a.Recommended.Name):
		blocked := NewAnswer(a.Intent, Low, of.Candidates)
		blocked.Add = "the " + string(a.Recommended.Kind) + " " + a.Recommended.Name + " fits, and can't be called here; " + toAdd
		return blocked
	case a.Recommended != nil:
		of.Recommended = &of.Candidates[0]
	case a.ClarificationRequired && len(of.Candidates) < len(a.Candidates):
		return NewAnswer(a.Intent, Medium, of.Candidates)
	}
	return &of
}
