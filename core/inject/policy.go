package inject

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/inject/tokenizer"
	"github.com/reflectory/reflectory/sdk"
)

// Mode determines how blocks share the budget.
type Mode string

// The modes.
const (
	Single     Mode = "single"     // the anchors, and the block with the highest priority among the others
	Classified Mode = "classified" // each category gets a fair share
	Hybrid     Mode = "hybrid"     // classified, with a mix of roles
)

// Ordering determines how blocks are sorted.
type Ordering string

// The orderings.
const (
	ByPriority   Ordering = "priority_then_category"
	ByCategory   Ordering = "fixed_category_order"
	StablePrefix Ordering = "stable_prefix"
)

// Dedupe determines which blocks count as the same.
type Dedupe string

// The ways to find the same blocks.
const (
	ByBlockID Dedupe = "block_id"
	BySource  Dedupe = "source+category"
)

// The tokenizers.
const (
	// Chars4 counts a token for every four characters, rounded up: an estimate.
	Chars4 = "chars4"
	// CL100K and O200K count with the byte pairs of these vocabularies.
	CL100K = tokenizer.CL100K
	O200K  = tokenizer.O200K
)

// The defaults of a policy.
const (
	DefaultMaxBlocks = 12
	DefaultMaxChars  = 8000
)

// Policy determines what a turn's prompt context may hold. A field that is left out has
// the default that its comment names.
type Policy struct {
	// Mode is how blocks share the budget: single, classified (the default) or hybrid.
	Mode Mode `json:"mode,omitempty"`
	// MaxBlocks bounds the blocks, from 1; 0 is 12.
	MaxBlocks int `json:"max_blocks,omitempty"`
	// MaxChars bounds the Unicode code points of the payloads; 0 is 8,000, or no limit if
	// MaxTokens is set.
	MaxChars int `json:"max_chars,omitempty"`
	// MaxTokens bounds the tokens of the payloads; 0 is no limit.
	MaxTokens int `json:"max_tokens,omitempty"`
	// Tokenizer counts tokens: chars4 (the default) counts one for every four code points,
	// rounded up; cl100k_base (GPT-4) and o200k_base (GPT-4o and later) count with the byte
	// pairs of these vocabularies.
	Tokenizer string `json:"tokenizer,omitempty"`
	// CategoryCap bounds the characters of categories; anchors don't count. A category that
	// is left out has no separate bound.
	CategoryCap map[Category]int `json:"category_cap,omitempty"`
	// Ordering is priority_then_category (the default), fixed_category_order or
	// stable_prefix.
	Ordering Ordering `json:"ordering_strategy,omitempty"`
	// Dedupe is block_id (the default) or source+category.
	Dedupe Dedupe `json:"dedupe_strategy,omitempty"`
	// Enabled are the categories that may be in the prompt; all of them if left out.
	Enabled []Category `json:"enabled_categories,omitempty"`
	// Anchors are the categories whose blocks are all anchors; safety and policy if left
	// out. They must be enabled.
	Anchors []Category `json:"anchor_categories,omitempty"`
}

// PolicyRequest is a policy that a caller asks for. A field that is left out has the value
// that the policy point injection decides.
type PolicyRequest struct {
	Policy
	// MaxBlocks bounds the blocks, from 1; the default policy gives 12.
	MaxBlocks *int `json:"max_blocks,omitempty"`
	// MaxChars bounds the Unicode code points of the payloads, from 1; the default policy gives
	// 8,000. With MaxTokens it may be 0, which is also its default then: only MaxTokens limits
	// the prompt.
	MaxChars *int `json:"max_chars,omitempty"`
}

// resolved is the policy that a caller asks for, in which a limit of 0 is one that was left out.
// Fields have a prefix in errors, such as "policy.".
func (r *PolicyRequest) resolved(of string) (Policy, error) {
	p, found := r.Policy, problems{of: of}
	if r.MaxBlocks != nil {
		p.MaxBlocks = *r.MaxBlocks
		if p.MaxBlocks == 0 {
			found.number("max_blocks", 0, 1)
		}
	}
	if r.MaxChars != nil {
		p.MaxChars = *r.MaxChars
		if p.MaxChars == 0 && p.MaxTokens == 0 {
			found.add("max_chars", "is 0; leave it out for 8,000, or set max_tokens to limit the prompt by tokens only")
		}
	}
	_, err := p.completed(of)
	return p, core.JoinErrors(found.err(), err)
}

// Completed is the policy with its defaults, and in one form: two policies that mean the
// same are equal. All problems are reported together, as sdk.Invalid with a reason for
// each field.
func (p Policy) Completed() (Policy, error) { return p.completed("") }

// completed is Completed for a policy whose fields have a prefix in errors, such as "policy.".
func (p Policy) completed(of string) (Policy, error) {
	setDefault(&p.Mode, Classified)
	setDefault(&p.Ordering, ByPriority)
	setDefault(&p.Dedupe, ByBlockID)
	setDefault(&p.Tokenizer, Chars4)
	setDefault(&p.MaxBlocks, DefaultMaxBlocks)
	if p.MaxTokens == 0 {
		setDefault(&p.MaxChars, DefaultMaxChars)
	}
	if p.Enabled == nil {
		p.Enabled = categories[:]
	}
	if p.Anchors == nil {
		p.Anchors = []Category{Safety, PolicyText}
	}
	if err := p.check(of); err != nil {
		return Policy{}, err
	}
	p.Enabled, p.Anchors = ranked(p.Enabled), ranked(p.Anchors)
	p.CategoryCap = maps.Clone(p.CategoryCap)
	return p, nil
}

func (p *Policy) check(of string) error {
	found := problems{of: of}
	checkOneOf(&found, "mode", p.Mode, Single, Classified, Hybrid)
	checkOneOf(&found, "ordering_strategy", p.Ordering, ByPriority, ByCategory, StablePrefix)
	checkOneOf(&found, "dedupe_strategy", p.Dedupe, ByBlockID, BySource)
	checkOneOf(&found, "tokenizer", p.Tokenizer, Chars4, CL100K, O200K)
	found.number("max_blocks", p.MaxBlocks, 1)
	found.number("max_chars", p.MaxChars, 0)
	found.number("max_tokens", p.MaxTokens, 0)
	for _, c := range slices.Sorted(maps.Keys(p.CategoryCap)) {
		checkOneOf(&found, "category_cap", c, categories[:]...)
		found.number(fmt.Sprintf("category_cap[%s]", core.Cut(string(c))), p.CategoryCap[c], 0)
	}
	for _, c := range p.Enabled {
		checkOneOf(&found, "enabled_categories", c, categories[:]...)
	}
	for _, c := range p.Anchors {
		checkOneOf(&found, "anchor_categories", c, categories[:]...)
		if !slices.Contains(p.Enabled, c) {
			found.list = append(found.list, sdk.Errorf(sdk.Invalid, "anchor_category_disabled", "%sanchor_categories has %s, which isn't enabled", of, core.Cut(string(c))).
				WithHint("enable it: anchors are never dropped").WithDetail("field", of+"anchor_categories"))
		}
	}
	return found.err()
}

// number checks a whole number's bounds.
func (p *problems) number(field string, n, least int) {
	if n < least || n > math.MaxInt32 {
		p.add(field, "is %d (least %d, limit %d)", n, least, math.MaxInt32)
	}
}

func setDefault[T comparable](field *T, value T) {
	if *field == *new(T) {
		*field = value
	}
}

// ranked are categories by rank, each once.
func ranked(list []Category) []Category {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b Category) int { return a.rank() - b.rank() })
	return slices.Compact(list)
}
