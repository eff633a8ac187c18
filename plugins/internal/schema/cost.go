package schema

import (
	"encoding/json"
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/reflectory/reflectory/sdk"
)

// What a schema may cost. The host ends a call that takes too long, but with it the calls next
// to it on the same instance: what can be seen before is refused before.
const (
	// maxRules is how many subschemas may have to judge one and the same value. Thirty
	// definitions, each of which names the one before it twice, make a billion; schemas that
	// people write have some hundreds.
	maxRules = 100_000
	// MaxSteps is how many rules may have to check one output and the values in it: the 500,000
	// values of the largest by four rules each. They take 1 to 2 s.
	MaxSteps = 2_000_000
	// maxMatchSteps is a pattern's program size times the length of a text: 2 to 4 s.
	maxMatchSteps = 200_000_000
	// SmallPattern is the size of a program up to which an engine that nothing can stop may match
	// it.
	SmallPattern = maxMatchSteps / MaxOutputBytes
)

// rules returns a function that counts a subschema and those that next lists, each as often as a
// path leads to it: infinitely often if one leads back.
func rules(next func(*jsonschema.Schema) []*jsonschema.Schema) func(*jsonschema.Schema) float64 {
	known := map[*jsonschema.Schema]float64{}
	var count func(*jsonschema.Schema) float64
	count = func(s *jsonschema.Schema) float64 {
		if n, done := known[s]; done {
			return n
		}
		known[s] = math.Inf(1) // what leads back to it before it is counted
		n := 1 + float64(len(s.PatternProperties))*patternSteps
		if s.Enum != nil {
			n += float64(len(s.Enum.Values))
		}
		for _, child := range next(s) {
			n += count(child)
		}
		known[s] = n
		return n
	}
	return count
}

// rulesBelow is how many rules may check one value and the values in it.
func rulesBelow(root *jsonschema.Schema) float64 {
	return rules(func(s *jsonschema.Schema) []*jsonschema.Schema { return slices.Concat(inPlace(s), below(s)) })(root)
}

// checkCost refuses a schema in which too many subschemas judge the same value.
func checkCost(root *jsonschema.Schema, base string) error {
	count := rules(inPlace) // without loops: see checkLoops
	for _, s := range reachable(root) {
		if n := count(s); n > maxRules {
			return schemaErrorAt(schemaPath(s.Location, base), "one value has %s rules to check (limit %d)", many(n), maxRules).
				WithHint("refer to a definition once instead of repeating it in allOf, anyOf or oneOf").
				WithDetail(sdk.PermanentDetail, true)
		}
	}
	return nil
}

func many(n float64) string {
	if n > 1e9 {
		return "more than a billion"
	}
	return strconv.FormatFloat(n, 'f', 0, 64)
}

// budget is what a check may still cost, in steps.
type budget struct{ left int }

// costError is what ends a check that costs too much, as a panic that [Check.End] recovers: the
// engine has no other way to end.
type costError struct{ err error }

func (b *budget) spend(steps int) {
	if b.left -= steps; b.left >= 0 {
		return
	}
	panic(costError{sdk.Errorf(sdk.Invalid, "schema_invalid",
		"the schema has more than %d rules to check for this output: a rule counts once for each value, and for each path through the schema that leads to it", MaxSteps).
		WithHint("refer to a definition once instead of repeating it in allOf, anyOf or oneOf, and let every alternative begin with what tells it apart").
		WithDetail(sdk.PermanentDetail, true)})
}

// price is what it costs to check a value by a subschema, in steps. It includes the checks of the
// subschemas, so that one that fails at once is counted too.
type price struct {
	fixed        int
	member, item int  // for each member of an object, and each item of a list
	whole        bool // everything within the value is compared
	text         int  // for each KiB of a text
}

