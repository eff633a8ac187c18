package schema

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/reflectory/reflectory/sdk"
)

// maxJoined limits how many messages are joined in one line.
const maxJoined = 10

// place identifies a finding when findings are counted: once per value and rule.
type place struct{ path, schemaPath string }

// collection gathers findings, at first one per message.
type collection struct {
	base  string
	doc   any // the schema, as it was decoded
	found []weighed
	cycle *kind.RefCycle
}

// weighed is a finding with its weight in the score.
type weighed struct {
	sdk.Finding
	weight int
}

// collect turns an error tree into findings, sorted by path and schema path.
//
// A finding is one failing assertion. Keywords that only pass on the results of their
// subschemas (allOf, $ref, if/then/else, properties, items) have no findings of their
// own. anyOf and oneOf are assertions over alternatives, and no single alternative is
// required: each is one finding, whose message summarises the alternatives. The same
// applies to contains and propertyNames.
//
// weight is the sum of the findings' weights in the score. A finding counts as one,
// except that each missing or disallowed member counts separately. Otherwise an object
// that lacks all members would score better than one with two wrong members.
func collect(err *jsonschema.ValidationError, base string, doc any) (findings []sdk.Finding, weight int, failure error) {
	c := collection{base: base, doc: doc}
	c.add(err)
	if c.cycle != nil {
		return nil, 0, sdk.Errorf(sdk.Invalid, "schema_invalid",
			"the schema refers back to itself without going into the value, at %s and at %s", c.cycle.KeywordLocation1, c.cycle.KeywordLocation2)
	}
	slices.SortFunc(c.found, func(a, b weighed) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.SchemaPath, b.SchemaPath), strings.Compare(a.Message, b.Message))
	})
	findings, weight = onePerPlace(c.found)
	return findings, weight, nil
}

func (c *collection) add(err *jsonschema.ValidationError) {
	switch k := err.ErrorKind.(type) {
	case *kind.RefCycle:
		c.cycle = k
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		for _, cause := range err.Causes {
			c.add(cause)
		}
	default:
		keyword, rule := KeywordOf(err, c.base)
		c.found = append(c.found, weighed{sdk.Finding{
			Message: c.message(err, rule), Path: PointerTo(err.InstanceLocation), SchemaPath: rule, Code: keyword,
		}, weight(err.ErrorKind)})
	}
}

// message describes an error. Of a rule whose meaning is in a subschema, it shows that.
func (c *collection) message(err *jsonschema.ValidationError, rule string) string {
	switch k := err.ErrorKind.(type) {
	case *kind.Not:
		if sub, ok := at(c.doc, rule); ok {
			return "must not match " + showWanted(sub)
		}
	case *kind.Contains:
		if sub, ok := at(c.doc, rule); ok {
			return "no item matches " + showWanted(sub)
		}
	case *kind.MinContains:
		if sub, ok := at(c.doc, strings.TrimSuffix(rule, "/minContains")+"/contains"); ok {
			return fmt.Sprintf("at least %d items must match %s, %d do", k.Want, showWanted(sub), len(k.Got))
		}
	case *kind.MaxContains:
		if sub, ok := at(c.doc, strings.TrimSuffix(rule, "/maxContains")+"/contains"); ok {
			return fmt.Sprintf("at most %d items may match %s, %d do", k.Want, showWanted(sub), len(k.Got))
		}
	}
	return message(err)
}

// at finds what a JSON Pointer leads to.
func at(doc any, path string) (any, bool) {
	if doc == nil || path == "" || path[0] != '/' {
		return doc, doc != nil && path == ""
	}
	for token := range strings.SplitSeq(path[1:], "/") {
		token = pointerUnescape.Replace(token)
		switch node := doc.(type) {
		case map[string]any:
			child, ok := node[token]
			if !ok {
				return nil, false
			}
			doc = child
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(node) {
				return nil, false
			}
			doc = node[i]
		default:
			return nil, false
		}
	}
	return doc, true
}

