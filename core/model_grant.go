package core

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/reflectory/reflectory/sdk"
)

// ModelGrant is what the holder of a credential with [ScopeModel] may ask of models. The zero value
// is every model, without a budget.
type ModelGrant struct {
	// Models are the names of the models that it may ask, as clients write them, up to
	// [MaxGrantModels]; none means every model that is served.
	Models []string `json:"models,omitempty"`
	// Budget is how much it may use; absent means as much as the models themselves allow.
	Budget *Budget `json:"budget,omitempty"`
}

// The limits of a [ModelGrant] and a [Budget].
const (
	// MaxGrantModels is how many models a grant names: they are compared one by one.
	MaxGrantModels = 64
	// MaxModelName is the longest name of a model, in bytes.
	MaxModelName = 256
	// MaxBudgetTokens and MaxBudgetUSD are above any real budget, and below what a sum of them loses
	// digits at.
	MaxBudgetTokens = 1_000_000_000_000_000
	MaxBudgetUSD    = 1_000_000
)

// MayAsk reports whether the grant has a model.
func (g ModelGrant) MayAsk(model string) bool {
	return len(g.Models) == 0 || slices.Contains(g.Models, model)
}

// Bounded reports whether the grant is less than every model without a budget.
func (g ModelGrant) Bounded() bool { return len(g.Models) > 0 || g.Budget != nil }

// Check reports everything that is wrong with a grant: sdk.Invalid of the reasons "models_invalid"
// and "budget_invalid".
func (g ModelGrant) Check() error {
	var problems []error
	add := func(format string, args ...any) {
		problems = append(problems, sdk.Errorf(sdk.Invalid, "models_invalid", format, args...).WithDetail("field", "models"))
	}
	if len(g.Models) > MaxGrantModels {
		add("models has %d names (limit %d)", len(g.Models), MaxGrantModels)
	}
	for _, name := range g.Models[:min(len(g.Models), MaxGrantModels)] {
		if err := CheckModelName(name); err != nil {
			add("models: %s", sdk.AsError(err).Message)
		}
	}
	if g.Budget != nil {
		problems = append(problems, g.Budget.Check())
	}
	return JoinErrors(problems...)
}

// CheckModelName refuses what can't be the name of a model, with sdk.Invalid, "models_invalid".
func CheckModelName(name string) error {
	switch {
	case name == "" || len(name) > MaxModelName:
		return sdk.Errorf(sdk.Invalid, "models_invalid", "a model's name has %d bytes, not 1 to %d", len(name), MaxModelName)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsGraphic(r) || r == ',' }):
		return sdk.Errorf(sdk.Invalid, "models_invalid", "a model's name %s has a space, a comma or an invisible character", shown(name))
	}
	return nil
}

// BudgetSpan is the time for which a [Budget] holds.
type BudgetSpan string

// The spans of budgets. A day begins at midnight UTC.
const (
	PerDay     BudgetSpan = "day"
	PerRequest BudgetSpan = "request"
)

// BudgetSpans lists the spans.
func BudgetSpans() []BudgetSpan { return []BudgetSpan{PerDay, PerRequest} }

// Budget is how much of models may be used in a span. Whatever has begun when it is used up is still
// counted.
type Budget struct {
	// Tokens is how many tokens of prompts and answers together, up to [MaxBudgetTokens]; 0 is no limit.
	Tokens int64 `json:"tokens,omitempty"`
	// CostUSD is how many US dollars, up to [MaxBudgetUSD]; 0 is no limit. It needs the price of the model.
	CostUSD float64 `json:"cost_usd,omitempty"`
	// Per is the span: a day, which begins at midnight UTC, or a request with all its attempts.
	Per BudgetSpan `json:"per"`
}

// Check reports everything that is wrong with a budget: sdk.Invalid, "budget_invalid".
func (b *Budget) Check() error {
	var problems []error
	add := func(wrong bool, format string, args ...any) {
		if wrong {
			problems = append(problems, sdk.Errorf(sdk.Invalid, "budget_invalid", format, args...).WithDetail("field", "budget"))
		}
	}
	add(b.Tokens < 0 || b.Tokens > MaxBudgetTokens, "budget: tokens is not from 0 to %d", int64(MaxBudgetTokens))
	add(math.IsNaN(b.CostUSD) || b.CostUSD < 0 || b.CostUSD > MaxBudgetUSD, "budget: cost_usd is not from 0 to %d", MaxBudgetUSD)
	add(b.Tokens == 0 && b.CostUSD == 0, "budget: neither tokens nor cost_usd is given")
	add(!slices.Contains(BudgetSpans(), b.Per), "budget: per is %s, not day or request", shown(string(b.Per)))
	return JoinErrors(problems...)
}

// Reached reports whether a use is as much as the budget, or more.
func (b *Budget) Reached(used sdk.Usage) bool {
	return b.Tokens > 0 && used.TokensIn+used.TokensOut >= b.Tokens || b.CostUSD > 0 && used.CostUSD >= b.CostUSD
}

// String is the budget as command lines write it, such as "tokens=200000/day usd=5/day".
func (b *Budget) String() string {
	var parts []string
	if b.Tokens > 0 {
		parts = append(parts, fmt.Sprintf("tokens=%d/%s", b.Tokens, b.Per))
	}
	if b.CostUSD > 0 {
		parts = append(parts, "usd="+strconv.FormatFloat(b.CostUSD, 'f', -1, 64)+"/"+string(b.Per))
	}
	return strings.Join(parts, " ")
}
