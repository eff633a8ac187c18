package loop

import (
	"time"

	"github.com/reflectory/reflectory/core/policypoint"
)

// Loop defaults and bounds.
const (
	DefaultMaxIterations    = 3
	MaxMaxIterations        = 1000
	DefaultHistoryLimit     = 20
	DefaultEvaluatorRetries = 2
	DefaultGeneratorRetries = 2
)

// CorrectMode determines what happens with a corrector's output.
type CorrectMode string

// The correct modes.
const (
	CorrectReplace    CorrectMode = "replace"    // it is the next attempt
	CorrectRegenerate CorrectMode = "regenerate" // it is merged into the state and the generator runs again
)

// OnFailure determines what a loop returns if no attempt passed.
type OnFailure string

// The failure strategies.
const (
	ReturnBest OnFailure = "return_best"
	ReturnLast OnFailure = "return_last"
	Raise      OnFailure = "raise"
)

// OnEvaluatorError determines what happens if an evaluator fails and its retries are
// used up.
type OnEvaluatorError string

// What happens when an evaluator fails.
const (
	EvaluatorErrorStop OnEvaluatorError = "error"        // the run ends with status error, resumable
	EvaluatorErrorFail OnEvaluatorError = "fail_attempt" // the attempt counts as invalid
)

// OnGeneratorError determines what happens if the generator gives no output.
type OnGeneratorError string

// What happens when a generator fails. By default, a generator that can't work ends the
// run, and a generator that made nothing usable made an attempt.
const (
	GeneratorErrorStop    OnGeneratorError = "stop"    // the run ends with status error, resumable
	GeneratorErrorAttempt OnGeneratorError = "attempt" // it counts as an attempt with output null
)

// Limits determine when a loop ends, and what happens then. The zero value of each
// field is its default.
type Limits struct {
	// MaxIterations is how many attempts are allowed: 1 to 1,000, default 3.
	MaxIterations int
	// Timeout is the active time over all resumes; 0 is no limit.
	Timeout time.Duration
	// BudgetTokens and BudgetUSD end the loop once the usage reaches them; 0 is no limit.
	BudgetTokens int64
	BudgetUSD    float64
	// NoProgress ends the loop after that many consecutive attempts with the same output
	// or the same errors. It is at least 2; 0 is off.
	NoProgress int
	// StopWhen and Accept are compiled at [policypoint.Stop] and [policypoint.Accept], or nil.
	StopWhen policypoint.Expression
	Accept   policypoint.Expression
	// CorrectMode defaults to replace, OnFailure to return_best,
	// OnEvaluatorError to error.
	CorrectMode      CorrectMode
	OnFailure        OnFailure
	OnEvaluatorError OnEvaluatorError
	// OnGeneratorError, if set, applies to every failure of the generator.
	OnGeneratorError OnGeneratorError
	// GeneratorRetries is how often a transient failure is retried: default 2; a negative
	// number means never.
	GeneratorRetries int
	// EvaluatorRetries is how often a transient failure is retried: default 2; a negative
	// number means never.
	EvaluatorRetries int
	// HistoryLimit is how many attempts plugins get: default 20. If these take more than 2
	// MiB, plugins get only the newest of them.
	HistoryLimit int
}
