package schemaeval

import (
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

// collection gathers findings by place.
type collection struct {
	base  string
	found map[place]*entry
	cycle *kind.RefCycle
}

type entry struct {
	code     string
	messages []string
}

// collect turns an error tree into findings, sorted by path and schema path.
//
// A finding is one failing assertion. Keywords that only pass on what their
// subschemas say (allOf, $ref, if/then/else, properties, items) have none of
// their own. anyOf and oneOf are assertions over alternatives, none of which is
// demanded by itself: each is one finding, and its message sums them up. The
// same goes for contains and propertyNames.
func collect(err *jsonschema.ValidationError, base string) ([]sdk.Finding, error) {
	c := collection{base: base, found: map[place]*entry{}}
	c.add(err)
	if c.cycle != nil {
		return nil, sdk.Errorf(sdk.Invalid, "schema_invalid",
			"the schema refers back to itself without going into the value, at %s and at %s", c.cycle.KeywordLocation1, c.cycle.KeywordLocation2)
	}
	findings := make([]sdk.Finding, 0, len(c.found))
	for at, e := range c.found {
		slices.Sort(e.messages)
		findings = append(findings, sdk.Finding{
			Message: joinMessages(slices.Compact(e.messages)), Path: at.path, SchemaPath: at.schemaPath, Code: e.code,
		})
	}
	slices.SortFunc(findings, func(a, b sdk.Finding) int {
		if c := strings.Compare(a.Path, b.Path); c != 0 {
			return c
		}
		return strings.Compare(a.SchemaPath, b.SchemaPath)
	})
	return findings, nil
}

func (c *collection) add(err *jsonschema.ValidationError) {
	switch k := err.ErrorKind.(type) {
	case *kind.RefCycle:
		c.cycle = k
		return
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		for _, cause := range err.Causes {
			c.add(cause)
		}
		return
	}
	keyword, rule := keywordOf(err, c.base)
	at := place{pointerTo(err.InstanceLocation), rule}
	e := c.found[at]
	if e == nil {
		e = &entry{code: keyword}
		c.found[at] = e
	}
	e.messages = append(e.messages, message(err))
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
