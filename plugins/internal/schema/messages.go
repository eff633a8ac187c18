package schema

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// message describes in one line what is wrong with a value.
func message(err *jsonschema.ValidationError) string {
	switch k := err.ErrorKind.(type) {
	case *kind.Type:
		return fmt.Sprintf("expected %s, got %s", strings.Join(k.Want, " or "), k.Got)
	case *kind.Const:
		return "must be " + showWanted(k.Want)
	case *kind.Enum:
		return "must be one of " + showAll(k.Want)
	case *kind.Format:
		return formatMessage(k)
	case *kind.FalseSchema:
		return "must not be present"
	case *kind.InvalidJsonValue:
		return "is not JSON"
	case *kind.ContentEncoding:
		return "is not valid " + k.Want
	case *kind.ContentMediaType:
		return "is not valid " + k.Want
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
		return fmt.Sprintf("must have at least %s, has %d", count(k.Want, "character", "characters"), k.Got)
	case *kind.MaxLength:
		return fmt.Sprintf("must have at most %s, has %d", count(k.Want, "character", "characters"), k.Got)
	case *kind.Pattern:
		return fmt.Sprintf("%s does not match the pattern %s", Show(k.Got), shorten(k.Want, maxWanted))
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
		return fmt.Sprintf("must have at least %s, has %d", count(k.Want, "property", "properties"), k.Got)
	case *kind.MaxProperties:
		return fmt.Sprintf("must have at most %s, has %d", count(k.Want, "property", "properties"), k.Got)
	case *kind.PropertyNames:
		return fmt.Sprintf("the property name %s is not allowed: %s", Show(k.Property), reasons(err.Causes))
	}
	return ""
}

func arrayMessage(err *jsonschema.ValidationError) string {
	switch k := err.ErrorKind.(type) {
	case *kind.MinItems:
		return fmt.Sprintf("must have at least %s, has %d", count(k.Want, "item", "items"), k.Got)
	case *kind.MaxItems:
		return fmt.Sprintf("must have at most %s, has %d", count(k.Want, "item", "items"), k.Got)
	case *kind.AdditionalItems:
		return fmt.Sprintf("has %s too many", count(k.Count, "item", "items"))
	case *kind.UniqueItems:
		return fmt.Sprintf("items %d and %d are equal; all items must differ", k.Duplicates[0], k.Duplicates[1])
	case *kind.Contains:
		return "no item matches the schema under contains"
	case *kind.MinContains:
		return fmt.Sprintf("at least %d items must match the schema under contains, %d do", k.Want, len(k.Got))
	case *kind.MaxContains:
		return fmt.Sprintf("at most %d items may match the schema under contains, %d do", k.Want, len(k.Got))
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
	const most = 20 // alternatives; the finding stays readable
	var parts []string
	size := 0
	for i, a := range alternatives {
		if i == most || size > maxWanted {
			parts = append(parts, fmt.Sprintf("and %d more", len(alternatives)-i))
			break
		}
		leaf := firstLeaf(a)
		part := message(leaf)
		if at := PointerTo(leaf.InstanceLocation[min(len(a.InstanceLocation), len(leaf.InstanceLocation)):]); at != "" {
			part = at + " " + part
		}
		if len(alternatives) > 1 {
			part = fmt.Sprintf("(%d) %s", i, part)
		}
		size += len(part)
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
		_, rule := KeywordOf(e, "")
		return PointerTo(e.InstanceLocation) + "#" + rule
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
		quoted[i] = Show(n)
	}
	if len(quoted) == 1 {
		return "property " + quoted[0]
	}
	return "properties " + joinSome(quoted)
}

// maxShown and maxWanted are how many bytes a message has of a value that is wrong, and of what
// is wanted instead: a model needs all of the latter, and a message of a few pages is still read.
const (
	maxShown  = 300
	maxWanted = 8_000
)

func showAll(values []any) string {
	shown := make([]string, len(values))
	for i, v := range values {
		shown[i] = showWanted(v)
	}
	return joinSome(shown)
}

// joinSome joins as many texts as fit, and says how many don't.
func joinSome(texts []string) string {
	size := 0
	for i, text := range texts {
		if size += len(text) + 2; size > maxWanted && i > 0 {
			return strings.Join(texts[:i], ", ") + fmt.Sprintf(" and %d more", len(texts)-i)
		}
	}
	return strings.Join(texts, ", ")
}

// Show writes the beginning of a value as JSON.
func Show(v any) string { return showUpTo(v, maxShown) }

// showWanted writes a value of the schema as JSON.
func showWanted(v any) string { return showUpTo(v, maxWanted) }

func showUpTo(v any, most int) string {
	data, err := Encode(v)
	if err != nil {
		return "a value"
	}
	return shorten(string(data), most)
}

// shorten keeps the beginning of a long text, and says how long it is.
func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return fmt.Sprintf("%s… (%d characters)", text[:cut], utf8.RuneCountInString(text))
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// showRat is an exact number in decimal digits, or the nearest that a float64 can be.
func showRat(r *big.Rat) string {
	const most = 40 // digits
	if r.IsInt() {
		return shorten(r.Num().String(), maxShown)
	}
	if digits, exact := r.FloatPrec(); exact && digits <= most {
		return r.FloatString(digits)
	}
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// abbreviate shortens a value for a message.
func abbreviate(text string) string {
	const most = 60 // characters; a message stays one readable line
	if runes := []rune(text[:min(len(text), 4*most)]); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}
