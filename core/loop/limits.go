package loop

import (
	"time"

	"github.com/reflectory/reflectory/core"
)

// Loop defaults and bounds.
const (
	DefaultMaxIterations    = 3
	MaxMaxIterations        = 1000
	DefaultHistoryLimit     = 20
	DefaultEvaluatorRetries = 2
	DefaultGeneratorRetries = 2
)

// CorrectMode says what becomes of a corrector's output.
type CorrectMode string

// The correct modes.
const (
	CorrectReplace    CorrectMode = "replace"    // it is the next attempt
	CorrectRegenerate CorrectMode = "regenerate" // it is merged into the state and the generator runs again
)

// OnFailure says what a loop returns that ended without a passed attempt.
type OnFailure string

// The failure strategies.
const (
	ReturnBest OnFailure = "return_best"
	ReturnLast OnFailure = "return_last"
	Raise      OnFailure = "raise"
)

// OnEvaluatorError says what an evaluator's failure means once its retries are
// used up.
type OnEvaluatorError string

// The meanings of an evaluator's failure.
const (
	EvaluatorErrorStop OnEvaluatorError = "error"        // the run ends with status error, resumable
	EvaluatorErrorFail OnEvaluatorError = "fail_attempt" // the attempt counts as invalid
)

// OnGeneratorError says what it means that the generator gave no output.
type OnGeneratorError string

// The meanings of a generator's failure. Without one, a generator that can't work
// ends the run and one that made nothing usable made an attempt.
const (
	GeneratorErrorStop    OnGeneratorError = "stop"    // the run ends with status error, resumable
	GeneratorErrorAttempt OnGeneratorError = "attempt" // it counts as an attempt with output null
)

// Limits is how a loop ends, and what happens then. The zero value of each
// field is its default.
type Limits struct {
	// MaxIterations is how many attempts are admitted: 1 to 1,000, default 3.
	MaxIterations int
	// Timeout is the active time over all resumes; 0 is none.
	Timeout time.Duration
	// BudgetTokens and BudgetUSD end the loop once the usage reaches them; 0 is
	// none.
	BudgetTokens int64
	BudgetUSD    float64
	// NoProgress ends the loop after that many consecutive attempts with the
	// same output or the same errors: at least 2; 0 is off.
	NoProgress int
	// StopWhen and Accept are compiled at PointStop and PointAccept, or nil.
	StopWhen core.Expression
	Accept   core.Expression
	// CorrectMode defaults to replace, OnFailure to return_best,
	// OnEvaluatorError to error.
	CorrectMode      CorrectMode
	OnFailure        OnFailure
	OnEvaluatorError OnEvaluatorError
	// OnGeneratorError, where set, holds for every failure of the generator.
	OnGeneratorError OnGeneratorError
	// GeneratorRetries is how often a transient failure is retried: default 2;
	// negative is never.
	GeneratorRetries int
	// EvaluatorRetries is how often a transient failure is retried: default 2;
	// negative is never.
	EvaluatorRetries int
	// HistoryLimit is how many attempts plugins are sent: default 20. They are
	// fewer where more than 2 MiB would be sent, the newest ones.
	HistoryLimit int
}
