package schemaeval

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/reflectory/reflectory/sdk"
)

// maxFindings bounds how many findings a verdict lists: far more than anyone
// corrects at once, and well within one message.
const maxFindings = 1_000

// maxJoined bounds how many messages are put into one line.
const maxJoined = 10

// place is what a finding is counted by: once per value and rule.
type place struct{ path, schemaPath string }

// collection gathers findings, one per message at first.
type collection struct {
	base  string
	found []sdk.Finding
	cycle *kind.RefCycle
}

// collect turns an error tree into findings, sorted by path and schema path.
//
// A finding is one failing assertion. Keywords that only pass on what their
// subschemas say (allOf, $ref, if/then/else, properties, items) have none of
// their own. anyOf and oneOf are assertions over alternatives, none of which is
// demanded by itself: each is one finding, and its message sums them up. The
// same goes for contains and propertyNames.
func collect(err *jsonschema.ValidationError, base string) ([]sdk.Finding, error) {
	c := collection{base: base}
	c.add(err)
	if c.cycle != nil {
		return nil, sdk.Errorf(sdk.Invalid, "schema_invalid",
			"the schema refers back to itself without going into the value, at %s and at %s", c.cycle.KeywordLocation1, c.cycle.KeywordLocation2)
	}
	slices.SortFunc(c.found, func(a, b sdk.Finding) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.SchemaPath, b.SchemaPath), strings.Compare(a.Message, b.Message))
	})
	return onePerPlace(c.found), nil
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
		keyword, rule := keywordOf(err, c.base)
		c.found = append(c.found, sdk.Finding{
			Message: message(err), Path: pointerTo(err.InstanceLocation), SchemaPath: rule, Code: keyword,
		})
	}
}

// onePerPlace joins the messages of sorted findings at the same place.
func onePerPlace(sorted []sdk.Finding) []sdk.Finding {
	out := sorted[:0]
	for i := 0; i < len(sorted); {
		first := sorted[i]
		at := place{first.Path, first.SchemaPath}
		messages := []string{first.Message}
		for i++; i < len(sorted) && (place{sorted[i].Path, sorted[i].SchemaPath}) == at; i++ {
			messages = append(messages, sorted[i].Message)
		}
		if len(messages) > 1 {
			first.Message = joinMessages(slices.Compact(messages))
		}
		out = append(out, first)
	}
	return out
}

func joinMessages(messages []string) string {
	if len(messages) > maxJoined {
		more := len(messages) - maxJoined
		messages = append(messages[:maxJoined:maxJoined], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(messages, "; ")
}

// keywordOf is the keyword that failed and the JSON Pointer to it.
func keywordOf(err *jsonschema.ValidationError, base string) (keyword, rule string) {
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

// schemaPath makes a compiled schema's location a JSON Pointer into the schema,
// or "URI#pointer" for another document.
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

var pointerEscape = strings.NewReplacer("~", "~0", "/", "~1")

// pointer appends a token to a JSON Pointer (RFC 6901).
func pointer(p, token string) string { return p + "/" + pointerEscape.Replace(token) }

func pointerTo(tokens []string) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteByte('/')
		b.WriteString(pointerEscape.Replace(t))
	}
	return b.String()
}