func priceOf(s *jsonschema.Schema) price {
	p := price{fixed: 1 + len(inPlace(s)) + (len(s.Required)+len(s.Dependencies)+len(s.DependentRequired))/8, text: 1, whole: s.UniqueItems}
	p.member = 1 + len(s.PatternProperties)*patternSteps
	for _, each := range []*jsonschema.Schema{s.PropertyNames, s.UnevaluatedProperties} {
		if each != nil {
			p.member++
		}
	}
	for _, each := range []bool{s.Items != nil || s.Items2020 != nil || s.AdditionalItems != nil || s.PrefixItems != nil, s.Contains != nil, s.UnevaluatedItems != nil} {
		if each {
			p.item++
		}
	}
	if s.Format != nil {
		p.text = 16
	}
	var wanted []any
	if s.Const != nil {
		wanted = append(wanted, *s.Const)
	}
	if s.Enum != nil {
		wanted = append(wanted, s.Enum.Values...)
	}
	compared := 0
	for _, v := range wanted {
		compared += size(v)
		_, scalar := v.(string)
		p.whole = p.whole || !scalar && size(v) > numberSize
	}
	p.fixed += compared / sizeOfStep
	return p
}

// What takes about as long as a step, which is 0.3 to 1 µs: to compare 16 texts, or one number.
const (
	sizeOfStep = 16
	numberSize = 16
	// patternSteps is what it takes to match a name.
	patternSteps = 2
	// matchStep is how many of maxMatchSteps take as long as a step.
	matchStep = maxMatchSteps / MaxSteps
)

// size is how long it takes to compare a value, in a sixteenth of a step.
func size(v any) int {
	n := 1
	switch v := v.(type) {
	case json.Number:
		n = numberSize + len(v)/2
	case []any:
		for _, e := range v {
			n += size(e)
		}
	case map[string]any:
		for _, e := range v {
			n += 1 + size(e)
		}
	}
	return n
}

// watch counts each check by a subschema that goes on: the engine looks at the format before it
// goes into the value, and only type, const and enum come earlier.
func (b *budget) watch(s *jsonschema.Schema, p price) {
	if s.Bool != nil {
		return
	}
	s.Format = &jsonschema.Format{Name: "steps", Validate: func(v any) error {
		steps := p.fixed
		switch v := v.(type) {
		case map[string]any:
			steps += p.member * len(v)
		case []any:
			steps += p.item * len(v)
		case string:
			steps += p.text * (len(v) / 1024)
		}
		if p.whole {
			steps += size(v) / sizeOfStep
		}
		b.spend(steps)
		return nil
	}}
}

// boundedPattern is a pattern that refuses to be matched where that could take too long.
type boundedPattern struct {
	re     *regexp.Regexp
	size   int
	budget *budget
}

// boundPatterns makes the compiler's patterns bounded.
func (b *budget) boundPatterns(c *jsonschema.Compiler) {
	b.left = math.MaxInt // the compiler matches patterns too
	c.UseRegexpEngine(func(text string) (jsonschema.Regexp, error) {
		re, err := regexp.Compile(text)
		if err != nil {
			return nil, err
		}
		return &boundedPattern{re, PatternSize(text), b}, nil
	})
}

// MatchString implements jsonschema.Regexp.
func (p *boundedPattern) MatchString(text string) bool {
	steps := len(text) * p.size
	if steps > maxMatchSteps {
		panic(costError{sdk.Errorf(sdk.Invalid, "pattern_too_dear", "the pattern %s would take too long on a text of %d bytes", shorten(p.re.String(), maxShown), len(text)).
			WithHint("repeat less in the pattern, as {1000} makes a thousand copies, or limit the text by maxLength in an earlier step").
			WithDetail(sdk.PermanentDetail, true)})
	}
	p.budget.spend(steps / matchStep)
	return p.re.MatchString(text)
}

// String implements jsonschema.Regexp.
func (p *boundedPattern) String() string { return p.re.String() }

// PatternSize is the size of a pattern's program; repeats multiply it.
func PatternSize(text string) int {
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return 1
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return math.MaxInt32
	}
	return len(program.Inst)
}
