package schemaeval

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/reflectory/reflectory/plugins/internal/schema"
)

const (
	// maxRounds limits how often a converted value is checked again. Another round
	// helps only if one conversion uncovers another, as under a then.
	maxRounds = 8
	// maxAlternatives limits how many alternatives of an anyOf or oneOf are tried,
	// because each costs a validation.
	maxAlternatives = 16
)

// coerce converts the strings of a value where the schema requires a number, an integer
// or a boolean, and reports what it did. The schema's own type errors show where, so a
// conversion always removes an error, and a matching value isn't changed.
//
// A requirement within an anyOf or oneOf counts only if the conversion makes that
// choice pass: the strings of one alternative are converted together or not at all.
func (j *judging) coerce(value any) (any, []string) {
	var notes []string
	for range maxRounds {
		todo := j.demands(value)
		next, done := convertAll(value, todo.firm)
		if len(done) == 0 {
			next, done = j.tryAlternatives(value, todo.choices)
		}
		if len(done) == 0 {
			break
		}
		value, notes = next, append(notes, done...)
	}
	return value, notes
}

// place identifies a failed choice: a value and a rule.
type place struct{ path, schemaPath string }

// demand is a type that the schema requires at a place.
type demand struct {
	at   []string
	want []string
}

// demands are the requirements on a value: the unconditional ones, and the failed anyOf
// and oneOf.
type demands struct {
	firm    []demand
	choices map[place]*jsonschema.ValidationError
}

func (j *judging) demands(value any) demands {
	d := demands{choices: map[place]*jsonschema.ValidationError{}}
	for _, f := range schema.Causes(j.check.Validate(value)) {
		d.gather(f)
	}
	return d
}

func (d *demands) gather(err *jsonschema.ValidationError) {
	switch k := err.ErrorKind.(type) {
	case *kind.Type:
		d.firm = append(d.firm, demand{err.InstanceLocation, k.Want})
	case *kind.AnyOf, *kind.OneOf:
		_, rule := schema.KeywordOf(err, "")
		d.choices[place{schema.PointerTo(err.InstanceLocation), rule}] = err
	case *kind.Group, *kind.Reference, *kind.AllOf:
		for _, c := range err.Causes {
			d.gather(c)
		}
	}
}

// tryAlternatives converts, for each failed choice, what its first alternative requires
// that passes after the conversion. All choices try an alternative at the same time, so
// a long list costs no more validations than a short one.
func (j *judging) tryAlternatives(value any, choices map[place]*jsonschema.ValidationError) (any, []string) {
	var notes []string
	for i := range maxAlternatives {
		tried := map[place][]demand{}
		for at, choice := range choices {
			if i < len(choice.Causes) {
				tried[at] = firmDemands(choice.Causes[i])
			}
		}
		next, done := convertAll(value, joined(tried))
		if len(done) == 0 {
			continue
		}
		for at := range j.demands(next).choices {
			delete(tried, at)
		}
		value, done = convertAll(value, joined(tried))
		notes = append(notes, done...)
		for at := range tried {
			if len(tried[at]) > 0 {
				delete(choices, at)
			}
		}
	}
	return value, notes
}

func firmDemands(err *jsonschema.ValidationError) []demand {
	d := demands{choices: map[place]*jsonschema.ValidationError{}}
	d.gather(err)
	return d.firm
}

func joined(tried map[place][]demand) []demand {
	return slices.Concat(slices.Collect(maps.Values(tried))...)
}

// convertAll converts what it can in a copy of the value. Its notes are sorted.
func convertAll(value any, todo []demand) (any, []string) {
	if len(todo) == 0 {
		return value, nil
	}
	var done []string
	value = clone(value)
	for _, d := range todo {
		value = replace(value, d.at, func(old any) any {
			text, ok := old.(string)
			if !ok {
				return old
			}
			converted, ok := convert(text, d.want)
			if !ok {
				return old
			}
			done = append(done, fmt.Sprintf("converted %s at %s to %s", schema.Show(text), quoteValue(d.at), schema.Show(converted)))
			return converted
		})
	}
	slices.Sort(done)
	return value, done
}

func quoteValue(at []string) string {
	if len(at) == 0 {
		return "the root"
	}
	return schema.PointerTo(at)
}

// convert turns a text into a value of one of the wanted types. Numbers are written as
// in JSON ("007" and "0x7" aren't numbers); true and false may be in upper or lower
// case.
func convert(text string, want []string) (any, bool) {
	text = strings.TrimSpace(text)
	if slices.Contains(want, "boolean") && (strings.EqualFold(text, "true") || strings.EqualFold(text, "false")) {
		return strings.EqualFold(text, "true"), true
	}
	number, integer := slices.Contains(want, "number"), slices.Contains(want, "integer")
	if !number && !integer || !isNumber(text) {
		return nil, false
	}
	if !number && !isInteger(text) {
		return nil, false
	}
	return json.Number(text), true
}

func isNumber(text string) bool {
	if text == "" || text[0] != '-' && (text[0] < '0' || text[0] > '9') {
		return false
	}
	return json.Valid([]byte(text)) && schema.CheckNumber(text) == nil
}

func isInteger(text string) bool {
	r, ok := new(big.Rat).SetString(text)
	return ok && r.IsInt()
}

// clone copies the containers of a value.
func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = clone(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = clone(e)
		}
		return out
	}
	return v
}

// replace applies change at a place within a value, and returns the value.
func replace(v any, at []string, change func(any) any) any {
	if len(at) == 0 {
		return change(v)
	}
	switch c := v.(type) {
	case map[string]any:
		if e, ok := c[at[0]]; ok {
			c[at[0]] = replace(e, at[1:], change)
		}
	case []any:
		if i, err := strconv.Atoi(at[0]); err == nil && i >= 0 && i < len(c) {
			c[i] = replace(c[i], at[1:], change)
		}
	}
	return v
}
