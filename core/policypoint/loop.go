package policypoint

import (
	"encoding/json"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

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
	Usage   core.RunUsage
}

// LoopOutcome is the loop policy's answer. A policy that fails doesn't accept, and
// stops the loop; its Decision has the failure, which is the run's error.
type LoopOutcome struct {
	Accept, Stop bool
	Decision     Decision
}

// Word is accept, stop, or else continue.
func (o LoopOutcome) Word() string {
	switch {
	case o.Accept:
		return "accept"
	case o.Stop:
		return "stop"
	}
	return "continue"
}
