package policypoint

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

// Word is the mode.
func (o InjectionOutcome) Word() string { return o.Mode }