// weight is how many members an assertion found missing or not allowed, and 1 for any
// other assertion.
func weight(k jsonschema.ErrorKind) int {
	switch k := k.(type) {
	case *kind.Required:
		return len(k.Missing)
	case *kind.Dependency:
		return len(k.Missing)
	case *kind.DependentRequired:
		return len(k.Missing)
	case *kind.AdditionalProperties:
		return len(k.Properties)
	}
	return 1
}

// onePerPlace joins the messages of sorted findings at the same place, which count only
// once in the sum of the weights.
func onePerPlace(sorted []weighed) (out []sdk.Finding, weight int) {
	for i := 0; i < len(sorted); {
		first, most := sorted[i].Finding, sorted[i].weight
		at := place{first.Path, first.SchemaPath}
		messages := []string{first.Message}
		for i++; i < len(sorted) && (place{sorted[i].Path, sorted[i].SchemaPath}) == at; i++ {
			messages, most = append(messages, sorted[i].Message), max(most, sorted[i].weight)
		}
		weight += most
		if len(messages) > 1 {
			first.Message = Join(slices.Compact(messages))
		}
		out = append(out, first)
	}
	return out, weight
}

// Lines are findings as texts, each with its place.
func Lines(found []sdk.Finding) []string {
	lines := make([]string, len(found))
	for i, f := range found {
		lines[i] = "at " + quotePointer(f.Path) + ": " + f.Message
	}
	return lines
}

// Join joins messages in one line, at most ten.
func Join(messages []string) string {
	if len(messages) > maxJoined {
		more := len(messages) - maxJoined
		messages = append(messages[:maxJoined:maxJoined], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(messages, "; ")
}

// KeywordOf is the keyword that failed and the JSON Pointer to it.
func KeywordOf(err *jsonschema.ValidationError, base string) (keyword, rule string) {
	at := schemaPath(err.SchemaURL, base)
	switch k := err.ErrorKind.(type) {
	case *kind.FalseSchema:
		return falseKeyword(at), at
	case *kind.Not:
		return "not", pointer(at, "not")
	case *kind.Dependency:
		return "dependencies", pointer(pointer(at, "dependencies"), k.Prop)
	case *kind.DependentRequired:
		return "dependentRequired", pointer(pointer(at, "dependentRequired"), k.Prop)
	}
	path := err.ErrorKind.KeywordPath()
	if len(path) == 0 {
		return "", at
	}
	for _, token := range path {
		at = pointer(at, token)
	}
	return path[0], at
}

// falseKeyword names the keyword whose schema is false, such as
// "unevaluatedProperties"; "false" for a property or an item.
func falseKeyword(at string) string {
	last := at[strings.LastIndexByte(at, '/')+1:]
	switch last {
	case "additionalItems", "additionalProperties", "unevaluatedItems", "unevaluatedProperties",
		"items", "not", "contains", "propertyNames", "then", "else":
		return last
	}
	return "false"
}

// schemaPath turns a compiled schema's location into a JSON Pointer into the schema, or
// "URI#pointer" for another document.
func schemaPath(location, base string) string {
	uri, fragment, _ := strings.Cut(location, "#")
	if decoded, err := url.PathUnescape(fragment); err == nil {
		fragment = decoded
	}
	if own, _, _ := strings.Cut(base, "#"); uri == own || base == "" {
		return fragment
	}
	return uri + "#" + fragment
}

var (
	pointerEscape   = strings.NewReplacer("~", "~0", "/", "~1")
	pointerUnescape = strings.NewReplacer("~1", "/", "~0", "~")
)

// pointer appends a token to a JSON Pointer (RFC 6901).
func pointer(p, token string) string { return p + "/" + pointerEscape.Replace(token) }

// PointerTo is the JSON Pointer (RFC 6901) of tokens.
func PointerTo(tokens []string) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteByte('/')
		b.WriteString(pointerEscape.Replace(t))
	}
	return b.String()
}
