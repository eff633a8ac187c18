package schemaeval

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// message describes in one line what is wrong with a value.
func message(err *jsonschema.ValidationError) string {
	switch k := err.ErrorKind.(type) {
	case *kind.Type:
		return fmt.Sprintf("expected %s, got %s", strings.Join(k.Want, " or "), k.Got)
	case *kind.Const:
		return "must be " + show(k.Want)
	case *kind.Enum:
		return "must be one of " + showAll(k.Want)
	case *kind.Format:
		return fmt.Sprintf("%s is not a valid %s: %s", show(k.Got), k.Want, abbreviate(k.Err.Error()))
	case *kind.FalseSchema:
		return "must not be present"
	case *kind.InvalidJsonValue:
		return "is not JSON"
	}
	for _, describe := range []func(*jsonschema.ValidationError) string{
		numberMessage, stringMessage, objectMessage, arrayMessage, alternativesMessage} {
		if text := describe(err); text != "" {
			return text
		}
	}
	return "fails " + strings.Join(err.ErrorKind.KeywordPath(), " ")
}

func numberMessage(err *jsonschema.ValidationError) string {
	switch k := err.ErrorKind.(type) {
	case *kind.Minimum:
		return fmt.Sprintf("must be at least %s, got %s", showRat(k.Want), showRat(k.Got))
	case *kind.Maximum:
		return fmt.Sprintf("must be at most %s, got %s", showRat(k.Want), showRat(k.Got))
	case *kind.ExclusiveMinimum:
		return fmt.Sprintf("must be more than %s, got %s", showRat(k.Want), showRat(k.Got))
	case *kind.ExclusiveMaximum:
		return fmt.Sprintf("must be less than %s, got %s", showRat(k.Want), showRat(k.Got))
	case *kind.MultipleOf:
		return fmt.Sprintf("must be a multiple of %s, got %s", showRat(k.Want), showRat(k.Got))
	}
	return ""
}

func stringMessage(err *jsonschema.ValidationError) string {
	switch k := err.ErrorKind.(type) {
	case *kind.MinLength:
		return fmt.Sprintf("must have at least %d characters, has %d", k.Want, k.Got)
	case *kind.MaxLength:
		return fmt.Sprintf("must have at most %d characters, has %d", k.Want, k.Got)
	case *kind.Pattern:
		return fmt.Sprintf("%s does not match the pattern %s", show(k.Got), abbreviate(k.Want))
	}
	return ""
}

func objectMessage(err *jsonschema.ValidationError) string {
	switch k := err.ErrorKind.(type) {
	case *kind.Required:
		return "missing " + properties(k.Missing)
	case *kind.Dependency:
		return fmt.Sprintf("missing %s, which %q needs", properties(k.Missing), k.Prop)
	case *kind.DependentRequired:
		return fmt.Sprintf("missing %s, which %q needs", properties(k.Missing), k.Prop)
	case *kind.AdditionalProperties:
		return "unexpected " + properties(k.Properties)
	case *kind.MinProperties:
		return fmt.Sprintf("must have at least %d properties, has %d", k.Want, k.Got)
	case *kind.MaxProperties:
		return fmt.Sprintf("must have at most %d properties, has %d", k.Want, k.Got)
	case *kind.PropertyNames:
		return fmt.Sprintf("the property name %s is not allowed: %s", show(k.Property), reasons(err.Causes))
	}
	return ""
}

func arrayMessage(err *jsonschema.ValidationError) string {
	switch k := err.ErrorKind.(type) {
	case *kind.MinItems:
		return fmt.Sprintf("must have at least %d items, has %d", k.Want, k.Got)
	case *kind.MaxItems:
		return fmt.Sprintf("must have at most %d items, has %d", k.Want, k.Got)
	case *kind.AdditionalItems:
		return fmt.Sprintf("has %d items too many", k.Count)
	case *kind.UniqueItems:
		return fmt.Sprintf("items %d and %d are equal", k.Duplicates[0], k.Duplicates[1])
	case *kind.Contains:
		return "no item is what contains asks for"
	case *kind.MinContains:
		return fmt.Sprintf("at least %d items must be what contains asks for, %d are", k.Want, len(k.Got))
	case *kind.MaxContains:
		return fmt.Sprintf("at most %d items may be what contains asks for, %d are", k.Want, len(k.Got))
	}
	return ""
}

func alternativesMessage(err *jsonschema.ValidationError) string {
	switch k := err.ErrorKind.(type) {
	case *kind.Not:
		return "must not match the schema under not"
	case *kind.AnyOf:
		return "matches none of the alternatives: " + reasons(err.Causes)
	case *kind.OneOf:
		if len(k.Subschemas) > 1 {
			return fmt.Sprintf("matches the alternatives %d and %d, but only one is allowed", k.Subschemas[0], k.Subschemas[1])
		}
		return "matches none of the alternatives: " + reasons(err.Causes)
	}
	return ""
}

// reasons summarises why alternatives failed, numbered from 0 as in the schema.
func reasons(alternatives []*jsonschema.ValidationError) string {
	const most = 5 // alternatives; the finding stays readable
	var parts []string
	for i, a := range alternatives {
		if i == most {
			parts = append(parts, fmt.Sprintf("and %d more", len(alternatives)-most))
			break
		}
		leaf := firstLeaf(a)
		part := message(leaf)
		if at := pointerTo(leaf.InstanceLocation[min(len(a.InstanceLocation), len(leaf.InstanceLocation)):]); at != "" {
			part = at + " " + part
		}
		if len(alternatives) > 1 {
			part = fmt.Sprintf("(%d) %s", i, part)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ")
}

// firstLeaf is the first assertion that failed, in the order of its path.
func firstLeaf(err *jsonschema.ValidationError) *jsonschema.ValidationError {
	switch err.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
	default:
		return err
	}
	if len(err.Causes) == 0 {
		return err
	}
	key := func(e *jsonschema.ValidationError) string {
		_, rule := keywordOf(e, "")
		return pointerTo(e.InstanceLocation) + "#" + rule
	}
	leaves := make([]*jsonschema.ValidationError, len(err.Causes))
	for i, c := range err.Causes {
		leaves[i] = firstLeaf(c)
	}
	return slices.MinFunc(leaves, func(a, b *jsonschema.ValidationError) int { return strings.Compare(key(a), key(b)) })
}

func properties(names []string) string {
	names = slices.Sorted(slices.Values(names))
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = show(n)
	}
	if len(quoted) == 1 {
		return "property " + quoted[0]
	}
	return "properties " + joinSome(quoted)
}

func showAll(values []any) string {
	shown := make([]string, len(values))
	for i, v := range values {
		shown[i] = show(v)
	}
	return joinSome(shown)
}

// joinSome joins up to 20 texts, which fit in one line.
func joinSome(texts []string) string {
	const most = 20
	if len(texts) > most {
		return strings.Join(texts[:most], ", ") + fmt.Sprintf(" and %d more", len(texts)-most)
	}
	return strings.Join(texts, ", ")
}

// show writes a value as shortened JSON.
func show(v any) string {
	data, err := encode(v)
	if err != nil {
		return "a value"
	}
	return abbreviate(string(data))
}

// showRat is an exact number in decimal digits.
func showRat(r *big.Rat) string {
	if r.IsInt() {
		return abbreviate(r.Num().String())
	}
	f, _ := r.Float64()
	return json.Number(strconv.FormatFloat(f, 'g', -1, 64)).String()
}
