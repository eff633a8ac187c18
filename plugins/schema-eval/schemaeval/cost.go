package schemaeval

import (
	"math"
	"regexp"
	"regexp/syntax"
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
	// maxMatchSteps is a pattern's program size times the length of a text: 2 to 4 s.
	maxMatchSteps = 200_000_000
	// smallPattern is the size of a program up to which gojsonschema may match it on a text of
	// any length, which nothing can stop.
	smallPattern = maxMatchSteps / maxOutputBytes
)

// checkCost refuses a schema in which too many subschemas judge the same value.
func checkCost(root *jsonschema.Schema, base string) error {
	rules := map[*jsonschema.Schema]float64{}
	var count func(s *jsonschema.Schema) float64 // the schema has no loops: see checkLoops
	count = func(s *jsonschema.Schema) float64 {
		if n, known := rules[s]; known {
			return n
		}
		n := 1.0
		for _, child := range inPlace(s) {
			n += count(child)
		}
		rules[s] = n
		return n
	}
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

// boundedPattern is a pattern that refuses to be matched where that could take too long.
type boundedPattern struct {
	re   *regexp.Regexp
	size int
}

// boundPatterns makes the compiler's patterns bounded.
func boundPatterns(c *jsonschema.Compiler) {
	c.UseRegexpEngine(func(text string) (jsonschema.Regexp, error) {
		re, err := regexp.Compile(text)
		if err != nil {
			return nil, err
		}
		return &boundedPattern{re, patternSize(text)}, nil
	})
}

// patternTooDear is what a match panics with; [tooDear] recovers it. The engine has no other way
// to end a validation.
type patternTooDear struct {
	pattern string
	bytes   int
}

// MatchString implements jsonschema.Regexp.
func (p *boundedPattern) MatchString(text string) bool {
	if len(text)*p.size > maxMatchSteps {
		panic(patternTooDear{p.re.String(), len(text)})
	}
	return p.re.MatchString(text)
}

// String implements jsonschema.Regexp.
func (p *boundedPattern) String() string { return p.re.String() }

// tooDear turns the panic of a match into the error of an evaluation.
func tooDear(err *error) {
	switch p := recover().(type) {
	case nil:
	case patternTooDear:
		*err = sdk.Errorf(sdk.Invalid, "pattern_too_dear", "the pattern %s would take too long on a text of %d bytes", shorten(p.pattern, maxShown), p.bytes).
			WithHint("repeat less in the pattern, as {1000} makes a thousand copies, or limit the text by maxLength in an earlier step").
			WithDetail(sdk.PermanentDetail, true)
	default:
		panic(p)
	}
}

// patternSize is the size of a pattern's program; repeats multiply it.
func patternSize(text string) int {
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
